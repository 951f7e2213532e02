"""Reading /proc and signalling processes, each known by pid and start time together.

Standard library only. Knows nothing of sessions.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TICK = os.sysconf("SC_CLK_TCK")
_MOST_PASSES = 10
_PAGE = os.sysconf("SC_PAGESIZE")
_KERNEL_THREAD = 0x200000  # PF_KTHREAD


class Stat:
    """One process at one look. `start` is in clock ticks since boot and, with the pid, names it for good.

    `waited` is the CPU of its children that are gone; `foreground` the process group that its terminal belongs to now; `name`
    what ps shows, 15 bytes at most. `state` is Z or X only when no thread of it is alive: a main thread that has left by
    pthread_exit is shown as a zombie by the kernel while the others work on.
    """

    __slots__ = (
        "cpu",
        "foreground",
        "group",
        "memory",
        "name",
        "parent",
        "pid",
        "session",
        "start",
        "state",
        "terminal",
        "threads",
        "waited",
    )

    def __init__(self, pid: int, fields: list[bytes], name: bytes = b"") -> None:
        self.pid = pid
        self.name = name
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.terminal = int(fields[4])
        self.foreground = int(fields[5])
        self.threads = int(fields[17])
        self.start = int(fields[19])
        self.cpu = (int(fields[11]) + int(fields[12])) / _TICK
        self.waited = (int(fields[13]) + int(fields[14])) / _TICK
        self.memory = int(fields[21]) * _PAGE

    @property
    def key(self) -> tuple[int, int]:
        return self.pid, self.start

    @property
    def is_gone(self) -> bool:
        """Dead, and only waiting to be reaped. One that a tracer holds is not: without the tracer nobody can reap it."""
        return self.state in "ZX" and not tracer_of(self.pid)


def read_stat(pid: int) -> Stat | None:
    """The process, or None when there is none (any more)."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(descriptor, 1024)
    except ProcessLookupError:
        return None
    finally:
        os.close(descriptor)
    # The name in brackets can hold anything, brackets and spaces too: what follows the last bracket is fixed.
    end = data.rfind(b")")
    fields = data[end + 2 :].split()
    if len(fields) < 22:
        return None
    found = Stat(pid, fields, data[data.find(b"(") + 1 : end])
    if found.state in "ZX" and found.threads > 1:
        found.state = next((state for _, state in _living_threads(pid)), found.state)
    return found


def _living_threads(pid: int) -> Iterator[tuple[str, str]]:
    """The threads of a process that are not dead, each with its state."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
            data = file.read(1024)
            state = data[data.rfind(b")") + 2 :][:1].decode()
            if state and state not in "ZX":
                yield thread, state


def _read_memory_file(pid: int, name: str, most: int) -> bytes:
    """`cmdline` or `environ` of a process. The main thread has none once it has left: then a living thread is asked."""
    raw = b""
    with contextlib.suppress(ProcessLookupError), open(f"/proc/{pid}/{name}", "rb") as file:
        raw = file.read(most)
    if raw or len(os.listdir(f"/proc/{pid}/task")) < 2:
        return raw
    for thread, _ in _living_threads(pid):
        with open(f"/proc/{pid}/task/{thread}/{name}", "rb") as file:
            return file.read(most)
    return raw


def start_of(pid: int) -> int | None:
    """The start time of whatever has this pid now."""
    stat = read_stat(pid)
    return stat.start if stat else None


def is_alive(pid: int, start: int) -> bool:
    """Whether this very process runs; one that is dead and not reaped does not."""
    stat = read_stat(pid)
    return stat is not None and stat.start == start and stat.state not in "ZX"


def is_left(pid: int, start: int) -> bool:
    """Whether this very process runs, or a tracer holds it dead."""
    stat = read_stat(pid)
    return stat is not None and stat.start == start and not stat.is_gone


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def scan(but: set[int] | None = None) -> dict[int, Stat]:
    """Every process there is, in one pass; some pids left out."""
    found: dict[int, Stat] = {}
    for pid in all_pids():
        stat = read_stat(pid) if but is None or pid not in but else None
        if stat is not None:
            found[pid] = stat
    return found


def scan_moving(but: set[int]) -> dict[int, Stat]:
    """Every process there is, the newest first, and then those that came meanwhile, until none come; some pids left out.

    What forks anew every few milliseconds and leaves is gone before a pass in the order of the pids comes to it. Of `but`, those
    that are gone are taken out: when many fork at once, their pids are soon given to others.
    """
    found: dict[int, Stat] = {}
    pids = set(all_pids())
    but &= pids
    seen = set(but)
    for number in range(_MOST_PASSES):
        fresh = (set(all_pids()) if number else pids) - seen
        if not fresh:
            break
        seen |= fresh
        for pid in sorted(fresh, reverse=True):
            stat = read_stat(pid)
            if stat is not None:
                found[pid] = stat
    return found


def descendants(processes: dict[int, Stat], roots: set[int], but: set[int] = frozenset()) -> dict[int, Stat]:  # type: ignore[assignment]
    """What descends from the roots, without the roots; nothing at or below `but`."""
    children: dict[int, list[int]] = {}
    for pid, stat in processes.items():
        children.setdefault(stat.parent, []).append(pid)
    found: dict[int, Stat] = {}
    todo = list(roots)
    while todo:
        for pid in children.get(todo.pop(), ()):
            if pid not in found and pid not in roots and pid not in but:
                found[pid] = processes[pid]
                todo.append(pid)
    return found


def ancestors(pid: int) -> list[Stat]:
    """The process and its ancestors, nearest first, without pid 1. Empty when the process is gone.

    A parent that is younger than its child took over the pid of one that died: the chain ends there.
    """
    chain: list[Stat] = []
    stat = read_stat(pid)
    while stat is not None and stat.pid > 1 and len(chain) < 1000:
        if chain and stat.start > chain[-1].start:
            break
        chain.append(stat)
        stat = read_stat(stat.parent)
    return chain


def name_of(pid: int) -> str:
    """What ps shows as its name; nothing when it is gone."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read().strip().decode(errors="replace")
    except OSError:
        return ""


def command_of(pid: int, longest: int = 200) -> str:
    """Its command line, or its name in square brackets when it has none."""
    try:
        raw = _read_memory_file(pid, "cmdline", 4096)
        if raw:
            text = raw.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
        else:
            with open(f"/proc/{pid}/comm", "rb") as file:
                text = f"[{file.read().strip().decode(errors='replace')}]"
    except OSError:
        return "?"
    return text if len(text) <= longest else text[: longest - 1] + "…"


def words_of(pid: int, most: int = 1 << 16) -> list[str]:
    """Its command line, word by word; none when it is gone, or is the kernel's."""
    try:
        raw = _read_memory_file(pid, "cmdline", most)
    except OSError:
        return []
    return raw.rstrip(b"\0").decode(errors="replace").split("\0") if raw else []


def is_of_kernel(pid: int) -> bool:
    """Whether it is a thread of the kernel's, by its flags. To have no command line says less: what is just being executed has
    none either."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            data = file.read(1024)
    except OSError:
        return False
    fields = data[data.rfind(b")") + 2 :].split()
    return len(fields) > 6 and bool(int(fields[6]) & _KERNEL_THREAD)


def folder_of(pid: int) -> str | None:
    """Where it works, by name, also when that folder is gone."""
    try:
        return os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")
    except OSError:
        return None


def user_of(pid: int) -> int | None:
    """Whose it is: the user that it was started by."""
    user = _status_line(pid, b"Uid:")
    return None if user is None else int(user)


def _status_line(pid: int, name: bytes) -> bytes | None:
    """The first value of a line of /proc/<pid>/status."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return next((line.split()[1] for line in file if line.startswith(name)), None)
    except OSError:
        return None


def environment_of(pid: int, name: str) -> str | None:
    """The value that a variable had when the process was started. A hint: it can be erased and forged."""
    return variables_of(pid, (name,)).get(name)


def variables_of(pid: int, names: tuple[str, ...]) -> dict[str, str]:
    """Of these variables, those that the process was started with; the first where one is there twice."""
    try:
        raw = _read_memory_file(pid, "environ", 1 << 20)
    except OSError:
        return {}
    found: dict[str, str] = {}
    for name in names:
        prefix = name.encode() + b"="
        at = 0 if raw.startswith(prefix) else raw.find(b"\0" + prefix) + 1
        if at or raw.startswith(prefix):
            found[name] = raw[at + len(prefix) :].partition(b"\0")[0].decode(errors="replace")
    return found


def tracer_of(pid: int) -> int:
    """The process that traces it, as a debugger does; 0 when none does."""
    return int(_status_line(pid, b"TracerPid:") or 0)


def ignores(pid: int, number: int) -> bool:
    """Whether the process has set a signal to be ignored."""
    mask = _status_line(pid, b"SigIgn:") or b"0"
    return bool(int(mask, 16) >> (number - 1) & 1)


def last_pid() -> int:
    """The pid that was given out last."""
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[4])


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def start_moment(start: int) -> float:
    """A start time as Unix seconds."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + start / _TICK


def started_since(stat: Stat, moment: float) -> bool:
    """Whether it was started after a moment of the clock that counts from boot."""
    return stat.start >= int(moment * _TICK)


def send_signal(pid: int, start: int, number: int) -> str:
    """Signal this very process: sent, gone, or denied. A pid that was given to another process is never hit."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return "gone"
    try:
        if start_of(pid) != start:
            return "gone"
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "denied"
    finally:
        os.close(descriptor)
    return "sent"


def wait_for_exit(pid: int, seconds: float) -> bool:
    """Wait until whatever has this pid now has exited; False when that takes longer."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(descriptor)


def signal_name(number: int) -> str:
    """TERM for 15; real-time signals by number."""
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name.removeprefix("SIG")
    return str(number)


def exit_of(status: int) -> dict[str, int | str]:
    """A wait status as we keep it."""
    if os.WIFSIGNALED(status):
        return {"signal": signal_name(os.WTERMSIG(status))}
    return {"code": os.WEXITSTATUS(status)}
