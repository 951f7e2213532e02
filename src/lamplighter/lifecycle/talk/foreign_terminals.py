"""Talking to a session whose terminal is not ours but tmux's: typed through a buffer, read as tmux draws it.

Knows tmux's commands; there is no log of such a session, and what needs one is refused.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Coroutine
from typing import Any

from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.drivers.terminal import TerminalDriver
from lamplighter.drivers.tmux_server import Server, TmuxError
from lamplighter.errors import Code, ConflictError, UnavailableError
from lamplighter.holder import proc
from lamplighter.lifecycle.fleet import Fleet

_FACTS = "#{pane_height} #{pane_width} #{cursor_x} #{cursor_y} #{pane_title}"


class ForeignTerminals:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    async def send(
        self, session: Session, text: str, *, keys: bool, enter: bool, by: Caller, key: str
    ) -> dict[str, Any]:
        """Into the pane that a person at it would type into."""
        data = TerminalDriver().encode(text, keys=keys, enter=enter)
        await self.type(session, data, key)
        await self.fleet.note(session.id, by, "send", size=len(data), keys=keys)
        return {"id": session.id, "size": len(data), "cursor": 0}

    async def type(self, session: Session, data: bytes, key: str, *, before: str | None = None) -> None:
        """tmux itself remembers the last key, so that nothing is typed twice; `before`: nor after what went under that key."""
        if data:
            word = _word(key)
            buffer, pane = f"lamplighter-{word}", f"-t '{_target(session)}'"
            fresh = f"#{{&&:{_right(session)},#{{!=:#{{@lamplighter_sent}},{word}}}}}"
            if before is not None:
                fresh = f"#{{&&:{fresh},#{{!=:#{{@lamplighter_sent}},{_word(before)}}}}}"
            flags = await self._answer(session, _server(session).pasting(_target(session)))
            paste = f"paste-buffer {flags} -b {buffer} {pane} ; set-option -p {pane} @lamplighter_sent {word}"
            loading = ("load-buffer", "-b", buffer, "-")
            choosing = ("if-shell", "-F", "-t", _target(session), fresh, paste)
            await self._run(session, *loading, ";", *choosing, ";", "delete-buffer", "-b", buffer, given=data)

    async def was_typed(self, session: Session, key: str) -> bool:
        """Whether this was the last that was typed here."""
        sent = await self._run(session, "display-message", "-p", "-t", _target(session), "#{@lamplighter_sent}")
        return sent.strip() == _word(key)

    async def screen(self, session: Session, mode: str, lines: int | None, *, follow: bool) -> dict[str, Any]:
        if mode != "screen" or follow:
            raise ConflictError(
                Code.NOT_ATTACHABLE,
                f"{session.name} ({session.id}) was adopted: its terminal is tmux's, and there is no log of its output",
                f"lamp read {session.name} shows its screen; {attach_command(session)} to be at it",
            )
        if not session.alive:
            raise ConflictError(
                Code.ENDED,
                f"{session.name} ({session.id}) has ended; it was adopted, so its output was never kept",
                "lamp show says how it ended",
            )
        target = _target(session)
        text = await self._run(
            session, "display-message", "-p", "-t", target, _FACTS, ";", "capture-pane", "-p", "-t", target
        )
        facts, _, screen = text.partition("\n")
        rows, cols, x, y, title = (facts.split(" ", 4) + [""] * 5)[:5]
        shown = screen.rstrip("\n").split("\n")
        return {
            "id": session.id,
            "mode": "screen",
            "text": "".join(f"{line}\n" for line in (shown[-lines:] if lines else shown)),
            "cursor": 0,
            "more": False,
            "lost": 0,
            "rows": int(rows or 0),
            "cols": int(cols or 0),
            "at": [int(x or 0), int(y or 0)],
            "title": title or None,
        }

    def refuse(self, session: Session, what: str) -> ConflictError:
        """NOT_ATTACHABLE, with the way that there is."""
        return ConflictError(
            Code.NOT_ATTACHABLE,
            f"{session.name} ({session.id}) was adopted: its terminal is tmux's, and {what}",
            f"{attach_command(session)} to be at it",
        )

    async def _run(self, session: Session, *arguments: str, given: bytes = b"") -> str:
        return await self._answer(session, _server(session).run(*arguments, given=given))

    async def _answer(self, session: Session, asked: Coroutine[Any, Any, str]) -> str:
        if not proc.is_alive(*session.facts["tmux"]["server"]):  # another one may be at the same socket by now
            asked.close()
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                f"the tmux server of {session.name} is gone",
                f"lamp show {session.id} says more",
            )
        try:
            return await asked
        except TmuxError as error:
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                f"the tmux of {session.name} says: {error}",
                f"lamp show {session.id} says more",
            ) from None


def _server(session: Session) -> Server:
    return Server(session.facts["tmux"]["socket"])


def attach_command(session: Session) -> str:
    tmux = session.facts["tmux"]
    return f"tmux -S {shlex.quote(tmux['socket'])} attach -t {shlex.quote('=' + tmux['session'])}"


def _word(key: str) -> str:
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()[:32]


def _target(session: Session) -> str:
    """The active pane of its current window, by the number that no rename changes."""
    return f"{session.facts['tmux']['id']}:"


def _right(session: Session) -> str:
    """True on the server that it was adopted on: one that was started again counts from 0 again."""
    return f"#{{==:#{{pid}},{session.facts['tmux']['server'][0]}}}"
