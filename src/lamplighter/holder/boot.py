"""Finding the daemon, and starting it when there is none: by the keeper, which is started too when need be.

Neither ever becomes part of a session, also when first asked for from inside one: then a shim starts the keeper, and knows it
for what it is. Standard library only: the command line and the bridge use it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Generator
from typing import Any

from lamplighter.holder import cgroup, identity, proc
from lamplighter.holder.files import read_json
from lamplighter.holder.wire import JSON, Frames, pack_json

_PATIENCE = 60.0
_TRIES = 5
_DYING_SECONDS = 5.0
_KEEPER_PAUSES = (0.01, 0.05, 0.2, 0.5)


class BootError(Exception):
    """There is no daemon and none could be started; the message says why."""


def try_connect(run: str) -> socket.socket | None:
    """A connection to the running daemon, or None. Starts nothing."""
    return connect(f"{run}/daemon.sock")


def connect_daemon(run: str, state: str) -> socket.socket:
    """A connection to the daemon, started first when there is none."""
    for _ in range(_TRIES):
        sock = try_connect(run)
        if sock is not None:
            return sock
        pid = _ask_for_daemon(run, state)
        sock = try_connect(run)
        if sock is not None:
            return sock
        if pid is not None:
            # The keeper has not seen yet that this daemon is dying: its end is worth waiting for.
            proc.wait_for_exit(pid, _DYING_SECONDS)
    raise BootError(f"the daemon cannot be reached at {run}/daemon.sock; {state}/keeper.log and daemon.log say why")


def connect(path: str) -> socket.socket | None:
    """A connection to a socket of ours, or None when nobody listens there."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        return None
    return sock


def _ask_for_daemon(run: str, state: str) -> int | None:
    """The daemon's pid once it is ready; None when the keeper went away meanwhile, as it does when it is upgraded."""
    keeper = reach_keeper(run, state)
    if keeper is None:
        raise BootError(f"the keeper does not start; {state}/keeper.log says why")
    answer = ask(keeper, {"op": "daemon", "n": 1})
    if answer is None:
        return None
    if "error" in answer:
        raise BootError(answer["error"]["message"])
    return int(answer["ok"]["pid"])


def reach_keeper(run: str, state: str) -> socket.socket | None:
    """A connection to the keeper, started first when there is none."""
    for pause in _KEEPER_PAUSES:
        with _starting(run):
            sock = connect(f"{run}/keeper.sock")
            if sock is None:
                start_keeper(run, state)
                sock = connect(f"{run}/keeper.sock")
        if sock is not None:
            return sock
        time.sleep(pause)  # another starter, who need not have our lock, is between its own and the socket
    return None


@contextlib.contextmanager
def _starting(run: str) -> Generator[None]:
    """One starter at a time."""
    lock = os.open(f"{run}/start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def start_keeper(run: str, state: str) -> None:
    """Start a keeper outside every session: through a shim when this process is inside one, else as nobody's child."""
    for folder in _shims_to_ask(run, state):
        sock = connect(folder)
        if sock is not None:
            answer = ask(sock, {"op": "keeper", "n": 1})
            if answer is not None and "ok" in answer:
                return
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            _leave_session_cgroup()
            identity.spawn_keeper(run, state)
        finally:
            os._exit(0)
    with contextlib.suppress(ChildProcessError):  # it is waited for all the same when this process ignores SIGCHLD
        os.waitpid(child, 0)


def _shims_to_ask(run: str, state: str) -> list[str]:
    """When inside a session: its shim's socket first, then the others'. Otherwise none."""
    chain = {(stat.pid, stat.start) for stat in proc.ancestors(os.getpid())}
    sockets: list[str] = []
    inside = "LAMPLIGHTER_SESSION" in os.environ
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(f"{run}/s"):
            birth = read_json(f"{state}/sessions/{name.removesuffix('.sock')}/birth.json") or {}
            if tuple(birth.get("shim") or ()) in chain:
                inside = True
                sockets.insert(0, f"{run}/s/{name}")
            else:
                sockets.append(f"{run}/s/{name}")
    return sockets if inside else []


def _leave_session_cgroup() -> None:
    """A keeper in a session's cgroup would die with the session."""
    path, mount = cgroup.own_path(), cgroup.find_mount()
    if mount and path and "/lamplighter-" in path:
        outside = path[: path.index("/lamplighter-")]
        with contextlib.suppress(OSError), open(f"{mount}{outside}/cgroup.procs", "w") as file:
            file.write("0")


def ask(sock: socket.socket, request: dict[str, object]) -> dict[str, Any] | None:
    """The answer to one request; None when the other side went away."""
    frames = Frames()
    with sock:
        sock.settimeout(_PATIENCE)
        try:
            sock.sendall(pack_json(request))
            while data := sock.recv(65536):
                for kind, payload in frames.feed(data):
                    message: dict[str, Any] = json.loads(payload) if kind == JSON else {}
                    if message.get("n") == request["n"]:
                        return message
        except OSError:
            return None
    return None
