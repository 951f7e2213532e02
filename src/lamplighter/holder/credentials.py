"""Who is the daemon and who the keeper, by the kernel's word: who has the lock, and is below no shim. A file can be written by
whoever runs as the same user, and is not believed.

Standard library only. The holders' doors are open to these two alone.
"""

from __future__ import annotations

import binascii
import os

from lamplighter.holder import places, proc
from lamplighter.holder.cgroup import own_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = "LAMPLIGHTER_SESSION"
_SHIM = b"lamp-shim"


def lock_path(state: str, role: str) -> str:
    """One keeper and one daemon a store: the lock is where the store is, not where the sockets are, which come and go."""
    return f"{state}/{role}.lock"


def is_daemon(run: str, state: str, pid: int) -> bool:
    """Whether whatever has this pid now is the daemon of this store."""
    return taker(pid, lock_path(state, "daemon")) == pid and not is_inside(run, state, pid)


def is_keeper(run: str, state: str, pid: int) -> bool:
    return taker(pid, lock_path(state, "keeper")) is not None and not is_inside(run, state, pid)


def is_ours(run: str, state: str, pid: int) -> bool:
    return is_daemon(run, state, pid) or is_keeper(run, state, pid)


def find(run: str, state: str, role: str) -> tuple[int, int] | None:
    """The living daemon or keeper of this store, wherever its sockets are: the one on record, if it is; else looked for."""
    check = is_daemon if role == "daemon" else is_keeper
    known = places.recorded(state, role)
    if known and proc.is_alive(known["pid"], known["start"]) and check(run, state, known["pid"]):
        return known["pid"], known["start"]
    for stat in _candidates(state, role):
        if check(run, state, stat.pid) or _is_older(run, state, role, stat.pid):
            return stat.key
    return None


def is_inside(run: str, state: str, pid: int) -> bool:
    """Whether a process belongs to a session of this home, or cannot be read. A keeper that a shim has started does not."""
    chain = proc.ancestors(pid)
    if not chain or proc.environment_of(pid, _MARK) is not None:
        return True
    if is_in_cgroup(run, pid):
        return True
    below: proc.Stat | None = None
    for stat in chain:
        if stat.name == _SHIM and state in proc.words_of(stat.pid):
            # The lock's taker is the shim itself only for a keeper that it started: nobody else can take a lock in its name.
            return below is None or taker(below.pid, lock_path(state, "keeper")) != stat.pid
        below = stat
    return False


def is_in_cgroup(run: str, pid: int) -> bool:
    """Whether it is in a cgroup of this home's sessions."""
    return f"/lamplighter-{binascii.crc32(run.encode()):08x}/" in f"{own_path(pid) or ''}/"


def taker(pid: int, path: str) -> int | None:
    """Who took the lock on this file that the process has; None when it has none. (A lock goes along with a descriptor.)"""
    try:
        wanted = os.stat(path)
        numbers = sorted(os.listdir(f"/proc/{pid}/fd"), key=int)
    except OSError:
        return None
    for number in numbers:
        try:
            if os.path.samestat(os.stat(f"/proc/{pid}/fd/{number}"), wanted):
                with open(f"/proc/{pid}/fdinfo/{number}") as file:
                    words = next((line.split() for line in file if line.startswith("lock:")), list[str]())
                if "FLOCK" in words and "WRITE" in words:
                    return int(words[words.index("WRITE") + 1])
        except OSError:
            continue
    return None


def _candidates(state: str, role: str) -> Iterator[proc.Stat]:
    """Processes whose command line says that they are it."""
    for pid in proc.all_pids():
        words = proc.words_of(pid) if pid != os.getpid() else []
        if state not in words or proc.user_of(pid) != os.getuid():
            continue
        stat = proc.read_stat(pid)
        daemon = words[1:3] == ["-m", "lamplighter.daemon"]
        if (
            stat is not None
            and stat.state not in "ZX"
            and (daemon if role == "daemon" else stat.name == b"lamp-keeper")
        ):
            yield stat


def _is_older(run: str, state: str, role: str, pid: int) -> bool:
    """One from before the lock was where the store is, or whose lock was taken away under it: it has the store open, or is above
    the shims."""
    if is_inside(run, state, pid):
        return False
    return role == "keeper" or _has_open(pid, f"{state}/lamplighter.db")


def _has_open(pid: int, path: str) -> bool:
    try:
        wanted = os.stat(path)
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    for number in numbers:
        try:
            if os.path.samestat(os.stat(f"/proc/{pid}/fd/{number}"), wanted):
                return True
        except OSError:
            continue
    return False
