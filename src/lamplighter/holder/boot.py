"""Finding the daemon, and starting it when there is none: by the keeper, which is started too when need be.

Neither ever becomes part of a session, also when first asked for from inside one: then a shim starts the keeper, and knows it
for what it is. Standard library only: the command line and the bridge use it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import time
from collections.abc import Generator
from typing import Any

from lamplighter.holder import cgroup, identity, proc, release
from lamplighter.holder.credentials import find
from lamplighter.holder.files import read_json
from lamplighter.holder.identity import connect as connect
from lamplighter.holder.places import nudge, runs
from lamplighter.holder.wire import JSON, Frames, pack_json, peer_of

_PATIENCE = 60.0
_TRIES = 5
_DYING_SECONDS = 5.0
_REMAKING_SECONDS = 5.0
_STARTING_SECONDS = 5.0
_SUCCESSION_SECONDS = 30.0
_PAUSE_SECONDS = 0.01
_KEEPER_PAUSES = (0.01, 0.05, 0.2, 0.5)


class BootError(Exception):
    """There is no daemon and none could be started; the message says why."""


def try_connect(run: str, state: str) -> socket.socket | None:
    """A connection to the running daemon, wherever it listens, or None. Starts nothing. A daemon whose files an upgrade has
    replaced makes way for its successor first, which its keeper starts and which finds every session."""
    sock = connect_any(run, state)
    if sock is None:
        return None
    pid, _ = peer_of(sock)
    start = proc.start_of(pid)
    if start is None or not release.is_outdated(state, pid):
        return sock
    try:
        # As a crash would: whoever waits for an answer asks its successor again, with the same key.
        if proc.send_signal(pid, start, signal.SIGKILL) == "denied":
            return sock
    except OSError:  # not ours to signal, as from a sandbox
        return sock
    sock.close()
    return _successor(run, state, pid)


def _successor(run: str, state: str, pid: int) -> socket.socket | None:
    """A connection to the daemon after this one, which the keeper starts; None where no keeper is left to do it."""
    proc.wait_for_exit(pid, _DYING_SECONDS)
    deadline = time.monotonic() + _SUCCESSION_SECONDS
    while time.monotonic() < deadline:
        sock = connect_any(run, state)
        if sock is not None:
            return sock
        if find(run, state, "keeper") is None:
            break
        time.sleep(_PAUSE_SECONDS)
    return None


def connect_any(run: str, state: str) -> socket.socket | None:
    """A connection to the running daemon, wherever it listens, or None. Starts nothing. One that lives and whose socket was taken
    away makes it again."""
    sock = connect(f"{run}/daemon.sock") or _connect_elsewhere(run, state)
    if sock is not None or not os.path.exists(f"{state}/daemon.json"):
        return sock
    daemon = find(run, state, "daemon")
    if daemon is None or not nudge(*daemon):
        return None
    deadline = time.monotonic() + _REMAKING_SECONDS
    while sock is None and time.monotonic() < deadline and proc.is_alive(*daemon):
        time.sleep(_PAUSE_SECONDS)
        sock = connect(f"{run}/daemon.sock") or _connect_elsewhere(run, state)
    return sock


def _connect_elsewhere(run: str, state: str) -> socket.socket | None:
    """Whoever is asked from another environment (cron knows no XDG_RUNTIME_DIR) means the same store, and so the same daemon."""
    for folder in runs(run, state)[1:]:
        sock = connect(f"{folder}/daemon.sock")
        if sock is not None:
            return sock
    return None


def connect_daemon(run: str, state: str) -> socket.socket:
    """A connection to the daemon, started first when there is none."""
    for _ in range(_TRIES):
        sock = try_connect(run, state)
        if sock is not None:
            return sock
        pid = _ask_for_daemon(run, state)
        sock = try_connect(run, state)
        if sock is not None:
            return sock
        if pid is not None:
            # The keeper has not seen yet that this daemon is dying: its end is worth waiting for.
            proc.wait_for_exit(pid, _DYING_SECONDS)
    raise BootError(f"the daemon cannot be reached at {run}/daemon.sock; {state}/keeper.log and daemon.log say why")


def _ask_for_daemon(run: str, state: str) -> int | None:
    """The daemon's pid once it is ready; None when the keeper went away meanwhile, as it does when it is upgraded."""
    keeper = reach_keeper(run, state, daemon=True)
    if keeper is None:
        raise BootError(f"the keeper does not start; {state}/keeper.log says why")
    answer = ask(keeper, {"op": "daemon", "n": 1})
    if answer is None:
        return None
    if "error" in answer:
        raise BootError(answer["error"]["message"])
    return int(answer["ok"]["pid"])


def reach_keeper(run: str, state: str, *, daemon: bool = False) -> socket.socket | None:
    """A connection to the keeper, started first when there is none. `daemon`: and a daemon is about to be asked for."""
    for pause in _KEEPER_PAUSES:
        with _starting(state):
            sock = identity.connect_keeper(run, state) or _remade_keeper(run, state)
            if sock is None:
                start_keeper(run, state, daemon=daemon)
                sock = identity.connect_keeper(run, state)
        if sock is not None:
            return sock
        time.sleep(pause)  # another starter, who need not have our lock, is between its own and the socket
    return None


def living_keeper(run: str, state: str) -> socket.socket | None:
    """A connection to the keeper, if there is one, also when its socket was taken away. Starts nothing."""
    sock = identity.connect_keeper(run, state)
    keeper = None if sock is not None else find(run, state, "keeper")
    if keeper is not None and nudge(*keeper):
        return identity.connect_keeper(run, state, _REMAKING_SECONDS)
    return sock


def _remade_keeper(run: str, state: str) -> socket.socket | None:
    """A keeper that lives, and whose socket was taken away, makes it again. One of 0.1.0 cannot: it is of no use to anybody any
    more, and another takes its place. Its sessions' shims and the daemon go on without it."""
    keeper = find(run, state, "keeper")
    if keeper is None:
        return None
    if nudge(*keeper):
        return identity.connect_keeper(run, state, _REMAKING_SECONDS)
    stat = proc.read_stat(keeper[0])
    if stat is not None and stat.start == keeper[1] and proc.started_since(stat, _boot_clock() - _STARTING_SECONDS):
        sock = identity.connect_keeper(run, state, _REMAKING_SECONDS)  # it may begin just now
        if sock is not None:
            return sock
    proc.send_signal(*keeper, signal.SIGKILL)
    proc.wait_for_exit(keeper[0], _DYING_SECONDS)
    return None


def _boot_clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@contextlib.contextmanager
def _starting(state: str) -> Generator[None]:
    """One starter at a time."""
    lock = os.open(f"{state}/start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def start_keeper(run: str, state: str, *, daemon: bool) -> None:
    """Start a keeper outside every session: through a shim when this process is inside one, else as nobody's child."""
    for path in _shims_to_ask(run, state):
        sock = connect(path)
        if sock is not None:
            answer = ask(sock, {"op": "keeper", "n": 1})
            if answer is not None and "ok" in answer:
                return
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            _leave_session_cgroup()
            identity.spawn_keeper(run, state, daemon=daemon)
        finally:
            os._exit(0)
    with contextlib.suppress(ChildProcessError):  # it is waited for all the same when this process ignores SIGCHLD
        os.waitpid(child, 0)


def _shims_to_ask(run: str, state: str) -> list[str]:
    """When inside a session: its shim's socket first, then the others'. Otherwise none."""
    ancestors = proc.ancestors(os.getpid())
    chain = {stat.key for stat in ancestors}
    sockets: list[str] = []
    inside = "LAMPLIGHTER_SESSION" in os.environ
    for stat in ancestors:
        if stat.name == b"lamp-shim" and state in proc.words_of(stat.pid):
            inside = True
            _have_socket(run, state, stat)
    for folder in runs(run, state):
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{folder}/s"):
                birth = read_json(f"{state}/sessions/{name.removesuffix('.sock')}/birth.json") or {}
                mine = tuple(birth.get("shim") or ()) in chain
                inside = inside or mine
                sockets.insert(0 if mine else len(sockets), f"{folder}/s/{name}")
    return sockets if inside else []


def _have_socket(run: str, state: str, shim: proc.Stat) -> None:
    """The shim above us has a socket, or makes it again: it is the one that can start a keeper outside its session."""
    session = os.environ.get("LAMPLIGHTER_SESSION", "")
    paths = [f"{folder}/s/{session}.sock" for folder in runs(run, state)]
    if session and not any(map(os.path.exists, paths)) and nudge(*shim.key):
        deadline = time.monotonic() + _REMAKING_SECONDS
        while time.monotonic() < deadline and not any(map(os.path.exists, paths)):
            time.sleep(_PAUSE_SECONDS)


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
