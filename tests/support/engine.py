"""A whole Lamplighter of a test's own: its own home, keeper, daemon and sessions, and the proof that none of it is left.

Speaks to the daemon as the command line does. For tests only.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from lamplighter.domain.call_key import new_key
from lamplighter.errors import LampError
from lamplighter.holder import boot, identity
from lamplighter.home import find_home
from tests.support.processes import Process, alive, contents, inspect, wait_until

AnEngine = TypeVar("AnEngine", bound="Engine")
ESCAPEES = str(Path(__file__).with_name("escapees.py"))
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
_ROLES = tuple(f"{role}.{kind}" for role in ("daemon", "keeper") for kind in ("log", "lock", "json"))
_STORE = tuple(f"lamplighter.db{end}" for end in ("", "-shm", "-wal", "-reserve"))
_OWN = ("run", "sessions", "snapshots", "lost", "start.lock", *_STORE, *_ROLES)


class Engine:
    """`environment` is what keeper and daemon are started with; LAMPLIGHTER_CGROUP=off forces the tree path."""

    guarantee: str = ""
    patience: float = 120.0  # with what should be gone

    def __init__(self, **environment: str) -> None:
        self.python = sys.executable
        self.prefix: list[str] = []  # what the command line is started through, when not as the test itself is
        # Short: a socket's path has a limit, and pytest's own folders are long.
        self.folder = Path(tempfile.mkdtemp(prefix="lamp-", dir="/tmp"))
        # A tmux of its own: what the person who runs the tests has in theirs is nobody's business here.
        own = {"TMUX_TMPDIR": str(self.folder), "LAMPLIGHTER_HOME": str(self.folder)}
        # One port cannot be everybody's; what is tested over HTTP asks for "0", any that is free.
        self.environment = {**os.environ, "LAMPLIGHTER_HTTP_PORT": "off", **environment, **own}
        for name in ("LAMPLIGHTER_SESSION", "TMUX", "TMUX_PANE"):
            self.environment.pop(name, None)
        self.home = find_home(self.environment)
        self.home.make()
        self._before = 0  # the last event that is not this case's

    # -- calls

    def connect(self) -> socket.socket:
        found = boot.try_connect(self.home.run, self.home.state)
        if found is not None:
            return found
        # A process with threads should not fork, and its environment is not one thread's: there the command does it.
        if threading.active_count() > 1:
            said = self.cli("up")
            found = boot.try_connect(self.home.run, self.home.state)
            if found is None:
                raise ConnectionError(said.stderr)
            return found
        before = dict(os.environ)
        os.environ.update(self.environment)
        try:
            return boot.connect_daemon(self.home.run, self.home.state)
        finally:
            os.environ.clear()
            os.environ.update(before)

    def call(self, operation: str, *, key: str | None = None, **arguments: Any) -> dict[str, Any]:
        """The result, or the LampError that came back. Asked again with the same key when the daemon goes away meanwhile."""
        key = key or new_key()
        for _ in range(20):
            with suppress(ConnectionError), self.connect() as sock:
                send(sock, operation, key, arguments)
                return answer(sock)
        raise ConnectionError("the daemon went away again and again")

    def start(self, *command: str, **arguments: Any) -> dict[str, Any]:
        given: dict[str, Any] = {
            "cwd": "/",
            "environment": {"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            **arguments,
        }
        return self.call("start_session", command=list(command), **given)

    def escapees(self, *names: str, mark: str, **arguments: Any) -> dict[str, Any]:
        """A session with these running in it, all of them up; with `report`, what it knows of them."""
        report = self.folder / f"report-{mark}"
        command = (self.python, ESCAPEES, *names, "--mark", mark, "--report", str(report))
        started = self.start(*command, **arguments)
        self.call("wait_session", session=started["id"], until="text=ready", timeout="120s")
        return {**started, "report": json.loads(report.read_text())}

    def show(self, session: str) -> dict[str, Any]:
        return self.call("get_session", session=session)

    def output(self, session: str) -> str:
        return self.call("read_output", session=session, mode="output")["text"]

    def events(self, session: str | None = None) -> list[dict[str, Any]]:
        return self.call("list_events", session=session, since=self._before)["events"]

    # -- processes

    def daemon(self) -> tuple[int, int]:
        found = identity.recorded(self.home.run, "daemon")
        assert found is not None
        return found

    def keeper(self) -> tuple[int, int]:
        found = identity.recorded(self.home.run, "keeper")
        assert found is not None
        return found

    def child(self, name: str) -> tuple[int, int]:
        """The keeper's child that is called so, once there is one: the template, or the spare that the next shim will be."""
        keeper = self.keeper()[0]
        found: list[tuple[int, int]] = []

        def look() -> bool:
            children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
            for process in filter(None, map(inspect, map(int, children))):
                with suppress(OSError):
                    if Path(f"/proc/{process.pid}/comm").read_text() == f"{name}\n" and process.state not in "ZX":
                        found.append((process.pid, process.start_ticks))
            return bool(found)

        assert wait_until(look), f"the keeper has no {name}"
        return found[0]

    def holders(self) -> list[tuple[int, int]]:
        """Daemon and keeper, those of them that there are."""
        known = (identity.recorded(self.home.run, role) for role in ("daemon", "keeper"))
        return [found for found in known if found is not None]

    def shim(self, session: str) -> tuple[int, int]:
        birth = json.loads((self.folder / "sessions" / session / "birth.json").read_text())
        return birth["shim"][0], birth["shim"][1]

    def kill(self, process: tuple[int, int]) -> None:
        """KILL one of ours, and see it gone."""
        if alive(*process):
            os.kill(process[0], signal.SIGKILL)
        assert wait_until(lambda: not alive(*process))

    def cli(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """The real command, in a process of its own."""
        command = [*self.prefix, self.python, "-m", "lamplighter.frontends.cli.main", *arguments]
        given: dict[str, Any] = {"capture_output": True, "text": True, "env": self.environment, "timeout": 200}
        if "input" not in options:
            given["stdin"] = subprocess.DEVNULL
        given.update(options)
        return subprocess.run(command, check=False, **given)  # pyright: ignore[reportUnknownVariableType]

    @contextmanager
    def without_sockets(self) -> Generator[None]:
        """A file is where the folder of the sockets was, so that none can be reached or made. Both change places in one step: in
        between, keeper or daemon would make the folder again."""
        stand_in = f"{self.home.run}-away"
        Path(stand_in).write_text("in the way")
        _exchange(self.home.run, stand_in)
        try:
            yield
        finally:
            _exchange(self.home.run, stand_in)
            os.unlink(stand_in)

    # -- from one case to the next

    def begin(self) -> None:
        """A case begins: `events` are its own."""
        if os.path.exists(self.home.database):
            with closing(self._store()) as db:
                self._before = db.execute("SELECT coalesce(max(n), 0) FROM events").fetchone()[0]

    def clear(self) -> bool:
        """End every session and take away every file of the case; whether nobody but the engine itself is left."""
        with suppress(LampError, OSError, sqlite3.Error, boot.BootError):
            if any(self._ours()):
                for session in self.call("list_sessions")["sessions"]:
                    self.call("kill_session", session=session["id"], force=True, grace="0s")
            for path in self.folder.iterdir():
                if path.name not in _OWN:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            if os.path.exists(self.home.database):
                self._forget()
            return wait_until(lambda: all(self._stays(each) for each in self._ours()), self.patience)
        return False

    def _forget(self) -> None:
        """Empty the store under the daemon: all but the log of events, which `begin` takes for the past."""
        with closing(self._store()) as db, db:
            db.execute("PRAGMA foreign_keys = OFF")
            tables = db.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL"
            ).fetchall()
            virtual = [name for name, sql in tables if sql.startswith("CREATE VIRTUAL")]
            for name, _ in tables:
                if name not in ("meta", "events") and not any(name.startswith(f"{each}_") for each in virtual):
                    db.execute(f"DELETE FROM {name}")

    def _store(self) -> sqlite3.Connection:
        return sqlite3.connect(self.home.database, timeout=self.patience)

    def _stays(self, process: Process) -> bool:
        """Whether it is of the engine itself: the daemon, the keeper, or what the keeper forks shims from."""
        if (process.pid, process.start_ticks) in (
            identity.recorded(self.home.run, "daemon"),
            identity.recorded(self.home.run, "keeper"),
        ):
            return True
        with suppress(OSError):
            return Path(f"/proc/{process.pid}/comm").read_text() in ("lamp-template\n", "lamp-spare\n")
        return True  # it is gone

    # -- the end

    def close(self) -> list[Process]:
        """End everything; whatever had to be killed by hand comes back, and a test fails on it."""
        known = list(self._ours())
        if known:
            try:
                self.call("stop_daemon", all=True, grace="0s")
            except (LampError, OSError, boot.BootError) as error:  # what is left behind is the failure; this is why
                print(f"the daemon was not stopped: {error!r}")
        # First those few, and only then a look at everybody: a look costs more than what is waited for.
        wait_until(lambda: not any(alive(each.pid, each.start_ticks) for each in known), self.patience)
        wait_until(lambda: not any(self._ours()), self.patience)
        left = list(self._ours())
        if left:
            self.print_logs()
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
        return left

    def print_logs(self) -> None:
        """What daemon and keeper have said, for whoever reads of a failure."""
        for log in ("daemon.log", "keeper.log"):
            with suppress(OSError):
                print(f"--- {log}\n{(self.folder / log).read_text()[-6000:]}")

    def _ours(self) -> Iterator[Process]:
        """Processes that were started with this home, by what /proc says."""
        mark, folder = f"LAMPLIGHTER_HOME={self.folder}".encode(), os.fsencode(self.folder)
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                with suppress(OSError):
                    environ = contents(f"/proc/{name}/environ")
                    if (mark in environ and mark in environ.split(b"\0")) or folder in contents(
                        f"/proc/{name}/cmdline"
                    ):
                        found = inspect(int(name))
                        if found is not None:
                            yield found


def _exchange(one: str, other: str) -> None:
    """renameat2 with RENAME_EXCHANGE, which Python has no name for."""
    if ctypes.CDLL(None, use_errno=True).renameat2(_HERE, one.encode(), _HERE, other.encode(), _EXCHANGE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), one)


def send(sock: socket.socket, operation: str, key: str, arguments: dict[str, Any]) -> None:
    sock.sendall(json.dumps({"id": 1, "op": operation, "args": arguments, "key": key}).encode() + b"\n")


def messages(sock: socket.socket) -> Iterator[dict[str, Any]]:
    with sock.makefile("rb") as file:
        for line in file:
            yield json.loads(line)


def answer(sock: socket.socket) -> dict[str, Any]:
    for message in messages(sock):
        if "error" in message:
            raise LampError.from_document(message["error"])
        if "result" in message:
            return message["result"]
    raise ConnectionError("the daemon went away")


@contextmanager
def engine(**environment: str) -> Generator[Engine]:
    """An engine that must leave nothing."""
    with leaving_nothing(Engine(**environment)) as made:
        yield made


@contextmanager
def leaving_nothing(made: AnEngine) -> Generator[AnEngine]:
    """Closes it; what it leaves behind is a failure."""
    try:
        yield made
    except BaseException:
        made.print_logs()
        made.close()
        raise
    left = made.close()
    assert not left, f"left behind: {left}"
