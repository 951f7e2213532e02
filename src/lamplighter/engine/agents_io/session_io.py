"""Talking to sessions: what is sent, what is read, what is waited for, who is attached.

Knows when a text is submitted and when it is typed; how is the backend's. Knows nothing of who may.
"""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from lamplighter.domain.permission import Act, Caller, may
from lamplighter.domain.session import Session
from lamplighter.engine.agents_io.submission import Submission
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.planned_command import TOLD, PromptDelivery
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.observe.screens import Screens
from lamplighter.engine.output.output_reader import OutputReader
from lamplighter.errors import ConflictError, DeadlineError


class SessionIO:
    def __init__(self, registry: SessionRegistry, reading: OutputReader, backends: Backends, screens: Screens) -> None:
        self.registry = registry
        self.reading = reading
        self.backends = backends
        self.screens = screens
        self.submission = Submission(screens, self.more, self._typed_at, self._age)

    async def send(
        self, session: Session, text: str, *, keys: bool, enter: bool, by: Caller, key: str
    ) -> dict[str, Any]:
        """Typed once, however often it is asked for with the same key. To an agent: pasted, and then submitted."""
        backend = self.backends.of(session)
        prompted = await backend.prompt(session, text, keys=keys, by=by, key=key)
        if prompted is not None:
            return prompted
        asked = (self.registry.clock.now(), text)
        live = self.registry.live_sessions.get(session.id)
        if not keys and live is not None:
            live.asked = asked
        data = backend.encode(text, keys=keys, enter=enter)
        if not session.alive:
            # Asked again, with the daemon lost on the way, of a session that took it and ended: that is what happened.
            cursor = await backend.took(session, key)
            if cursor is not None:
                return {"id": session.id, "size": len(data), "cursor": cursor}
        async with self.submission.turn(session.id):
            answer = None if keys else await self._submit(session, text, enter=enter, by=by, key=key)
            if answer is None:
                answer = {"size": len(data), **await backend.type(session, data, by.name, key)}
        if live is not None:
            live.last_sent = answer["cursor"]
        await self.registry.note(session.id, by, "send", size=answer["size"], keys=keys, since=asked[0])
        return {"id": session.id, "size": answer["size"], "cursor": answer["cursor"]}

    async def _submit(self, session: Session, text: str, *, enter: bool, by: Caller, key: str) -> dict[str, Any] | None:
        """To an agent at its terminal; None for anything else."""
        signs = self.screens.signs(session)
        if signs is None:
            return None

        backend = self.backends.of(session)

        async def typing(data: bytes, under: str) -> dict[str, Any]:
            return await backend.type(session, data, by.name, under, f"{key}/enter" if under == key else None)

        await backend.before_submit(session)
        try:
            return await self.submission.submit(session, signs, text, enter=enter, key=key, type=typing)
        except ConflictError as refusal:
            if self.registry.settings.reads_own and not may(by, Act.READ_OUTPUT, session):
                refusal.details.pop("screen", None)
            raise

    def _age(self, session: Session) -> float:
        return self.registry.clock.now() - session.created_at

    async def _typed_at(self, session: Session, key: str) -> int | None:
        return await self.backends.of(session).typed_at(session, key)

    async def feed(self, session: Session, text: str | None, by: Caller, key: str) -> None:
        """All that a headless session is ever to read, or nothing, and the end of its input; once, however often with the same
        key. What it does not read yet waits for it; that it ended first is told by its end."""
        backend = self.backends.of(session)
        data = b"" if text is None else backend.encode(text, keys=False, enter=True)
        await backend.feed(session, data, by, key)

    async def tell(self, session: Session, by: Caller, key: str) -> None:
        """Type its first prompt, where that was left to be typed once it runs; once, however often with the same key. One that
        does not read yet finds it waiting; one that has left already did not want it."""
        place = f"{self.registry.folder(session.id)}/{TOLD}"
        if session.told.get("by") != PromptDelivery.TYPED or not session.alive or not os.path.exists(place):
            return
        with open(place, encoding="utf-8") as file:
            text = file.read()
        try:
            await self.send(session, text, keys=False, enter=True, by=by, key=key)
        except (DeadlineError, ConflictError) as error:
            await self.registry.note(session.id, by, "prompt not typed", reason=error.message)
        with suppress(FileNotFoundError):
            os.unlink(place)  # what is typed is not kept

    def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """Pages; one, unless it is followed or a recording."""
        return self.backends.of(session).read(session, mode, lines, since, limit, follow)

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
        backend = self.backends.of(session)
        live, answer, descriptor = await backend.seat(session, read_only=read_only, bound=bound, deaf=deaf, **size)
        offset = answer["offset"]
        try:
            screen = b"" if bound or deaf else await self.reading.drawn(session, offset)
            if not bound:
                await self.registry.note_if_possible(session.id, by, "attach", read_only=read_only)
        except BaseException:
            os.close(descriptor)
            raise
        told = {"id": session.id, "name": session.name, "state": live.session.state.word, "offset": offset}
        size = {"rows": answer["rows"], "cols": answer["cols"]}
        return {**told, **size, "screen": base64.b64encode(screen).decode()}, descriptor

    async def overhear(self, session: Session) -> int:
        """A socket on which all that it prints from now on arrives, for somebody who is not a person at it."""
        _, _, descriptor = await self.backends.of(session).seat(session, read_only=True, watching=True)
        return descriptor

    async def more(self, session: str, cursor: int) -> bool:
        """Wait until there is output past the cursor; False when the session has ended instead."""
        live = self.registry.live_sessions.get(session)
        return live is not None and await live.more(cursor)
