"""Sessions that a shim of ours holds: on a terminal, or on pipes.

Knows the line to the shim and the session's log; knows nothing of agents' screens, nor of who may.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.domain.states import BeingEnded
from lamplighter.domain.text.echo import Echo
from lamplighter.engine.backends.base import Backend, BackendContext, Shown, ended_first, has_ended
from lamplighter.engine.core.holder_client import BrokenError, HolderClient, RefusedError
from lamplighter.engine.core.registry import LiveSession
from lamplighter.engine.core.tasks import first_of
from lamplighter.errors import Code, ConflictError, DeadlineError, Hint, InputError, LampError, UnavailableError, Use

_INPUT_SECONDS = 10.0
_LINE_SECONDS = 15.0
_MOST_BREAKS = 5
_PAGE = 1 << 20
_FOLLOWED = 128 << 10
_LAST_BYTES = 1 << 16


class HeldBackend(Backend):
    def __init__(self, context: BackendContext) -> None:
        super().__init__(context)
        self.reading = context.reading

    # -- the line

    def living(self, session: Session) -> LiveSession:
        live = self.registry.live_sessions.get(session.id)
        if live is None:
            raise has_ended(session)
        return live

    async def line(self, live: LiveSession) -> HolderClient:
        """Its line; while its shim is being found again, wait for that."""
        try:
            async with asyncio.timeout(_LINE_SECONDS):
                while live.line is None or not live.line.alive:
                    if live.ended.is_set():
                        self.living(live.session)
                    await live.changed.wait()
        except TimeoutError:
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                f"the holder of {live.session.name} does not answer",
                Hint(Use("doctor"), " says more"),
            ) from None
        return live.line

    # -- typing

    async def type(self, session: Session, data: bytes, by: str, key: str, before: str | None = None) -> dict[str, Any]:
        del before  # a shim remembers every key
        live = self.living(session)
        answer = await self._ask_until_told(live, data, by, key)
        cursor = answer["cursor"]
        if answer.get("repeated"):
            # It was typed before the daemon was lost, and what came of it is behind where the output stands now.
            typed = await self.typed_at(session, key)
            cursor = cursor if typed is None else typed
        return {**answer, "cursor": cursor}

    async def _ask_until_told(self, live: LiveSession, data: bytes, by: str, key: str) -> dict[str, Any]:
        """A line may break before the answer comes, and the next one too: a shim that is being killed still takes it."""
        try:
            return await self._ask_to_type(live, data, by, key)
        except BrokenError:
            if not key:
                raise
        for _ in range(_MOST_BREAKS):
            with suppress(BrokenError):
                return await self._ask_again_to_type(live, data, by, key)
        return await self._ask_again_to_type(live, data, by, key)

    async def _ask_to_type(self, live: LiveSession, data: bytes, by: str, key: str) -> dict[str, Any]:
        session, line = live.session, await self.line(live)
        try:
            return await asyncio.wait_for(self.put_in(session, line, data, by, key), _INPUT_SECONDS)
        except TimeoutError:
            raise DeadlineError(
                Code.TIMEOUT,
                f"{session.name} does not read its input; what was sent waits for it",
                Hint("look at its screen with ", Use("read"), "; the text is not lost, do not send it again"),
            ) from None
        except RefusedError as error:
            raise refused(session, error) from None

    async def _ask_again_to_type(self, live: LiveSession, data: bytes, by: str, key: str) -> dict[str, Any]:
        """The line broke before the answer came. The shim knows by the key what it was given, and who comes in its place knows by
        the log; so does whoever asks after the end."""
        try:
            return await self._ask_to_type(live, data, by, key)
        except ConflictError:
            cursor = await self.typed_at(live.session, key)
            if cursor is None:
                raise
            return {"cursor": cursor}

    async def put_in(self, session: Session, line: HolderClient, data: bytes, by: str, key: str) -> dict[str, Any]:
        """Into its terminal or pipe, by its shim."""
        del session
        return await line.type(data, by, key)

    async def typed_at(self, session: Session, key: str) -> int | None:
        return await self.reading.typed_at(session, key)

    async def took(self, session: Session, key: str) -> int | None:
        return await self.typed_at(session, key)

    async def feed(self, session: Session, data: bytes, by: Caller, key: str) -> None:
        """What it does not read yet waits for it; that it ended first is told by its end."""
        live = self.registry.live_sessions.get(session.id)
        if live is None:
            return
        with suppress(TimeoutError, RefusedError, ConflictError):
            line = await self.line(live)
            # Both at once: the shim takes them in this order, and a reader that waits for the end gets it.
            typing = [line.type(data, by.name, key)] if data else []
            await asyncio.wait_for(asyncio.gather(*typing, line.ask("eof")), _INPUT_SECONDS)
            if data:
                await self.registry.note(session.id, by, "send", size=len(data), keys=False)

    # -- seeing

    async def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        if mode in ("screen", "vt"):
            yield await self.screen(session, mode, lines)
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
            if not page["more"] and not await self._more(session, page["cursor"]):
                last = await self.reading.output(session, None, page["cursor"], limit)
                yield last
                if not last["more"]:
                    return
                page = last
                continue
            page = await self.reading.output(session, None, page["cursor"], min(limit, _FOLLOWED))
            if page["text"] or page["lost"]:
                yield page

    async def screen(self, session: Session, mode: str, lines: int | None) -> dict[str, Any]:
        return await self.reading.screen(session, mode, lines)

    async def _more(self, session: Session, cursor: int) -> bool:
        """Wait until there is output past the cursor; False when the session has ended instead."""
        live = self.registry.live_sessions.get(session.id)
        return live is not None and await live.more(cursor)

    async def seat(self, session: Session, *, read_only: bool, **wish: Any) -> tuple[LiveSession, dict[str, Any], int]:
        live = self.living(session)
        line = await self.line(live)
        try:
            answer, descriptors = await line.ask("attach", read_only=read_only, **wish)
        except RefusedError as error:
            raise refused(session, error) from None
        return live, answer, descriptors[0]

    async def shown(self, session: Session, paste_mode: int) -> Shown | None:
        shown = await self.reading.screen(session, "screen", None, modes=(paste_mode,))
        return Shown(shown["text"], shown["title"], shown["cursor"], shown["modes"][paste_mode])

    async def last_lines(self, session: Session, most: int) -> list[str]:
        del most
        if session.shim is None:
            return []
        return (await self.reading.screen(session, "screen", None))["text"].splitlines()

    async def until_text(self, session: Session, text: str, since: int | None) -> int:
        """In the output since the last input that was sent, unless a cursor is given: so no answer is missed or taken twice."""
        wanted = text.encode(errors="surrogateescape")
        live = self.registry.live_sessions.get(session.id)
        if since is None:
            known = live.last_sent if live else None
            since = known if known is not None else await self.reading.last_input(session)
        cursor, kept = since, b""
        while True:
            pulse, changed = (live.output, live.changed) if live else (asyncio.Event(), asyncio.Event())
            ended = live is None or live.ended.is_set()
            data, following = await self.reading.raw(session, cursor, _PAGE)
            found = (kept + data).find(wanted)
            if found >= 0:
                return following - len(kept + data) + found + len(wanted)
            kept = (kept + data)[-(len(wanted) - 1) :] if len(wanted) > 1 else b""
            if following == cursor:
                if ended or live is None:
                    raise ended_first(session, "printed that")
                if live.line is not None:
                    live.line.tell("arm", cursor=cursor)
                await first_of(pulse, changed, live.ended)
            cursor = following

    # -- ending

    async def stop(self, live: LiveSession) -> None:
        """Its shim climbs down the ladder. Without a line it is being looked for; whoever finds it wakes us."""
        while not live.ended.is_set() and not await self._tell_to_stop(live):
            await live.changed.wait()

    async def hurry(self, live: LiveSession) -> None:
        await self._tell_to_stop(live)

    async def _tell_to_stop(self, live: LiveSession) -> bool:
        """False when it could not be told. A shim that is older than `hangup` begins with TERM."""
        if live.line is None or not isinstance(live.session.state, BeingEnded):
            return False
        intent = live.session.state.intent
        first: dict[str, Any] = {"hangup": intent.hangup} if intent.hangup else {}
        try:
            await live.line.ask("stop", grace=intent.grace, **first)
        except (LampError, RefusedError):
            return False
        return True


class TerminalBackend(HeldBackend):
    environment: ClassVar[Mapping[str, str]] = {"TERM": "xterm-256color"}

    async def ask_to_end(self, live: LiveSession) -> bool:
        """Ctrl-D, the end of input: shells, interpreters and most line-readers leave at it."""
        if live.line is None:
            return False
        await self.put_in(live.session, live.line, b"\x04", "lamplighter", "")
        return True


class HeadlessBackend(HeldBackend):
    """On pipes: the end of input is the way to ask."""

    one_conversation = True
    echo = Echo.NONE

    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        if keys:
            raise InputError(
                Code.BAD_INPUT, "a headless session has no keyboard", Hint("send text; or ", Use("kill"), " to stop it")
            )
        return text.encode(errors="surrogateescape") + (b"\n" if enter else b"")

    def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """It has no screen: its last lines are shown instead."""
        if mode == "screen":
            mode, lines = "output", lines or 50
        return super().read(session, mode, lines, since, limit, follow)

    async def last_lines(self, session: Session, most: int) -> list[str]:
        if session.shim is None:
            return []
        return (await self.reading.output(session, most, None, _LAST_BYTES))["text"].splitlines()

    async def ask_to_end(self, live: LiveSession) -> bool:
        if live.line is None:
            return False
        await live.line.ask("eof")
        return True


def refused(session: Session, error: RefusedError) -> ConflictError | DeadlineError:
    if error.code == "BUSY":
        return DeadlineError(
            Code.TIMEOUT,
            f"{session.name} does not read its input: {error}",
            Hint("look at its screen with ", Use("read")),
        )
    return ConflictError(
        Code.ENDED, f"{session.name} ({session.id}): {error}", Hint(Use("show"), " says what it is doing")
    )
