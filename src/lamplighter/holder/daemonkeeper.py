"""Keeping the daemon up: started on request, started again when it dies, left alone once it was told to go.

Standard library only. Knows nothing of what the daemon does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from lamplighter.holder import credentials, identity, places, proc
from lamplighter.holder.faults import tell_fault
from lamplighter.holder.wire import Channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PAUSES = (0.0, 0.05, 0.2, 1.0, 5.0, 30.0, 60.0)
_TELL_AFTER = 3
_STEADY_SECONDS = 10.0


class DaemonKeeper:
    def __init__(self, run: str, state: str) -> None:
        self.run = run
        self.state = state
        self.pid: int | None = None
        self.start: int | None = None
        self.watch: int | None = None  # a pidfd, for a daemon that another keeper has started
        self.ready = False
        self.wanted = False
        self.notice: int | None = None
        self.failures = 0
        self.started_at = 0.0
        self.start_at: float | None = None
        self.starts = 0
        self.waiting: list[
            tuple[Channel, dict[str, Any], int]
        ] = []  # the last: how many starts there were when it asked

    @property
    def alive(self) -> bool:
        return self.pid is not None

    def want(self, channel: Channel, request: dict[str, Any]) -> None:
        """Somebody needs the daemon; answered once it is ready, or with what it last said when it does not start."""
        self.wanted = True
        self.waiting.append((channel, request, self.starts))
        if self.pid is None:
            self._adopt_living()
        if self.ready:
            self._answer(self.waiting, ok={"pid": self.pid})
            return
        self.failures = 0
        if self.pid is None:
            self._start()

    def begin(self) -> None:
        """Somebody is about to ask for a daemon."""
        if credentials.find(self.run, self.state, "daemon") is None:
            with contextlib.suppress(OSError):  # it is tried again when it is asked for, and then the reason is told
                self._start()

    def settle(self) -> None:
        """After the rehearsal, in which whatever dies is reaped without a word."""
        if self.pid is not None and not proc.is_alive(self.pid, self.start or 0):
            self.died(self.pid)

    def is_daemon(self, pid: int) -> bool:
        """Whether whoever has this pid now is the daemon: the one that was started here, or one that an earlier keeper has left,
        by the kernel's word."""
        if self.pid is None and credentials.is_daemon(self.run, self.state, pid):
            self._adopt(pid, proc.start_of(pid) or 0)
        return pid == self.pid

    def _adopt_living(self) -> None:
        """A daemon may live that an earlier keeper has started, and whose socket was taken away. One of 0.1.0 cannot make
        another: it goes, and its successor finds everything."""
        found = credentials.find(self.run, self.state, "daemon")
        if found is None:
            return
        if places.nudge(*found):
            self._adopt(*found)
        elif identity.connect(f"{self.run}/daemon.sock") is None:
            proc.send_signal(*found, signal.SIGTERM)

    def _adopt(self, pid: int, start: int) -> None:
        try:
            self.watch = os.pidfd_open(pid)
        except OSError:
            return
        self.pid, self.start, self.ready, self.wanted = pid, start, True, True
        self.started_at = time.monotonic()
        identity.record(self.run, "daemon", pid)

    @property
    def hopeless(self) -> bool:
        """It does not start, and nobody waits for it any more."""
        return self.failures >= _TELL_AFTER and self.pid is None and not self.waiting

    def rest(self) -> None:
        self.wanted = False
        self.start_at = None

    def hear(self, descriptor: int) -> None:
        """The daemon says that it is ready, or its end of the pipe is closed; or one that is no child of ours is gone."""
        if descriptor == self.watch:
            os.close(descriptor)
            self.watch = None
            self.died(self.pid or 0)
            return
        assert self.notice is not None
        said = os.read(self.notice, 64)
        if said:
            self.ready = True
            self._answer(self.waiting, ok={"pid": self.pid})
            return
        os.close(self.notice)
        self.notice = None

    def died(self, pid: int) -> bool:
        """Whether that was the daemon; if it is wanted, it is started again."""
        if pid != self.pid:
            return False
        self.pid, self.ready = None, False
        if self.notice is not None:
            os.close(self.notice)
            self.notice = None
        if self.wanted:
            steady = time.monotonic() - self.started_at > _STEADY_SECONDS
            self.failures = 0 if steady else self.failures + 1
            # A start that began before somebody asked may have failed of what is mended since: it is no answer.
            told = [waiter for waiter in self.waiting if self.starts - waiter[2] >= _TELL_AFTER]
            if told:
                self._answer(told, error={"code": "DAEMON_UNREACHABLE", "message": self._last_words()})
            self.start_at = time.monotonic() + _PAUSES[min(self.failures, len(_PAUSES) - 1)]
        return True

    def timeout(self) -> float | None:
        return None if self.start_at is None else max(0.0, (self.start_at - time.monotonic()) * 1000 + 1)

    def proceed(self) -> None:
        if self.start_at is not None and time.monotonic() >= self.start_at:
            try:
                self._start()
            except (
                OSError
            ):  # no descriptor, or the interpreter is gone: the keeper holds every session, and tries again
                tell_fault()
                self.failures += 1
                self.start_at = time.monotonic() + _PAUSES[min(self.failures, len(_PAUSES) - 1)]

    def watched(self) -> list[int]:
        return [number for number in (self.notice, self.watch) if number is not None]

    def descriptors(self) -> list[int]:
        """What must survive an exec."""
        return [] if self.notice is None else [self.notice]

    def forget(self, channel: Channel) -> None:
        self.waiting = [waiter for waiter in self.waiting if waiter[0] is not channel]

    def saved(self) -> dict[str, Any]:
        known = {"pid": self.pid, "start": self.start, "child": self.watch is None}
        return {**known, "ready": self.ready, "wanted": self.wanted, "notice": self.notice}

    def restore(self, saved: dict[str, Any]) -> None:
        self.pid, self.ready, self.wanted = saved["pid"], saved["ready"], saved["wanted"]
        self.notice = saved["notice"]
        if self.notice is not None:
            os.set_inheritable(self.notice, False)
        self.start = proc.start_of(self.pid) if self.pid else None
        if self.pid is not None and not saved.get("child", True):
            pid, self.pid = self.pid, None
            self._adopt(pid, self.start or 0)
            self.ready, self.wanted = self.pid is not None, saved["wanted"]

    def _start(self) -> None:
        self.started_at = time.monotonic()
        self.starts += 1
        self.start_at = None
        reader, writer = os.pipe2(os.O_CLOEXEC)
        log = os.open(f"{self.state}/daemon.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-m", "lamplighter.daemon", self.run, self.state, "3"],
                identity.clean_environment(),
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, nothing, 0),
                    (os.POSIX_SPAWN_DUP2, log, 1),
                    (os.POSIX_SPAWN_DUP2, log, 2),
                    (os.POSIX_SPAWN_DUP2, writer, 3),
                ],
                setsid=True,
                setsigdef=identity.default_signals(),
            )
        except OSError:
            os.close(reader)
            raise
        finally:
            for descriptor in (writer, log, nothing):
                os.close(descriptor)
        self.notice = reader
        self.start = proc.start_of(self.pid)
        identity.record(self.run, "daemon", self.pid)

    def _answer(self, waiters: list[tuple[Channel, dict[str, Any], int]], **answer: Any) -> None:
        self.waiting = [waiter for waiter in self.waiting if waiter not in waiters]
        for channel, request, _ in waiters:
            channel.send_json({"n": request.get("n"), **answer})

    def _last_words(self) -> str:
        try:
            with open(f"{self.state}/daemon.log", "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 2000))
                lines = file.read().decode(errors="replace").strip().splitlines()
        except OSError:
            return "and its log cannot be read"
        return lines[-1] if lines else "and it said nothing"
