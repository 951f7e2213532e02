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
from typing import TYPE_CHECKING, Any

from lamplighter.domain.permission import Act, Caller, may
from lamplighter.domain.session import Driver, Session
from lamplighter.drivers import driver_for, registered
from lamplighter.drivers.logical import out_of_reach
from lamplighter.errors import Code, ConflictError, DeadlineError, UnavailableError
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.launch.order import TOLD, By
from lamplighter.lifecycle.talk.foreign_terminals import ForeignTerminals
from lamplighter.lifecycle.talk.reading import Reading
from lamplighter.lifecycle.talk.screens import Screens
from lamplighter.lifecycle.talk.submission import Submission
from lamplighter.lifecycle.tmux.panes import Panes
from lamplighter.line import BrokenError, Line, RefusedError

if TYPE_CHECKING:
    from lamplighter.lifecycle.acp.talks import Talks

_INPUT_SECONDS = 10.0
FOLLOWED = 128 << 10
_LINE_SECONDS = 15.0


class Speech:
    def __init__(self, fleet: Fleet, reading: Reading, panes: Panes) -> None:
        self.fleet = fleet
        self.reading = reading
        self.foreign = ForeignTerminals(fleet)
        self.screens = Screens(reading, self.foreign)
        self.submission = Submission(self.screens, self.more, self._typed_at, self._age)
        self.panes = panes
        self.talks: Talks | None = None

    async def send(
        self, session: Session, text: str, *, keys: bool, enter: bool, by: Caller, key: str
    ) -> dict[str, Any]:
        """Typed once, however often it is asked for with the same key. To an agent: pasted, and then submitted."""
        _refuse_out_of_reach(session)
        if session.driver is Driver.ACP and self.talks is not None:
            return await self.talks.send(session, text, keys=keys, by=by, key=key)
        asked = (self.fleet.clock.now(), text)
        if not keys and (known := self.fleet.lamps.get(session.id)) is not None:
            known.asked = asked
        data = driver_for(session.driver).encode(text, keys=keys, enter=enter)
        if not session.alive and session.driver is not Driver.TMUX:
            # Asked again, with the daemon lost on the way, of a session that took it and ended: that is what happened.
            cursor = await self.reading.typed_at(session, key)
            if cursor is not None:
                return {"id": session.id, "size": len(data), "cursor": cursor}
        lamp = self._living(session)
        async with self.submission.turn(session.id):
            answer = None if keys else await self._submit(session, text, enter=enter, by=by, key=key)
            if answer is None:
                answer = {"size": len(data), **await self._type(session, data, by, key)}
        lamp.last_sent = answer["cursor"]
        await self.fleet.note(session.id, by, "send", size=answer["size"], keys=keys, since=asked[0])
        return {"id": session.id, "size": answer["size"], "cursor": answer["cursor"]}

    async def _submit(self, session: Session, text: str, *, enter: bool, by: Caller, key: str) -> dict[str, Any] | None:
        """To an agent at its terminal; None for anything else."""
        signs = self.screens.signs(session)
        if signs is None:
            return None

        async def typing(data: bytes, under: str) -> dict[str, Any]:
            return await self._type(session, data, by, under, before=f"{key}/enter" if under == key else None)

        if session.driver is Driver.TMUX and not session.traced:
            await self.panes.measure(session)
        try:
            return await self.submission.submit(session, signs, text, enter=enter, key=key, type=typing)
        except ConflictError as refusal:
            if self.fleet.settings.reads_own and not may(by, Act.READ_OUTPUT, session):
                refusal.details.pop("screen", None)
            raise

    def _age(self, session: Session) -> float:
        return self.fleet.clock.now() - session.created_at

    async def _typed_at(self, session: Session, key: str) -> int | None:
        if session.traced:
            return 0 if await self.foreign.was_typed(session, key) else None
        return await self.reading.typed_at(session, key)

    async def _type(
        self, session: Session, data: bytes, by: Caller, key: str, before: str | None = None
    ) -> dict[str, Any]:
        """Once; with where the output stood. `before`: in tmux, also not after what went under that key."""
        lamp = self._living(session)
        if session.traced:
            await self.foreign.type(session, data, key, before=before)
            return {"cursor": 0}
        try:
            answer = await self._ask_to_type(lamp, data, by, key)
        except BrokenError:
            if not key:
                raise
            answer = await self._ask_again_to_type(lamp, data, by, key)
        cursor = answer["cursor"]
        if answer.get("repeated"):
            # It was typed before the daemon was lost, and what came of it is behind where the output stands now.
            typed = await self.reading.typed_at(session, key)
            cursor = cursor if typed is None else typed
        return {**answer, "cursor": cursor}

    async def _ask_to_type(self, lamp: Lamp, data: bytes, by: Caller, key: str) -> dict[str, Any]:
        session, line = lamp.session, await self._line(lamp)
        try:
            typing = driver_for(session.driver).type(line, session.place, data, by.name, key)
            return await asyncio.wait_for(typing, _INPUT_SECONDS)
        except TimeoutError:
            raise DeadlineError(
                Code.TIMEOUT,
                f"{session.name} does not read its input; what was sent waits for it",
                "look at its screen with lamp read; the text is not lost, do not send it again",
            ) from None
        except RefusedError as error:
            raise _refused(session, error) from None

    async def _ask_again_to_type(self, lamp: Lamp, data: bytes, by: Caller, key: str) -> dict[str, Any]:
        """The line broke before the answer came. The shim knows by the key what it was given, and who comes in its place knows by
        the log; so does whoever asks after the end."""
        try:
            return await self._ask_to_type(lamp, data, by, key)
        except ConflictError:
            cursor = await self.reading.typed_at(lamp.session, key)
            if cursor is None:
                raise
            return {"cursor": cursor}

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
        try:
            await self.send(session, text, keys=False, enter=True, by=by, key=key)
        except (DeadlineError, ConflictError) as error:
            await self.fleet.note(session.id, by, "prompt not typed", reason=error.message)
        with suppress(FileNotFoundError):
            os.unlink(place)  # what is typed is not kept

    async def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """Pages; one, unless it is followed or a recording."""
        _refuse_out_of_reach(session)
        if session.driver is Driver.ACP and self.talks is not None and mode != "cast":
            async for page in self.talks.read(session, mode, lines, since, limit, follow):
                yield page
            return
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
            async for page in self.reading.cast(session, since or 0):
                yield page
            return
        page = await self.reading.output(session, lines, since, limit)
        if since and not page["text"] and not page["more"]:
            await self.reading.refuse_past(session, since)
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
        self,
        session: Session,
        rows: int | None,
        cols: int | None,
        *,
        read_only: bool,
        bound: bool,
        by: Caller,
        deaf: bool = False,
    ) -> tuple[dict[str, Any], int]:
        """What stands on the screen, and a socket on which all that comes after it arrives. To the deaf none of it is sent."""
        size = {"rows": rows, "cols": cols}
        lamp, answer, descriptor = await self._seat(session, read_only=read_only, bound=bound, deaf=deaf, **size)
        offset = answer["offset"]
        try:
            screen = b"" if bound or deaf else await self.reading.drawn(session, offset)
            if not bound:
                await self.fleet.note_if_possible(session.id, by, "attach", read_only=read_only)
        except BaseException:
            os.close(descriptor)
            raise
        told = {"id": session.id, "name": session.name, "state": lamp.session.state.value, "offset": offset}
        size = {"rows": answer["rows"], "cols": answer["cols"]}
        return {**told, **size, "screen": base64.b64encode(screen).decode()}, descriptor

    async def overhear(self, session: Session) -> int:
        """A socket on which all that it prints from now on arrives, for somebody who is not a person at it."""
        _, _, descriptor = await self._seat(session, read_only=True, watching=True)
        return descriptor

    async def _seat(self, session: Session, *, read_only: bool, **wish: Any) -> tuple[Lamp, dict[str, Any], int]:
        _refuse_out_of_reach(session)
        lamp = self._living(session)
        if session.traced:
            raise self.foreign.refuse(session, "lamp attach cannot be at it")
        if session.driver is Driver.ACP:
            raise _speaks(session)
        if session.driver is Driver.TMUX:
            raise _in_tmux(session, await self.panes.place(session), read_only=read_only)
        line = await self._line(lamp)
        try:
            answer, descriptors = await line.ask("attach", read_only=read_only, **wish)
        except RefusedError as error:
            raise _refused(session, error) from None
        return lamp, answer, descriptors[0]

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


def _refuse_out_of_reach(session: Session) -> None:
    if session.logical:
        raise out_of_reach(f"{session.name} ({session.id})")
    if session.driver is Driver.REGISTERED:
        raise registered.out_of_reach(session)


def _speaks(session: Session) -> ConflictError:
    return ConflictError(
        Code.NOT_ATTACHABLE,
        f"{session.name} ({session.id}) speaks ACP: it has no terminal to be at",
        f"lamp read --follow {session.id} shows the conversation, lamp send {session.id} says something in it",
    )


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
