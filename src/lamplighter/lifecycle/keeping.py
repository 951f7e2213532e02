"""The daemon's line to the keeper: connected at start, made anew when the keeper is lost, upgraded when its code is older.

Knows what the keeper can be asked; knows nothing of the store.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from lamplighter.errors import Code, UnavailableError
from lamplighter.holder import boot, identity, proc
from lamplighter.holder.keeper import code_version
from lamplighter.home import Home
from lamplighter.line import Line

log = logging.getLogger(__name__)
_PATIENCE_SECONDS = 30.0


class Keeping:
    """`lost` is told which session's shim went; `renewed` that another keeper is there now."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.pid: int | None = None
        self.process: tuple[int, int] | None = None
        self.reaper = 1
        self.cgroup: str | None = None
        self.on_lost: Callable[[str, bool], None] = lambda _session, _child: None
        self.on_renewed: Callable[[], Awaitable[None]] | None = None
        self._line: Line | None = None
        self._greeting: asyncio.Future[dict[str, Any]] | None = None
        self._lock = asyncio.Lock()
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def line(self) -> Line:
        """The line, made anew when it is broken."""
        async with self._lock:
            if self._line is None or not self._line.alive:
                self._line = await self._connect()
            return self._line

    async def spawn(
        self, spec: dict[str, Any], pane: dict[str, int] | None = None
    ) -> tuple[dict[str, Any], socket.socket]:
        """Have a shim forked, with what belongs to its pane of tmux, if it is in one; the socket speaks to it."""
        given: dict[str, Any] = {"names": list(pane), "descriptors": list(pane.values())} if pane else {}
        try:
            asked = (await self.line()).ask("spawn", spec=spec, **given)
            answer, descriptors = await asyncio.wait_for(asked, _PATIENCE_SECONDS)
        except TimeoutError:
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                "the keeper does not answer",
                f"see {self.home.state}/keeper.log; lamp doctor says more",
            ) from None
        return answer, socket.socket(fileno=descriptors[0])

    async def held(self) -> dict[str, dict[str, Any]]:
        answer, _ = await (await self.line()).ask("held")
        return answer["held"]

    async def hold(
        self, spec: dict[str, Any], shim: list[int], main: list[int], names: list[str], descriptors: list[int]
    ) -> None:
        await (await self.line()).ask("hold", descriptors, spec=spec, shim=shim, main=main, names=names)

    async def whose(self, pid: int, start: int) -> list[str]:
        """Which sessions a child of the keeper can be of."""
        answer, _ = await (await self.line()).ask("whose", pid=pid, start=start)
        return answer["sessions"]

    async def down(self) -> None:
        """The daemon goes, and is not to be started again."""
        self._closing = True
        await (await self.line()).ask("down")

    async def repair(self) -> list[str]:
        """Have it make again what was taken away; what that was."""
        answer, _ = await (await self.line()).ask("repair")
        return answer["remade"]

    def close(self) -> None:
        self._closing = True
        if self._line is not None:
            self._line.close()

    async def _connect(self) -> Line:
        # Where the keeper that started this daemon is gone: a new one is nobody's ancestor, but starts and holds as well.
        sock = await asyncio.to_thread(boot.reach_keeper, self.home.run, self.home.state)
        if sock is None:
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                "the keeper does not start",
                f"see {self.home.state}/keeper.log; lamp doctor says more",
            )
        self._greeting = asyncio.get_running_loop().create_future()
        line = Line(sock, "the keeper", self._heard, self._broken)
        hello = await self._greeting
        self.pid, self.cgroup, self.reaper = hello["pid"], hello["cgroup"], hello.get("reaper", 1)
        self.process = (hello["pid"], proc.start_of(hello["pid"]) or 0)
        identity.record(self.home.run, "daemon", os.getpid())  # for shims of 0.1.0, which go by it
        if hello["code"] != code_version():
            return await self._upgrade(line)
        return line

    async def _upgrade(self, line: Line) -> Line:
        """Its code is another than ours: let it become ours in place, and greet it again."""
        log.info("the keeper runs other code; it is upgraded in place")
        await line.ask("upgrade", command=identity.keeper_command(), environment=identity.clean_environment())
        line.close()
        sock = await asyncio.to_thread(boot.reach_keeper, self.home.run, self.home.state)
        if sock is None:
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                "the keeper did not come back from its upgrade",
                f"see {self.home.state}/keeper.log",
            )
        self._greeting = asyncio.get_running_loop().create_future()
        line = Line(sock, "the keeper", self._heard, self._broken)
        await self._greeting
        return line

    def _heard(self, event: dict[str, Any]) -> None:
        if event["event"] == "hello" and self._greeting is not None and not self._greeting.done():
            self._greeting.set_result(event)
        elif event["event"] == "lost":
            self.on_lost(event["session"], bool(event.get("child", True)))

    def _broken(self) -> None:
        if self._greeting is not None and not self._greeting.done():
            self._greeting.set_exception(
                UnavailableError(Code.HOLDER_UNREACHABLE, "the keeper went away", f"see {self.home.state}/keeper.log")
            )
        if not self._closing and self._line is not None:
            task = asyncio.get_running_loop().create_task(self._renew())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _renew(self) -> None:
        """Until there is a keeper again: without one nothing can be started, and a lost shim not be replaced."""
        before, pause = self.pid, 0.05
        while not self._closing:
            try:
                await self.line()
                break
            except UnavailableError as error:
                log.error("no keeper: %s", error)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)
        if self.pid != before and self.on_renewed is not None:
            await self.on_renewed()
