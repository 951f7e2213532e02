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

from lamplighter.engine.core.holder_client import BrokenError, HolderClient
from lamplighter.errors import Code, Hint, UnavailableError, Use
from lamplighter.holder import boot, identity, proc
from lamplighter.holder.keeper import code_version
from lamplighter.home import Home

log = logging.getLogger(__name__)
_PATIENCE_SECONDS = 30.0


class KeeperClient:
    """Those in `on_lost` are told which session's shim went, those in `on_renewed` that another keeper is there now."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.pid: int | None = None
        self.process: tuple[int, int] | None = None
        self.reaper = 1
        self.cgroup: str | None = None
        self.on_lost: list[Callable[[str, bool], None]] = []
        self.on_renewed: list[Callable[[], Awaitable[None]]] = []
        self._line: HolderClient | None = None
        self._greeting: asyncio.Future[dict[str, Any]] | None = None
        self._lock = asyncio.Lock()
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def line(self) -> HolderClient:
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
        line = await self.line()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                answer, descriptors = await line.ask("spawn", spec=spec, **given)
        except TimeoutError:
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                "the keeper does not answer",
                Hint(f"see {self.home.state}/keeper.log; ", Use("doctor"), " says more"),
            ) from None
        return answer, socket.socket(fileno=descriptors[0])

    async def held(self) -> dict[str, dict[str, Any]]:
        answer, _ = await (await self.line()).ask("held")
        return answer["held"]

    async def hold(
        self, spec: dict[str, Any], shim: list[int], main: list[int], names: list[str], descriptors: list[int]
    ) -> None:
        await (await self.line()).ask("hold", descriptors, spec=spec, shim=shim, main=main, names=names)

    async def whose(self, pid: int, start: int, chain: list[int]) -> list[str]:
        """Which sessions a child of the keeper can be of. `chain` are the pids from a process below it up to the child."""
        answer, _ = await (await self.line()).ask("whose", pid=pid, start=start, chain=chain)
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

    async def _connect(self) -> HolderClient:
        line, hello = await self._greeted("the keeper does not start")
        self.pid, self.cgroup, self.reaper = hello["pid"], hello["cgroup"], hello.get("reaper", 1)
        self.process = (hello["pid"], proc.start_of(hello["pid"]) or 0)
        identity.record(self.home.run, "daemon", os.getpid())  # for shims of 0.1.0, which go by it
        if hello["code"] == code_version():
            return line
        log.info("the keeper runs other code; it is upgraded in place")
        await line.ask("upgrade", command=identity.keeper_command(), environment=identity.clean_environment())
        line.close()
        line, _ = await self._greeted("the keeper did not come back from its upgrade")
        return line

    async def _greeted(self, otherwise: str) -> tuple[HolderClient, dict[str, Any]]:
        """A line to the keeper, which is started where there is none, and what it says of itself."""
        # Where the keeper that started this daemon is gone: a new one is nobody's ancestor, but starts and holds as well.
        sock = await asyncio.to_thread(boot.reach_keeper, self.home.run, self.home.state)
        if sock is None:
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                otherwise,
                Hint(f"see {self.home.state}/keeper.log; ", Use("doctor"), " says more"),
            )
        self._greeting = asyncio.get_running_loop().create_future()
        line = HolderClient(sock, "the keeper", self._heard, self._broken)
        return line, await self._greeting

    def _heard(self, event: dict[str, Any]) -> None:
        if event["event"] == "hello" and self._greeting is not None and not self._greeting.done():
            self._greeting.set_result(event)
        elif event["event"] == "lost":
            for listener in self.on_lost:
                listener(event["session"], bool(event.get("child", True)))

    def _broken(self) -> None:
        if self._greeting is not None and not self._greeting.done():
            self._greeting.set_exception(
                BrokenError(Code.HOLDER_UNREACHABLE, "the keeper went away", f"see {self.home.state}/keeper.log")
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
        if self.pid != before:
            for listener in self.on_renewed:
                await listener()
