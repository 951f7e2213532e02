"""What a process waits for, also where its system calls may not be seen."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lamplighter.domain.verdict import Rest
from lamplighter.engine.observe import foreground
from lamplighter.holder import proc
from tests.support.processes import wait_until


@contextmanager
def running(*command: str, stdin: int = subprocess.PIPE) -> Iterator[int]:
    """In a group of its own, which is killed at once: one by one, some of it would end before its turn."""
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def tree(pid: int) -> list[proc.Stat]:
    processes = proc.scan()
    found = proc.descendants(processes, {pid})
    return [processes[pid], *found.values()] if pid in processes else list(found.values())


CASES = {
    "reads a pipe": (("cat",), Rest.INPUT),
    "sleeps": (("sleep", "60"), Rest.TIMER),
    "waits for a child": (("sh", "-c", "sleep 60; true"), Rest.CHILD),
    "waits for a pipeline": (("sh", "-c", "sleep 60 | { sleep 0.1; exec cat; }; true"), Rest.CHILD),
    "waits for a child that reads": (("sh", "-c", "cat; true"), Rest.INPUT),
}


@pytest.mark.parametrize("seen", [True, False], ids=["system call", "wait channel"])
@pytest.mark.parametrize("case", CASES)
def test_what_it_waits_for(case: str, seen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not seen:
        monkeypatch.setattr(foreground, "_CALLS", None)
    command, expected = CASES[case]
    with running(*command) as pid:

        def rest() -> Rest | None:
            found = foreground.find_front(tree(pid), pid)
            return found.rest if found else None

        assert wait_until(lambda: rest() is expected), rest()


def test_nothing_is_in_front_of_nothing() -> None:
    assert foreground.find_front([], 1) is None
    assert foreground.halted([], 1) is None


@pytest.mark.parametrize("works", [False, True], ids=["at rest", "with a tool"])
def test_an_agents_own_daemon_is_no_work_but_what_it_runs_is(works: bool) -> None:
    daemon = "bash -c 'sleep 60 & exec -a kept sleep 61'" if works else "exec -a kept sleep 61"
    with running("bash", "-c", f"({daemon}) </dev/null & exec cat") as pid:

        def background(is_daemon: foreground.Known | None) -> str | None:
            found = foreground.find_front(tree(pid), pid, is_daemon)
            return found.background if found and found.rest is Rest.INPUT else "not up yet"

        assert wait_until(lambda: background(None) == "sleep" and len(tree(pid)) == 2 + works)
        assert background(lambda words: "kept" in words) == ("sleep" if works else None)
