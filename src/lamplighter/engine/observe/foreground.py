"""Which process of a session is in front, and what it waits for. Knows /proc and terminals; knows nothing of verdicts."""

from __future__ import annotations

import os
import platform
import termios
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lamplighter.domain.verdict import Rest
from lamplighter.holder import proc
from lamplighter.lazy_dataclass import dataclass

# The system calls that tell what a process is at, by their numbers here.
_CALLS = {
    "x86_64": {"0": "read", "61": "wait", "247": "wait", "35": "sleep", "230": "sleep"},
    "aarch64": {"63": "read", "260": "wait", "95": "wait", "101": "sleep", "115": "sleep"},
}.get(platform.machine())
_TTY_WAITS = ("wait_woken", "n_tty_read")
_TERMINALS = ("/dev/tty", "/dev/pts/")
_PTS_MAJOR = 136
_EDITORS = frozenset(
    b"vi vim vim.basic vim.tiny vim.nox nvim nano rnano pico emacs emacs-nox micro hx helix joe jmacs mcedit kak ne".split()
)
_SETTLED_TICKS = 60 * os.sysconf("SC_CLK_TCK")
Known = Callable[[Sequence[str]], bool]
"""Whether the words of a command line are those of a process that an agent keeps for itself."""


@dataclass(frozen=True)
class ForegroundPrograms:
    """`sleeps`: the process that is waited for sleeps until a time. `switches`: how often it has gone to sleep so far.
    `background`: another process of the session that may be at work beside it. `connected`: it has sockets. `guest`: a program
    that an agent has given its terminal to, key by key."""

    rest: Rest
    pid: int
    name: str
    sleeps: bool = False
    switches: int | None = None
    background: str | None = None
    connected: bool = False
    guest: str | None = None


def find_front(members: Sequence[proc.Stat], main: int, is_daemon: Known | None = None) -> ForegroundPrograms | None:
    """The process that decides what the session is doing while nothing moves. None when there is none. `is_daemon`: an agent's
    own daemon does nothing unless something that it started does."""
    by_parent: dict[int, list[proc.Stat]] = {}
    for stat in members:
        by_parent.setdefault(stat.parent, []).append(stat)
    first = next((stat for stat in members if stat.pid == main), None) or min(members, key=_start, default=None)
    if first is None:
        return None
    parents = [stat for stat in members if stat.pid in by_parent]
    for stat in sorted(parents, key=lambda stat: (stat is not first, -stat.start)):
        chain = _awaited(stat, by_parent)
        if chain and (stat is first or not _is_resident(chain[-1], (first,), first)):
            others = [one for one in members if one not in (stat, *chain)]
            return _beside(_behind(chain[-1]), chain[-1], first, others, is_daemon)
    return _beside(_rest_of(first), first, first, [stat for stat in members if stat is not first], is_daemon)


def _beside(
    front: ForegroundPrograms, holder: proc.Stat, first: proc.Stat, others: Sequence[proc.Stat], is_daemon: Known | None
) -> ForegroundPrograms:
    """With what may be at work beside it; what waits for a child is at work anyway. One that reads its input is not: whoever
    feeds it may be."""
    if front.rest is Rest.CHILD:
        return front
    if front.rest is Rest.KEYS:  # what shares its keyboard is in front too, as an agent that has started itself anew
        others = [stat for stat in others if not (_owns_terminal(stat) and _reads_keys_of(stat, holder))]
    moving = [stat for stat in others if _at(stat.pid) not in ("input", "wait", "terminal")]
    kept = [stat for stat in moving if is_daemon(proc.words_of(stat.pid))] if is_daemon else []
    at_work = [stat for stat in moving if stat not in kept and not _is_resident(stat, (holder, *kept), first)]
    return replace(front, background=_name(max(at_work, key=_start).pid)) if at_work else front


def find_editor(members: Sequence[proc.Stat], main: int) -> str | None:
    """An editor that something of the session has opened, on whatever terminal: it takes keys there, so a person is wanted."""
    return next((_name(stat.pid) for stat in members if stat.pid != main and _is_open_editor(stat)), None)


def _is_open_editor(stat: proc.Stat) -> bool:
    return stat.name in _EDITORS and _owns_terminal(stat) and _gives_keys(f"/proc/{stat.pid}/fd/0")


def find_guest(members: Sequence[proc.Stat], main: int, is_own: Known) -> str | None:
    """A program that the agent has given its own terminal to: in the foreground there, reading keys, and not the agent itself
    started anew."""
    first = next((stat for stat in members if stat.pid == main), None)
    if first is None or not first.terminal:
        return None
    for stat in sorted(members, key=_start, reverse=True):
        shares = stat is not first and stat.terminal == first.terminal and _owns_terminal(stat)
        if shares and not is_own(proc.words_of(stat.pid)) and _gives_keys(f"/proc/{stat.pid}/fd/0"):
            return _name(stat.pid) if _at(stat.pid) in ("other", "input", "terminal") else None
    return None


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


def _awaited(stat: proc.Stat, by_parent: dict[int, list[proc.Stat]]) -> list[proc.Stat]:
    """A chain of processes each of which is waited for by the one before; empty when this one does not wait for a child."""
    chain: list[proc.Stat] = []
    while stat.pid in by_parent and _at(stat.pid) == "wait":
        children = by_parent[stat.pid]
        before = [child for child in children if _owns_terminal(child)] or children
        stat = before[0] if len(before) == 1 else max(before, key=lambda child: (not _is_fed(child.pid), child.start))
        chain.append(stat)
    return chain


def _is_fed(pid: int) -> bool:
    """Whether it reads a pipe, as the last ones of a pipeline do: what it waits for is up to the ones before it."""
    return _at(pid) == "input" and _input_of(pid).startswith("pipe:")


def _is_resident(stat: proc.Stat, holders: Iterable[proc.Stat], first: proc.Stat) -> bool:
    """A server that came with the command and is asked through a pipe, as an agent's MCP servers are: no work of its own.

    The one in front, or a daemon of its own, holds the other end. A pipe that nobody holds, or that is the command's own input,
    was only inherited.
    """
    source = _input_of(stat.pid)
    if stat.start - first.start >= _SETTLED_TICKS or not source.startswith(("pipe:", "socket:")):
        return False
    if source == _input_of(first.pid) or _at(stat.pid) == "sleep":
        return False
    return not source.startswith("pipe:") or any(source in _open_in(holder.pid) for holder in holders)


def _behind(leaf: proc.Stat) -> ForegroundPrograms:
    """What a process waits for that another one waits for."""
    found = _rest_of(leaf)
    if found.rest in (Rest.INPUT, Rest.KEYS, Rest.RUNNING):
        return found
    return ForegroundPrograms(Rest.CHILD, leaf.pid, found.name, sleeps=found.rest is Rest.TIMER)


def _rest_of(stat: proc.Stat) -> ForegroundPrograms:
    name, at = _name(stat.pid), _at(stat.pid)
    if at == "sleep":
        return ForegroundPrograms(Rest.TIMER, stat.pid, name, sleeps=True, switches=_switches(stat.pid))
    if at == "input":
        return ForegroundPrograms(Rest.INPUT, stat.pid, name)
    if at == "terminal":
        return ForegroundPrograms(Rest.KEYS if _gives_keys(_terminal(stat)) else Rest.INPUT, stat.pid, name)
    if _owns_terminal(stat) and _gives_keys(f"/proc/{stat.pid}/fd/0"):
        return ForegroundPrograms(Rest.KEYS, stat.pid, name)
    if at == "running":
        return ForegroundPrograms(Rest.RUNNING, stat.pid, name)
    return ForegroundPrograms(Rest.OTHER, stat.pid, name, connected=_has_sockets(stat.pid))


def _at(pid: int) -> str:
    """What its main thread is at: wait (for a child), sleep (until a time), input (a read of its standard input), terminal (a
    read of the terminal past its standard input, as pagers and passwords do), running (nothing of the kind), or other.

    By the system call it is in, where we may see that; else by where in the kernel it waits, and by what it has open.
    """
    words = _text(pid, "syscall").split()
    if words and _CALLS is not None:
        call = "running" if words[0] == "running" else _CALLS.get(words[0], "other")
        return call if call != "read" else _source_named(pid, words[1:2])
    waits = _text(pid, "wchan")
    if "do_wait" in waits:
        return "wait"
    if "nanosleep" in waits:
        return "sleep"
    source = _input_of(pid)
    if "pipe_read" in waits:
        return "input" if source.startswith("pipe:") else "other"
    if waits not in _TTY_WAITS or _has_sockets(pid):
        return "other"
    return "input" if source.startswith("/dev/") and source != "/dev/null" else _opened(pid)


def _source_named(pid: int, descriptor: list[str]) -> str:
    """What a read is from, by the number of its descriptor."""
    if descriptor == ["0x0"]:
        return "input"
    try:
        source = os.readlink(f"/proc/{pid}/fd/{int(descriptor[0], 16)}")
    except (OSError, ValueError, IndexError):
        return "other"
    return "terminal" if source.startswith(_TERMINALS) else "other"


def _opened(pid: int) -> str:
    """Whether it has opened a terminal by itself; what it was started with is no sign."""
    try:
        numbers = [number for number in os.listdir(f"/proc/{pid}/fd") if int(number) > 2]
        found = any(os.readlink(f"/proc/{pid}/fd/{number}").startswith(_TERMINALS) for number in numbers)
    except OSError:
        return "other"
    return "terminal" if found else "other"


def _owns_terminal(stat: proc.Stat) -> bool:
    """Whether it is in the group that its terminal belongs to: what is typed is for it."""
    return stat.foreground > 0 and stat.group == stat.foreground


def _reads_keys_of(stat: proc.Stat, holder: proc.Stat) -> bool:
    """Whether it reads the terminal of the process in front, and does not merely sleep beside it."""
    source = _input_of(stat.pid)
    return source.startswith(_TERMINALS) and source == _input_of(holder.pid) and _at(stat.pid) != "sleep"


def _terminal(stat: proc.Stat) -> str:
    """Its controlling terminal, where that is one of the usual kind; /dev/tty would be ours."""
    major, minor = os.major(stat.terminal), os.minor(stat.terminal)
    return f"/dev/pts/{minor}" if major == _PTS_MAJOR else ""


def _gives_keys(path: str) -> bool:
    """Whether this is a terminal that gives key by key: then whoever has it is there for somebody to type into."""
    try:
        terminal = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
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


def _open_in(pid: int) -> set[str]:
    """What a process has open, but for its standard input."""
    found: set[str] = set()
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            if number != "0":
                found.add(os.readlink(f"/proc/{pid}/fd/{number}"))
    except OSError:
        pass
    return found


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
