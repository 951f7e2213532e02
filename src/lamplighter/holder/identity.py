"""Which processes are the keeper and the daemon, written down by pid and start time; and how a keeper is started.

Standard library only. The holders' doors are open to these two alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import sys

from lamplighter.holder import proc
from lamplighter.holder.files import write_file
from lamplighter.holder.wire import pack_json

OF_A_SESSION = ("LAMPLIGHTER_SESSION", "LAMPLIGHTER_NAME")


def record(run: str, role: str, pid: int) -> None:
    """Write down that this process is the keeper, or the daemon."""
    write_file(f"{run}/{role}.pid", f"{pid} {proc.start_of(pid)}\n".encode())


def recorded(run: str, role: str) -> tuple[int, int] | None:
    """The process, alive or not; None when none was ever written down."""
    try:
        with open(f"{run}/{role}.pid") as file:
            pid, start = file.read().split()
        return int(pid), int(start)
    except (OSError, ValueError):
        return None


def is_ours(run: str, pid: int) -> bool:
    """Whether whatever has this pid now is the keeper or the daemon."""
    start = proc.start_of(pid)
    return start is not None and (pid, start) in (recorded(run, "keeper"), recorded(run, "daemon"))


def spawn_keeper(run: str, state: str) -> int | None:
    """Start a keeper in its own session with a clean environment; its pid. The caller is its parent. None when there is one.

    One keeper for a home: whoever has the lock is it, and the lock goes with the process, whatever happens to that. It is taken
    here, before the socket is touched, and handed over with it: so a second starter never takes a keeper's socket away, and
    whoever connects is heard as soon as the keeper is up.
    """
    lock = os.open(f"{run}/keeper.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    listener = listen(f"{run}/keeper.sock")
    log = os.open(f"{state}/keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    # Far from the numbers that they get: a duplicate onto itself would stay close-on-exec.
    far = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in (nothing, log, log, listener.fileno(), lock)]
    try:
        return os.posix_spawn(
            sys.executable,
            [*keeper_command(), run, state, "given", "3", "4"],
            clean_environment(),
            file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in enumerate(far)],
            setsid=True,
            setsigmask=[],
            setsigdef=default_signals(),
        )
    finally:
        listener.close()
        for number in (lock, log, nothing, *far):
            os.close(number)


def default_signals() -> list[int]:
    """All that can be ignored. What a starter ignores would go on to keeper, daemon and tmux, and to each command in it."""
    return [number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]


def pass_eof_on(run: str, session: str) -> None:
    """From a shim: the keeper holds a duplicate of the input's end, and the command sees the end when that is closed too."""
    with socket.socket(socket.AF_UNIX) as sock, contextlib.suppress(OSError):
        sock.settimeout(1.0)
        sock.connect(f"{run}/keeper.sock")
        sock.sendall(pack_json({"op": "eof", "session": session, "n": 1}))
        while sock.recv(4096):
            pass


def keeper_command() -> list[str]:
    """How a keeper of this code is started: isolated and without `site`, so that it is small."""
    return [sys.executable, "-I", "-S", f"{os.path.dirname(os.path.abspath(__file__))}/start.py"]


def listen(path: str) -> socket.socket:
    """A unix socket at this path, the user's alone, in place of whatever was there."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    sock.bind(path)
    os.chmod(path, 0o600)
    sock.listen(512)
    return sock


def clean_environment() -> dict[str, str]:
    """What our own processes need of the environment, and nothing of the caller's secrets."""
    kept = (
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TZ",
        "USER",
        "LOGNAME",
        "TMPDIR",
        "TMUX_TMPDIR",
        "PYTHONPATH",
    )
    folders = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    ours = [name for name in os.environ if name.startswith("LAMPLIGHTER_") and name not in OF_A_SESSION]
    return {name: os.environ[name] for name in (*kept, *folders, *ours) if name in os.environ}
