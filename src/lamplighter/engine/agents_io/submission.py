"""A text given to an agent at its terminal: pasted, then submitted, each exactly once, and never into a dialog.

Knows screens and what their signs say; how a key gets to a session is the caller's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

from lamplighter import lazy_re as re
from lamplighter.agents.formats.screen_patterns import ScreenPatterns
from lamplighter.domain.keys import bracketed, plain_text
from lamplighter.domain.screen_sign import Sign
from lamplighter.domain.session import Session
from lamplighter.domain.verdict import Verdict
from lamplighter.engine.core.planned_command import PromptDelivery
from lamplighter.engine.observe.screens import Screens, ScreenText
from lamplighter.errors import Code, ConflictError, Hint, InputError, Use

ENTER = b"\r"
_KNOWN_SECONDS = 5.0  # for a screen that is not known, once there is one and it takes a paste
_STARTING_SECONDS = 60.0
_PAUSE_SECONDS = 0.4
_ECHO_SECONDS = 60.0
_TAKEN_SECONDS = (5.0, 10.0, 45.0)  # behind each Enter
_LOOK_SECONDS = 0.1
_STANDS_FOR_PASTE = re.compile(r"\[Pasted ")
_AT_START = frozenset({PromptDelivery.WORDS, PromptDelivery.FILE, PromptDelivery.PACKET_FILE})
"""It was told something in its command."""
Typing = Callable[[bytes, str], Awaitable[dict[str, Any]]]


class _Pasted(NamedTuple):
    """A text on its way into an input line: its characters, where the output stood, and what the line showed before; None when
    it was typed by an earlier call."""

    said: str
    cursor: int
    before: str | None

    def is_in(self, shown: ScreenText) -> bool:
        if not self.said:
            return True
        drawn = shown.offset is None or shown.offset > self.cursor
        return shown.takes and drawn and shown.line != self.before and (_is_typed(shown) or self.is_of(shown.line))

    def is_of(self, line: str) -> bool:
        """The line shows nothing but this text, or a part of it, also where that looks like the line's own hint."""
        return bool(line) and _squeezed(line) in self.said

    def is_it(self, line: str) -> bool:
        return bool(line) and _squeezed(line) == self.said

    def remains(self, shown: ScreenText, stood: str) -> bool:
        """What stood in the line is there still, whatever was added to it."""
        return (_is_typed(shown) or self.is_of(shown.line)) and _squeezed(shown.line).startswith(_squeezed(stood))

    def stands(self, shown: ScreenText, stood: str) -> bool:
        """The same stands there, and it is this text for certain: seen by this call as it got there, or by its words."""
        same = shown.takes and _squeezed(shown.line) == _squeezed(stood)
        return same and (self.before is not None or self.is_it(shown.line))


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
        self, session: Session, signs: ScreenPatterns, text: str, *, enter: bool, key: str, type: Typing
    ) -> dict[str, Any]:
        """What came of typing, with the size of it all. ACTIVE, and nothing is typed, where no input line is seen; ACTIVE, too,
        when the text stays in the input line."""
        said = plain_text(text)
        _refuse_shell(session, signs, said)
        shown = await self._ready(session)
        if shown is None or not shown.takes:
            return await self._answered(session, shown, key)
        data = bracketed(signs.as_said(said)) if said else b""
        answer = await type(data, key)
        again = bool(answer.get("repeated"))
        pasted = _Pasted(_squeezed(said), answer["cursor"], None if again else shown.line)
        if not enter:
            with suppress(ConflictError):  # what was asked is done; whoever goes on with Enter finds it taken
                await self._settle(session, pasted)
            return {**answer, "size": len(data)}
        if again and await self._was_typed(session, f"{key}/enter"):
            stood = await self._left(session, pasted)
        else:
            stood = await self._settle(session, pasted)
        await self._press(session, pasted, stood, key, type)
        return {**answer, "size": len(data) + len(ENTER)}

    async def _ready(self, session: Session) -> ScreenText | None:
        """Its screen, once that takes a text or asks something: one that starts takes nothing yet, and what is typed then is
        lost."""
        begun = changed = time.monotonic()
        shown = await self.screens.look(session)
        while shown is not None and not shown.asks and not (shown.takes and self._has_begun(session, shown)):
            starts = self._age(session) < _STARTING_SECONDS
            drawn = not shown.takes and not shown.blank and shown.pastes is not False
            # One that is drawn still may become what is known; what is none of it stays as it is.
            quiet = time.monotonic() - (changed if starts else begun) > _KNOWN_SECONDS
            if (quiet if drawn else not starts) or not await self._drawn(session, shown):
                break
            before, shown = shown, await self.screens.look(session)
            changed = changed if shown is None or shown.text == before.text else time.monotonic()
        return shown

    def _has_begun(self, session: Session, shown: ScreenText) -> bool:
        """One that was told something at its start has taken that: before, a text would become part of it."""
        told = shown.told
        if session.told.get("by") not in _AT_START or self._age(session) >= _STARTING_SECONDS or told is None:
            return True
        return told.sign is not Sign.PROMPT or (told.turned and not told.typed)

    async def _settle(self, session: Session, pasted: _Pasted) -> str:
        """What stands in its input line, once the text is there and grows no more: Enter right behind a paste would be part of
        it. ACTIVE when the line is not there any more, as when a dialog opens, or never shows the text."""
        deadline = time.monotonic() + _ECHO_SECONDS
        seen: str | None = None
        while (shown := await self.screens.look(session)) is not None:
            late = time.monotonic() > deadline
            if shown.asks or (late and not shown.takes):
                raise await self._unsubmitted(session, shown)
            if shown.takes and seen == shown.line:
                return shown.line if _is_typed(shown) or pasted.is_of(shown.line) else ""
            if late:
                raise _unsure(session, shown)
            seen = shown.line if pasted.is_in(shown) else None
            if seen is not None:  # one that was slow to take it is as slow to be done with it: the pause begins here
                await asyncio.sleep(_PAUSE_SECONDS)
            elif not await self._drawn(session, shown):
                break
        return ""

    async def _left(self, session: Session, pasted: _Pasted) -> str:
        """What stands of the text in its input line, when Enter was pressed by an earlier call."""
        shown = await self.screens.look(session)
        if shown is None or not (pasted.is_it(shown.line) or _STANDS_FOR_PASTE.match(shown.line)):
            return ""
        return shown.line

    async def _press(self, session: Session, pasted: _Pasted, stood: str, key: str, type: Typing) -> None:
        """Enter, until its input line has another content. A program that is busy may take the key for a part of the paste, or
        lose it: then it is pressed again, which only submits the text that is seen there. One that takes both finds nothing to
        submit the second time."""
        shown: ScreenText | None = None
        for number, seconds in enumerate(_TAKEN_SECONDS):
            if not number or (shown is not None and pasted.stands(shown, stood)):
                await type(ENTER, f"{key}/enter{number or ''}")
            if not stood or (shown := await self._still(session, pasted, stood, seconds)) is None:
                return
        raise await self._unsubmitted(session, shown, "Enter did not submit it")

    async def _still(self, session: Session, pasted: _Pasted, stood: str, seconds: float) -> ScreenText | None:
        """Its screen, when what stood in its input line does so still after that time; None as soon as it does not, so that the
        next text is not taken for this one."""
        deadline = time.monotonic() + seconds
        while (shown := await self.screens.look(session)) is not None and not shown.asks:
            if not pasted.remains(shown, stood) or not await self._drawn(session, shown):
                return None
            if time.monotonic() > deadline:
                return shown
        return None

    async def _drawn(self, session: Session, shown: ScreenText) -> bool:
        """Wait a little for its screen to change; False when it has ended."""
        if shown.offset is None:  # nobody says when there is more of it
            await asyncio.sleep(_LOOK_SECONDS)
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                return await self._more(session.id, shown.offset)
        return True

    async def _answered(self, session: Session, shown: ScreenText | None, key: str) -> dict[str, Any]:
        """No text can be typed now. When all was typed before, that is what happened; else it is refused."""
        cursor = await self._typed_at(session, key)
        if cursor is None:
            raise await self._refused(session, shown)
        if not await self._was_typed(session, f"{key}/enter"):
            raise await self._unsubmitted(session, shown)
        return {"cursor": cursor, "size": 0, "repeated": True}

    async def _was_typed(self, session: Session, key: str) -> bool:
        return await self._typed_at(session, key) is not None

    async def _refused(self, session: Session, shown: ScreenText | None) -> ConflictError:
        if shown is not None and shown.asks:
            message = f"waits for {_what(shown)}; a text would answer that, and nothing was typed"
            return _conflict(session, shown, message, _keys(session, "read its question", "then send the text"))
        if shown is not None and shown.told is not None and shown.told.sign is Sign.WORKING:
            message = "is at work, and takes no text until its turn is over; nothing was typed"
            return _conflict(
                session, shown, message, Hint(Use("wait", session=session.name, until="idle"), ", then send the text")
            )
        newer = await self.screens.newer(session)
        message = f"shows no input line that is known; nothing was typed{f'. {newer}' if newer else ''}"
        return _conflict(session, shown, message, _keys(session, "see its screen", "then send the text"))

    async def _unsubmitted(self, session: Session, shown: ScreenText | None, now: str = "") -> ConflictError:
        if not now:
            now = f"it began to wait for {_what(shown)}" if shown and shown.asks else "its screen is another now"
        message = f"has the text in its input line, not submitted: {now}"
        return _conflict(
            session,
            shown,
            message,
            Hint("see to that first (", Use("attach", session=session.name), "), then ", _enter(session)),
        )


def _refuse_shell(session: Session, signs: ScreenPatterns, said: str) -> None:
    if signs.shell is not None and said.lstrip().startswith(signs.shell):
        raise InputError(
            Code.BAD_INPUT,
            f"{session.name} ({session.id}) would run a text that begins with {signs.shell} as a command of its user",
            Hint("begin with another word; to have it run, type it: ", Use("attach")),
        )


def _squeezed(text: str) -> str:
    """Without blanks: a line is broken where it is full."""
    return "".join(text.split())


def _unsure(session: Session, shown: ScreenText) -> ConflictError:
    message = "was given the text, does not show it in its input line, and nothing was submitted"
    return _conflict(
        session,
        shown,
        message,
        Hint(Use("read", session=session.name), " shows its screen; once the text is there, ", _enter(session)),
    )


def _is_typed(shown: ScreenText) -> bool:
    return shown.told is not None and shown.told.typed


def _what(shown: ScreenText | None) -> str:
    return shown.told.what if shown and shown.told else ""


def _keys(session: Session, first: str, last: str) -> Hint:
    name = session.name
    return Hint(
        first,
        " (",
        Use("read", session=name),
        "), answer with ",
        Use("attach", session=name),
        " or ",
        Use("send", session=name, text="KEYS", keys=True),
        ", ",
        last,
    )


def _enter(session: Session) -> Use:
    return Use("send", session=session.name, text="Enter", keys=True)


def _conflict(session: Session, shown: ScreenText | None, message: str, hint: Hint) -> ConflictError:
    told = shown.told if shown else None
    evidence = [told.words] if told else ["its screen is none that is known"]
    return ConflictError(
        Code.ACTIVE,
        f"{session.name} ({session.id}) {message}",
        hint,
        verdict=told.sign.value if told and told.sign is not Sign.PROMPT else Verdict.UNKNOWN.value,
        evidence=evidence,
        screen=shown.last_lines if shown else [],
    )
