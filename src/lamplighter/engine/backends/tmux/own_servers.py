"""The tmux servers that Lamplighter itself had to start, on record by pid and start time.

Such a server is the user's as much as one that the user started, but it hangs under the keeper, as what a lost session leaves
does. The record tells the two apart. Knows nothing of sessions.
"""

from __future__ import annotations

import resource
from contextlib import suppress

from lamplighter.holder import proc
from lamplighter.holder.files import write_file

_USUAL_FILES = 1024


def recorded(run: str) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    with suppress(OSError, ValueError), open(_path(run)) as file:
        for line in file:
            pid, start = line.split()
            found.add((int(pid), int(start)))
    return found


def record(run: str, server: int) -> None:
    """Write it down, and give it the usual limit of open files instead of the daemon's."""
    start = proc.start_of(server)
    if start is None:
        return
    known = {key for key in recorded(run) if proc.is_alive(*key)} | {(server, start)}
    write_file(_path(run), "".join(f"{pid} {start}\n" for pid, start in sorted(known)).encode())
    with suppress(OSError, ValueError):
        _, hard = resource.prlimit(server, resource.RLIMIT_NOFILE)
        usual = _USUAL_FILES if hard == resource.RLIM_INFINITY else min(_USUAL_FILES, hard)
        resource.prlimit(server, resource.RLIMIT_NOFILE, (usual, hard))


def _path(run: str) -> str:
    return f"{run}/tmux-servers"
