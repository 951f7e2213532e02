"""How a keeper is started; and which processes are keeper and daemon, written down beside the sockets by pid and start time, for
shims of 0.1.0, which go by that. Standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import sys
import time

from lamplighter.holder import proc
from lamplighter.holder.credentials import find, is_inside, is_keeper, lock_path
from lamplighter.holder.files import write_file
from lamplighter.holder.places import catches, listen_in, make_folder, nudge, runs
from lamplighter.holder.wire import pack_json, peer_of

OF_A_SESSION = ("LAMPLIGHTER_SESSION", "LAMPLIGHTER_NAME", "LAMPLIGHTER_STATE")
_PAUSE_SECONDS = 0.01


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


def spawn_keeper(run: str, state: str, *, daemon: bool = False) -> int | None:
    """Start a keeper in its own session with a clean environment; its pid. The caller is its parent. None when there is one.
    `daemon`: who starts it is about to ask for a daemon, which it can start at once.

    One keeper for a home: whoever has the lock is it, and the lock goes with the process, whatever happens to that. It is taken
    here, before the socket is touched, and handed over with it: so a second starter never takes a keeper's socket away, and
    whoever connects is heard as soon as the keeper is up.
    """
    lock = take_lock(lock_path(state, "keeper"))
    if lock is None:
        return None
    try:
        make_folder(run)
        older = take_lock(f"{run}/keeper.lock")  # of 0.1.0, which has no other
        if older is None:
            os.close(lock)
            return None
        os.close(older)
    except OSError:
        pass  # without that folder there is no keeper that has it locked
    listener, _ = listen_in(run, state, "keeper.sock")
    log = os.open(f"{state}/keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    # Far from the numbers that they get: a duplicate onto itself would stay close-on-exec.
    far = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in (nothing, log, log, listener.fileno(), lock)]
    try:
        return os.posix_spawn(
            sys.executable,
            [*keeper_command(), run, state, "given", "3", "4", *(["daemon"] if daemon else [])],
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


def take_lock(path: str) -> int | None:
    """A descriptor that has this file locked, as long as it is open; None when somebody else has it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def is_locked_by(lock: int, path: str) -> bool:
    """Whether what this descriptor has locked is still the file at the path."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(path))
    except OSError:
        return False


def pass_eof_on(run: str, state: str, session: str) -> None:
    """From a shim: the keeper holds a duplicate of the input's end, and the command sees the end when that is closed too."""
    with contextlib.suppress(OSError):
        sock = connect_keeper(run, state)
        if sock is None:
            keeper = find(run, state, "keeper")
            sock = connect_keeper(run, state, 1.0) if keeper is not None and nudge(*keeper) else None
        if sock is not None:
            _tell_eof(sock, session)


def connect_keeper(run: str, state: str, seconds: float = 0.0) -> socket.socket | None:
    """A connection to the keeper of this store, wherever it listens; None when there is none within this time. Whoever else
    listens in its place is not spoken to."""
    deadline = time.monotonic() + seconds
    while True:
        for folder in runs(run, state):
            sock = connect(f"{folder}/keeper.sock")
            if sock is not None:
                if _is_believed(run, state, peer_of(sock)[0]):
                    return sock
                sock.close()
        if time.monotonic() >= deadline:
            return None
        time.sleep(_PAUSE_SECONDS)


def _is_believed(run: str, state: str, pid: int) -> bool:
    """Whether whoever listens is the keeper."""
    if is_keeper(run, state, pid):
        return True
    known = find(run, state, "keeper")
    if known is not None and catches(known[0]):
        return False
    # One that begins just now listens on what its starter has opened, and one of 0.1.0 always does.
    return proc.start_of(pid) is None or not is_inside(run, state, pid)


def connect(path: str) -> socket.socket | None:
    """A connection to a socket of ours, or None when nobody listens there."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        return None
    return sock


def _tell_eof(sock: socket.socket, session: str) -> None:
    with sock:
        sock.settimeout(1.0)
        sock.sendall(pack_json({"op": "eof", "session": session, "n": 1}))
        while sock.recv(4096):
            pass


def keeper_command() -> list[str]:
    """How a keeper of this code is started: isolated and without `site`, so that it is small."""
    return [sys.executable, "-I", "-S", f"{os.path.dirname(os.path.abspath(__file__))}/start.py"]


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
