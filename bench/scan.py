"""A scan of a crowded machine against one bare pass over /proc's stat files: the CPU time of each, turn by turn.

The crowd sleeps: once as children of one process, as a build's or a server's are, and once each in a session of its own with its
starter gone, which is the worst for a scan, as any of them could be somebody's leftover.
"""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.scale import Scale
from bench.table import Row, Sample, Target
from lamplighter.engine.scan.scanner import survey
from lamplighter.holder import proc
from tests.support.processes import end_marked, marked, wait_until

_UP_SECONDS = 120.0
_BOUND = 2.0
# A hundred a shell: a shell that has started thousands at once is slow to tell.
_CHILDREN = 'for i in $(seq 100); do bash -c \'exec -a "$0" sleep 1000\' "$0" & done; wait'
_ORPHANS = (
    'for i in $(seq 100); do (setsid bash -c \'exec -a "$0" sleep 1000\' "$0" </dev/null >/dev/null 2>&1 &); done'
)


def measure(scale: Scale) -> Iterator[Row]:
    for script, name in ((_CHILDREN, "of a crowd at work"), (_ORPHANS, "of a crowd of orphans")):
        with _crowd(script, scale.scanned) as count:
            ours, bare = list[float](), list[float]()
            for _ in range(scale.scans):
                bare.append(_cpu(proc.scan))
                ours.append(_cpu(lambda: survey(set(), os.path.expanduser("~"))))
        target = Target(_BOUND, of_ratio=True) if script is _CHILDREN else None
        title = f"a scan {name}, {count:,} processes, CPU"
        yield Row(title, Sample(ours, "ms"), Sample(bare, "ms"), "one pass over /proc's stat files", target)


@contextmanager
def _crowd(script: str, size: int) -> Iterator[int]:
    """So many sleeping processes; how many there are on the machine then."""
    token = f"mark-{uuid.uuid4().hex}"
    shells = [subprocess.Popen(["bash", "-c", script, token]) for _ in range(size // 100)]
    try:
        assert wait_until(lambda: _asleep(token) >= size, _UP_SECONDS), f"{_asleep(token)} of {size} came up"
        yield len(proc.all_pids())
    finally:
        end_marked(token)
        for shell in shells:
            shell.wait()


def _asleep(token: str) -> int:
    return sum(one.cmdline[0] == token for one in marked(token))


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000
