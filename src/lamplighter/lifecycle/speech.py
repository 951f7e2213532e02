"""Talking to sessions: what is sent, what is read, what is waited for, who is attached.

Knows lines, logs and screens; knows nothing of who may.
"""

from __future__ import annotations

import asyncio
import base64
import os
import shlex
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Driver, Session
from lamplighter.drivers import driver_for
from lamplighter.drivers.logical import out_of_reach
from lamplighter.errors import Code, ConflictError, DeadlineError, UnavailableError
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.foreign_terminals import ForeignTerminals
from lamplighter.lifecycle.order import TOLD, By
from lamplighter.lifecycle.panes import Panes
from lamplighter.lifecycle.reading import Reading
from lamplighter.line import Line, RefusedError

_INPUT_SECONDS = 10.0
FOLLOWED = 128 << 10
_LINE_SECONDS = 15.0


class Speech:
    def __init__(self, fleet: Fleet, reading: Reading, panes: Panes) -> None:
        self.fleet = fleet
        self.reading = reading
        self.foreign = ForeignTerminals(fleet)
        self.panes = panes

    async def send(
        self, session: Session, text: str, *, keys: bool, enter: bool, by: Caller, key: str
    ) -> dict[str, Any]:
        """Typed once, however often it is asked for with the same key."""
        _refuse_logical(session)
        asked = (self.fleet.clock.now(), text)
        if not keys and (known := self.fleet.lamps.get(session.id)) is not None:
            known.asked = asked
        if session.traced and self._living(session):
            return await self.foreign.send(session, text, keys=keys, enter=enter, by=by, key=key)
        driver = driver_for(session.driver)
        data = driver.encode(text, keys=keys, enter=enter)
        if not session.alive and session.driver is not Driver.TMUX:
            # Asked again, with the daemon lost on the way, of a session that took it and ended: that is what happened.
            cursor = await self.reading.typed_at(session, key)
            if cursor is not None:
                return {"id": session.id, "size": len(data), "cursor": cursor}
        lamp = self._living(session)
        line = await self._line(lamp)
        try:
            typing = driver.type(line, lamp.session.place, data, by.name, key)
            answer = await asyncio.wait_for(typing, _INPUT_SECONDS)
        except TimeoutError:
            raise DeadlineError(
                Code.TIMEOUT,
                f"{session.name} does not read its input; what was sent waits for it",
                "look at its screen with lamp read; the text is not lost, do not send it again",
            ) from None
        except RefusedError as error:
            raise _refused(session, error) from None
        cursor = answer["cursor"]
        if answer.get("repeated"):
            # It was typed before the daemon was lost, and what came of it is behind where the output stands now.
            typed = await self.reading.typed_at(session, key)
            cursor = cursor if typed is None else typed
        lamp.last_sent = cursor
        await self.fleet.note(session.id, by, "send", size=len(data), keys=keys, since=asked[0])
        return {"id": session.id, "size": len(data), "cursor": cursor}

    async def feed(self, session: Session, text: str | None, by: Caller, key: str) -> None:
        """All that a headless session is ever to read, or nothing, and the end of its input; once, however often with the same
        key. What it does not read yet waits for it; that it ended first is told by its end."""
        lamp = self.fleet.lamps.get(session.id)
        if lamp is None:
            return
        data = b"" if text is None else driver_for(session.driver).encode(text, keys=False, enter=True)
        with suppress(TimeoutError, RefusedError, ConflictError):
            line = await self._line(lamp)
            # Both at once: the shim takes them in this order, and a reader that waits for the end gets it.
            typing = [line.type(data, by.name, key)] if data else []
            await asyncio.wait_for(asyncio.gather(*typing, line.ask("eof")), _INPUT_SECONDS)
            if data:
                await self.fleet.note(session.id, by, "send", size=len(data), keys=False)

    async def tell(self, session: Session, by: Caller, key: str) -> None:
        """Type its first prompt, where that was left to be typed once it runs; once, however often with the same key. One that
        does not read yet finds it waiting; one that has left already did not want it."""
        place = f"{self.fleet.folder(session.id)}/{TOLD}"
        if session.told.get("by") != By.TYPED or not session.alive or not os.path.exists(place):
            return
        with open(place, encoding="utf-8") as file:
            text = file.read()
        with suppress(DeadlineError, ConflictError):
            await self.send(session, text, keys=False, enter=True, by=by, key=key)
        with suppress(FileNotFoundError):
            os.unlink(place)  # what is typed is not kept

    async def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """Pages; one, unless it is followed or a recording."""
        _refuse_logical(session)
        if session.traced:
            yield await self.foreign.screen(session, mode, lines, follow=follow)
            return
        if mode == "screen" and session.driver is Driver.HEADLESS:
            mode, lines = "output", lines or 50
        if mode in ("screen", "vt"):
            if session.driver is Driver.TMUX:
                await self.panes.measure(session)
            yield await self.reading.screen(session, mode, lines)
            return
        if mode == "cast":
            async for page in self.reading.cast(session):
                yield page
            return
        page = await self.reading.output(session, lines, since, limit)
        yield page
        while follow:
            if not page["more"] and not await self.more(session.id, page["cursor"]):
                last = await self.reading.output(session, None, page["cursor"], limit)
                yield last
                if not last["more"]:
                    return
                page = last
                continue
            page = await self.reading.output(session, None, page["cursor"], min(limit, FOLLOWED))
            if page["text"] or page["lost"]:
                yield page

    async def attach(
        self, session: Session, rows: int | None, cols: int | None, *, read_only: bool, bound: bool, by: Caller
    ) -> tuple[dict[str, Any], int]:
        """What stands on the screen, and a socket on which all that comes after it arrives."""
        _refuse_logical(session)
        lamp = self._living(session)
        if session.traced:
            raise self.foreign.refuse(session, "lamp attach cannot be at it")
        if session.driver is Driver.TMUX:
            raise _in_tmux(session, await self.panes.place(session), read_only=read_only)
        line = await self._line(lamp)
        try:
            answer, descriptors = await line.ask("attach", rows=rows, cols=cols, read_only=read_only, bound=bound)
        except RefusedError as error:
            raise _refused(session, error) from None
        offset = answer["offset"]
        try:
            screen = b"" if bound else await self.reading.drawn(session, offset)
            if not bound:
                await self.fleet.note_if_possible(session.id, by, "attach", read_only=read_only)
        except BaseException:
            os.close(descriptors[0])
            raise
        told = {"id": session.id, "name": session.name, "state": lamp.session.state.value, "offset": offset}
        size = {"rows": answer["rows"], "cols": answer["cols"]}
        return {**told, **size, "screen": base64.b64encode(screen).decode()}, descriptors[0]

    # -- waiting for more

    async def more(self, session: str, cursor: int) -> bool:
        """Wait until there is output past the cursor; False when the session has ended instead."""
        lamp = self.fleet.lamps.get(session)
        if lamp is None:
            return False
        pulse = lamp.output
        if lamp.line is not None:
            lamp.line.tell("arm", cursor=cursor)
        await first_of(pulse, lamp.ended, lamp.changed)
        return not lamp.ended.is_set()

    def _living(self, session: Session) -> Lamp:
        lamp = self.fleet.lamps.get(session.id)
        if lamp is None:
            raise ConflictError(
                Code.ENDED,
                f"{session.name} ({session.id}) has ended",
                "lamp read shows its output, lamp show how it ended",
            )
        return lamp

    async def _line(self, lamp: Lamp) -> Line:
        """Its line; while its holder is being found again, wait for that."""
        try:
            async with asyncio.timeout(_LINE_SECONDS):
                while lamp.line is None or not lamp.line.alive:
                    if lamp.ended.is_set():
                        self._living(lamp.session)
                    await lamp.changed.wait()
        except TimeoutError:
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE, f"the holder of {lamp.session.name} does not answer", "lamp doctor says more"
            ) from None
        return lamp.line


async def first_of(*events: asyncio.Event) -> None:
    """Wait for whichever comes first."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _refuse_logical(session: Session) -> None:
    if session.logical:
        raise out_of_reach(f"{session.name} ({session.id})")


def _in_tmux(session: Session, place: dict[str, Any], *, read_only: bool) -> ConflictError:
    command = [
        "tmux",
        "-S",
        place["socket"],
        "attach-session",
        *(["-r"] if read_only else []),
        "-t",
        f"={place['name']}",
    ]
    return ConflictError(
        Code.NOT_ATTACHABLE,
        f"{session.name} ({session.id}) is in tmux, which attaches to it by itself",
        shlex.join(command),
        command=command,
        **place,
    )


def _refused(session: Session, error: RefusedError) -> ConflictError | DeadlineError:
    if error.code == "BUSY":
        return DeadlineError(
            Code.TIMEOUT, f"{session.name} does not read its input: {error}", "look at its screen with lamp read"
        )
    return ConflictError(Code.ENDED, f"{session.name} ({session.id}): {error}", "lamp show says what it is doing")
