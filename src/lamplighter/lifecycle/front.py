"""Which process of a session is in front, and what it waits for. Knows /proc and terminals; knows nothing of verdicts."""

from __future__ import annotations

import os
import platform
import termios
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lamplighter.domain.verdict import Rest
from lamplighter.holder import proc

# The system calls that tell what a process is at, by their numbers here.
_CALLS = {
    "x86_64": {"0": "read", "61": "wait", "247": "wait", "35": "sleep", "230": "sleep"},
    "aarch64": {"63": "read", "260": "wait", "95": "wait", "101": "sleep", "115": "sleep"},
}.get(platform.machine())
_TTY_WAITS = ("wait_woken", "n_tty_read")
_SETTLED_TICKS = 60 * os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Front:
    """`sleeps`: the process that is waited for sleeps until a time. `switches`: how often it has gone to sleep so far.
    `background`: another process of the session that may be at work while this one takes input."""

    rest: Rest
    pid: int
    name: str
    sleeps: bool = False
    switches: int | None = None
    background: str | None = None


def find_front(members: Sequence[proc.Stat], main: int) -> Front | None:
    """The process that decides what the session is doing while nothing moves. None when there is none."""
    by_parent: dict[int, list[proc.Stat]] = {}
    for stat in members:
        by_parent.setdefault(stat.parent, []).append(stat)
    first = next((stat for stat in members if stat.pid == main), None) or min(members, key=_start, default=None)
    if first is None:
        return None
    parents = [stat for stat in members if stat.pid in by_parent]
    for stat in sorted(parents, key=lambda stat: (stat is not first, -stat.start)):
        leaf = _awaited(stat, by_parent)
        if leaf is not None and (stat is first or not _is_resident(leaf, first)):
            return _behind(leaf)
    front = _rest_of(first)
    others = [stat for stat in members if stat is not first and not _is_resident(stat, first)]
    return replace(front, background=_name(max(others, key=_start).pid)) if others else front


def halted(members: Sequence[proc.Stat], main: int) -> str | None:
    """The name of the process in front when it is stopped: the command itself, or what its terminal belongs to."""
    foreground = next((stat.foreground for stat in members if stat.pid == main), 0)
    for stat in members:
        if stat.state in "Tt" and (stat.pid == main or stat.group == foreground):
            return _name(stat.pid)
    return None


def _name(pid: int) -> str:
    return _text(pid, "comm").strip() or "it"


def _start(stat: proc.Stat) -> int:
    return stat.start


def _awaited(stat: proc.Stat, by_parent: dict[int, list[proc.Stat]]) -> proc.Stat | None:
    """The last one of a chain of processes each of which waits for the next; None when this one does not wait for a child."""
    leaf = None
    while stat.pid in by_parent and _at(stat.pid) == "wait":
        leaf = stat = max(by_parent[stat.pid], key=_start)
    return leaf


def _is_resident(leaf: proc.Stat, first: proc.Stat) -> bool:
    """A server that came with the command and is asked through a pipe, as an agent's MCP servers are: no work of its own."""
    return leaf.start - first.start < _SETTLED_TICKS and _input_of(leaf.pid).startswith(("pipe:", "socket:"))


def _behind(leaf: proc.Stat) -> Front:
    """What a process waits for that another one waits for."""
    found = _rest_of(leaf)
    if found.rest in (Rest.INPUT, Rest.KEYS):
        return found
    return Front(Rest.CHILD, leaf.pid, found.name, sleeps=found.rest is Rest.TIMER)


def _rest_of(stat: proc.Stat) -> Front:
    name, at = _name(stat.pid), _at(stat.pid)
    if at == "sleep":
        return Front(Rest.TIMER, stat.pid, name, sleeps=True, switches=_switches(stat.pid))
    if at == "input":
        return Front(Rest.INPUT, stat.pid, name)
    if _takes_keys(stat.pid):
        return Front(Rest.KEYS, stat.pid, name)
    return Front(Rest.OTHER, stat.pid, name)


def _at(pid: int) -> str:
    """What its main thread is at: wait (for a child), sleep (until a time), input (a read of its standard input), or other.

    By the system call it is in, where we may see that; else by where in the kernel it waits, and by what it has open.
    """
    words = _text(pid, "syscall").split()
    if words and _CALLS is not None:
        call = _CALLS.get(words[0], "other")
        if call == "read":
            return "input" if words[1:2] == ["0x0"] else "other"
        return call
    waits = _text(pid, "wchan")
    if "do_wait" in waits:
        return "wait"
    if "nanosleep" in waits:
        return "sleep"
    source = _input_of(pid)
    if "pipe_read" in waits:
        return "input" if source.startswith("pipe:") else "other"
    reads = waits in _TTY_WAITS and source.startswith("/dev/") and not _has_sockets(pid)
    return "input" if reads else "other"


def _takes_keys(pid: int) -> bool:
    """Whether its standard input is a terminal that gives it key by key: then it is there for somebody to type into."""
    try:
        terminal = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not termios.tcgetattr(terminal)[3] & termios.ICANON
    except termios.error:
        return False
    finally:
        os.close(terminal)


def _input_of(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/fd/0")
    except OSError:
        return ""


def _has_sockets(pid: int) -> bool:
    try:
        return any(
            os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:") for name in os.listdir(f"/proc/{pid}/fd")
        )
    except OSError:
        return True


def _switches(pid: int) -> int | None:
    for line in _text(pid, "status").splitlines():
        if line.startswith("voluntary_ctxt_switches:"):
            return int(line.split()[1])
    return None


def _text(pid: int, name: str) -> str:
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.read(4096).decode(errors="replace")
    except OSError:
        return ""
