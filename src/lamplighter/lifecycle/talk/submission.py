"""A text given to an agent at its terminal: pasted, then submitted, each exactly once, and never into a dialog.

Knows screens and what their signs say; how a key gets to a session is the caller's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from lamplighter.agents.signs import Signs
from lamplighter.domain.paste import bracketed, plain_text
from lamplighter.domain.session import Session
from lamplighter.domain.sign import Sign
from lamplighter.errors import Code, ConflictError, InputError
from lamplighter.lifecycle.talk.screens import Screens, Shown

ENTER = b"\r"
_KNOWN_SECONDS = 5.0  # for a screen that is not known, once there is one and it takes a paste
_STARTING_SECONDS = 60.0
_PAUSE_SECONDS = 0.4
_ECHO_SECONDS = 5.0
_TAKEN_SECONDS = 2.0
_LOOK_SECONDS = 0.1
Typing = Callable[[bytes, str], Awaitable[dict[str, Any]]]


class Submission:
    """`more` waits for output past a cursor; `typed_at` finds what was typed under a key; `age` is a session's own."""

    def __init__(
        self,
        screens: Screens,
        more: Callable[[str, int], Awaitable[bool]],
        typed_at: Callable[[Session, str], Awaitable[int | None]],
        age: Callable[[Session], float],
    ) -> None:
        self.screens = screens
        self._more = more
        self._typed_at = typed_at
        self._age = age
        self._locks: dict[str, asyncio.Lock] = {}

    def turn(self, session: str) -> asyncio.Lock:
        """One at a time: what another sends in the pause would become part of the text."""
        if len(self._locks) > 1000:
            self._locks = {name: lock for name, lock in self._locks.items() if lock.locked()}
        return self._locks.setdefault(session, asyncio.Lock())

    async def submit(
        self, session: Session, signs: Signs, text: str, *, enter: bool, key: str, type: Typing
    ) -> dict[str, Any] | None:
        """What came of typing, with the size of it all. None when its terminal takes no paste."""
        said = plain_text(text)
        _refuse_shell(session, signs, said)
        shown = await self._ready(session)
        if shown is None or not (shown.pastes or shown.told):
            return None
        if _asks(shown):
            return await self._answered(session, shown, key)
        data = bracketed(signs.as_said(said)) if said else b""
        answer = await type(data, key)
        if not enter:
            with suppress(ConflictError):  # what was asked is done; whoever goes on with Enter finds it taken
                await self._settle(session, data, answer["cursor"])
            return {**answer, "size": len(data)}
        if not (answer.get("repeated") and await self._was_typed(session, f"{key}/enter")):
            await self._settle(session, data, answer["cursor"])
        await type(ENTER, f"{key}/enter")
        await self._taken(session)
        return {**answer, "size": len(data) + len(ENTER)}

    async def _ready(self, session: Session) -> Shown | None:
        """Its screen, once that says something: one that starts takes nothing yet, and what is typed then is lost."""
        begun = time.monotonic()
        shown = await self.screens.look(session)
        while shown is not None and shown.told is None and not session.traced:
            starts = shown.blank or not shown.pastes  # opencode takes a paste long before it is there to read one
            patience = _STARTING_SECONDS - self._age(session) if starts else _KNOWN_SECONDS
            if time.monotonic() - begun > patience or not await self._drawn(session, shown):
                break
            shown = await self.screens.look(session)
        return shown

    async def _settle(self, session: Session, data: bytes, cursor: int) -> None:
        """Until the text is in its input line: Enter right behind a paste would be part of it. ACTIVE when a dialog opens."""
        deadline = time.monotonic() + _ECHO_SECONDS
        is_in = False
        while (shown := await self.screens.look(session)) is not None:
            if _asks(shown):
                raise _unsubmitted(session, shown)
            if is_in or time.monotonic() > deadline:
                return
            is_in = not data or shown.told is None or (shown.told.typed and (shown.offset > cursor or session.traced))
            if is_in:  # one that was slow to take it is as slow to be done with it: the pause begins here
                await asyncio.sleep(_PAUSE_SECONDS)
            elif not await self._drawn(session, shown):
                return

    async def _taken(self, session: Session) -> None:
        """Until its input line is empty again, so that the next text is not taken for this one."""
        deadline = time.monotonic() + _TAKEN_SECONDS
        while (shown := await self.screens.look(session)) is not None and time.monotonic() < deadline:
            if shown.told is None or not shown.told.typed or not await self._drawn(session, shown):
                return

    async def _drawn(self, session: Session, shown: Shown) -> bool:
        """Wait a little for its screen to change; False when it has ended."""
        if session.traced:
            await asyncio.sleep(_LOOK_SECONDS)
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                return await self._more(session.id, shown.offset)
        return True

    async def _answered(self, session: Session, shown: Shown, key: str) -> dict[str, Any]:
        """A dialog is open. When all was typed before it opened, that is what happened; else it is refused."""
        cursor = await self._typed_at(session, key)
        if cursor is None:
            raise _dialog(session, shown)
        if not await self._was_typed(session, f"{key}/enter"):
            raise _unsubmitted(session, shown)
        return {"cursor": cursor, "size": 0, "repeated": True}

    async def _was_typed(self, session: Session, key: str) -> bool:
        return await self._typed_at(session, key) is not None


def _asks(shown: Shown) -> bool:
    return shown.told is not None and shown.told.sign is Sign.WAITING


def _refuse_shell(session: Session, signs: Signs, said: str) -> None:
    if signs.shell is not None and said.lstrip().startswith(signs.shell):
        raise InputError(
            Code.BAD_INPUT,
            f"{session.name} ({session.id}) would run a text that begins with {signs.shell} as a command of its user",
            "begin with another word; to have it run, type it: lamp attach",
        )


def _dialog(session: Session, shown: Shown) -> ConflictError:
    what = shown.told.what if shown.told else ""
    return ConflictError(
        Code.ACTIVE,
        f"{session.name} ({session.id}) waits for {what}; a text would answer that, and nothing was typed",
        f"lamp read {session.name} shows the question; answer it with lamp attach {session.name}, or "
        f"lamp send --keys {session.name} followed by the keys; then send the text",
        verdict="waiting",
        evidence=[shown.told.words if shown.told else ""],
    )


def _unsubmitted(session: Session, shown: Shown) -> ConflictError:
    what = shown.told.what if shown.told else ""
    return ConflictError(
        Code.ACTIVE,
        f"the text is in the input line of {session.name} ({session.id}), not submitted: it began to wait for {what}",
        f"answer that first (lamp attach {session.name}), then lamp send --keys {session.name} Enter",
        verdict="waiting",
        evidence=[shown.told.words if shown.told else ""],
    )
