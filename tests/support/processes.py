"""What /proc says, for tests that check the product: which marked processes live, and their end.

Standard library only, and nothing of ours: what judges the product must not share its mistakes. Knows nothing of
sessions; a test's processes are told apart by a token that each of them carries in its command line.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

_DEAD = ("Z", "X", "x")
# A process that re-forks itself may still slip through one scan, between the listing and the look at it.
_QUIET_SCANS = 20
_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Process:
    """A living process. The pid means something only together with the time it was started at."""

    pid: int
    start_ticks: int
    state: str
    cmdline: tuple[str, ...]


def inspect(pid: int) -> Process | None:
    """The process with this pid; None when there is none, or only a zombie."""
    return _read(pid, b"")


def marked(token: str) -> list[Process]:
    """Every process with the token in its command line that was seen living during one scan.

    The newest are looked at first, and then those that came meanwhile, until no more come: a process that re-forks
    itself every few milliseconds would be gone before a scan in the order of the pids gets to it.
    """
    return _look(token, set())


def _look(token: str, known: set[int]) -> list[Process]:
    """What has the token, but not among the known; from then on they are known, as long as they are there."""
    found: list[Process] = []
    while fresh := (pids := _pids()) - known:
        known |= fresh
        known &= pids
        found += [seen for pid in sorted(fresh, reverse=True) if (seen := _read(pid, token.encode()))]
    return found


def touched(token: str) -> list[Process]:
    """Every living process that has the token in its command line, its environment or the folder it is in.

    For programs of others, which cannot be told to carry it: a home folder with the token in its name marks what they
    start, in one of these ways at least.
    """
    found: list[Process] = []
    for pid in _pids() - {os.getpid()}:
        with suppress(OSError):
            if token.encode() in _surroundings(pid) and (seen := inspect(pid)):
                found.append(seen)
    return found


def alive(pid: int, start_ticks: int) -> bool:
    """Whether this very process lives, not a later one with the same pid."""
    found = inspect(pid)
    return found is not None and found.start_ticks == start_ticks


def none_left(token: str) -> bool:
    """Whether many scans in a row see no marked process: one scan can miss a process that keeps moving. That has another pid
    each time, so only the first and the last scan look at those that stay."""
    known: set[int] = set()
    return not any(_look(token, known) for _ in range(_QUIET_SCANS - 1)) and not marked(token)


def wait_until(predicate: Callable[[], object], timeout: float = 120.0) -> bool:
    """Wait for a condition; whether it came true in time. Looks often at first, then less often."""
    deadline = time.monotonic() + timeout
    pause = 0.001
    while not predicate():
        if time.monotonic() >= deadline:
            return bool(predicate())
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    return True


def end_marked(token: str, timeout: float = 120.0) -> list[Process]:
    """Kill every marked process, also those that fork meanwhile; the ones that are left, which should be none."""
    wait_until(lambda: _sweep(token), timeout)
    return marked(token)


def _sweep(token: str) -> bool:
    """One round: stop all that move until two scans see nothing new, and only then kill. True when nothing is left.

    Killing alone loses to a fork bomb, as each death makes room for another birth.
    """
    seen: set[tuple[int, int]] = set()
    fresh = True
    while fresh:
        found = _signal_all(token, signal.SIGSTOP)
        fresh = bool(found - seen)
        seen |= found
    _signal_all(token, signal.SIGKILL)
    return none_left(token)


def _signal_all(token: str, number: signal.Signals) -> set[tuple[int, int]]:
    """Signal each one the moment it is seen, the newest first: one that hops is gone a few milliseconds later."""
    reached: set[tuple[int, int]] = set()
    for pid in sorted(_pids(), reverse=True):
        found = _read(pid, token.encode())
        if found and _signal(found, number):
            reached.add((found.pid, found.start_ticks))
    return reached


def _signal(process: Process, number: signal.Signals) -> bool:
    with suppress(ProcessLookupError):  # it has gone by itself
        handle = os.pidfd_open(process.pid)
        try:
            if alive(process.pid, process.start_ticks):  # the handle is its, not a successor's
                signal.pidfd_send_signal(handle, number)
                return True
        finally:
            os.close(handle)
    return False


def _read(pid: int, token: bytes) -> Process | None:
    """The process, if it lives and has the token. The command line is read first: most processes end the look there."""
    try:
        cmdline = contents(f"/proc/{pid}/cmdline")
        if cmdline and token not in cmdline:
            return None
        state, start = _state_and_start(f"/proc/{pid}/stat")
        if state in _DEAD:
            # Its main thread is gone, and its command line with it; it lives as long as any other thread does.
            cmdline, state = _living_thread(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None
    if state in _DEAD or token not in cmdline:
        return None
    arguments = cmdline.decode(errors="surrogateescape").rstrip("\0").split("\0")
    return Process(pid, start, state, tuple(arguments))


def _living_thread(pid: int) -> tuple[bytes, str]:
    """The command line and state of any thread that lives; that it is dead when there is none."""
    for name in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, _ = _state_and_start(f"/proc/{pid}/task/{name}/stat")
            if state not in _DEAD:
                return contents(f"/proc/{pid}/task/{name}/cmdline"), state
    return b"", "Z"


def _state_and_start(path: str) -> tuple[str, int]:
    # The program's name stands in brackets and may hold anything, brackets and blanks too.
    stat = contents(path)
    fields = stat[stat.rindex(b")") + 2 :].split()
    return fields[0].decode(), int(fields[19])


def contents(path: str) -> bytes:
    """What a file of /proc says. Without a file object: a look reads one or two for each process of the machine."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while part := os.read(file, _BYTES):
            text += part
        return text
    finally:
        os.close(file)


def _surroundings(pid: int) -> bytes:
    text = contents(f"/proc/{pid}/cmdline") + contents(f"/proc/{pid}/environ")
    return text + os.readlink(f"/proc/{pid}/cwd").encode(errors="surrogateescape")


def _pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}
