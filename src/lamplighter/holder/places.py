"""Where the sockets are, also after somebody took them away: made again where they were, or beside the state when that cannot be;
and found by whoever looks for them. Who keeper and daemon are, and where they listen, is on record in the state folder.

A record only says where to look. Whom to believe is `credentials`' to say. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import stat

from lamplighter.holder import proc
from lamplighter.holder.files import read_json, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REMAKE = signal.SIGUSR1
"""To a keeper, daemon or shim: make your sockets and files again."""
_BACKLOG = 512


def make_folder(path: str) -> None:
    """The user's alone. OSError when it cannot be, or is somebody else's."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):  # something that leads nowhere
            os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if found.st_uid != os.getuid():
        raise PermissionError(errno.EPERM, f"belongs to another user (uid {found.st_uid})", path)
    if found.st_mode & 0o077 or not found.st_mode & 0o300:
        os.chmod(path, 0o700)


def runs(run: str, state: str) -> list[str]:
    """The folders in which a socket can be: the one that is meant, those on record, and the one beside the state."""
    known = [str((recorded(state, role) or {}).get("run") or run) for role in ("daemon", "keeper")]
    return list(dict.fromkeys([run, *known, f"{state}/run"]))


def listen(path: str) -> socket.socket:
    """A unix socket at this path, the user's alone, in place of whatever was there, without an instant at which there is none."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    draft = f"{path}~"
    try:
        os.fchmod(sock.fileno(), 0o600)  # what the file will have
        try:
            sock.bind(draft)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            os.unlink(draft)  # of one that was killed meanwhile
            sock.bind(draft)
        sock.listen(_BACKLOG)
        os.rename(draft, path)
    except BaseException:
        sock.close()
        raise
    return sock


def listen_in(run: str, state: str, name: str) -> tuple[socket.socket, str]:
    """A socket of this name where it belongs; where that cannot be (logind has taken the folder away for good), beside the state.
    It, and its path."""
    problem: OSError | None = None
    for folder in dict.fromkeys((run, f"{state}/run")):
        path = f"{folder}/{name}"
        try:
            make_folder(folder)
            make_folder(os.path.dirname(path))
            return listen(path), path
        except OSError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def inode(path: str) -> tuple[int, int] | None:
    """What is at this path now; to be compared with what was made there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISSOCK(found.st_mode) else None


# -- records


def record(run: str, state: str, role: str, pid: int, **more: Any) -> None:
    """Write down that this process is the keeper, or the daemon, and where it listens."""
    found = {"pid": pid, "start": proc.start_of(pid), "run": run, **more}
    write_file(f"{state}/{role}.json", json.dumps(found).encode())


def recorded(state: str, role: str) -> dict[str, Any] | None:
    found = read_json(f"{state}/{role}.json")
    return found if found and isinstance(found.get("pid"), int) and isinstance(found.get("start"), int) else None


def forget(state: str, role: str) -> None:
    """It goes in good order: one that was killed leaves its record."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{state}/{role}.json")


# -- asking a process that has no socket


def catches(pid: int) -> bool:
    """Whether this process has a handler for the signal: one that is older than this would die of it."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            mask = next((line.split()[1] for line in file if line.startswith(b"SigCgt:")), b"0")
    except OSError:
        return False
    return bool(int(mask, 16) >> (REMAKE - 1) & 1)


def nudge(pid: int, start: int) -> bool:
    """Have this very process make its sockets again; False when it is gone, or too old to know how."""
    return catches(pid) and proc.send_signal(pid, start, REMAKE) == "sent"
