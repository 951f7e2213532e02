"""Talking to a session whose terminal is not ours but tmux's: typed through a buffer, read as tmux draws it.

Knows tmux's commands; there is no log of such a session, and what needs one is refused.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Coroutine
from typing import Any

from lamplighter.domain.session import Session
from lamplighter.engine.backends.tmux.server import TmuxError, TmuxServer
from lamplighter.errors import Code, ConflictError, Hint, UnavailableError, Use
from lamplighter.holder import proc

_FACTS = "#{pane_height} #{pane_width} #{cursor_x} #{cursor_y} #{pane_title}"


class ForeignTerminals:
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
                Hint(Use("read", session=session.name), f" shows its screen; {attach_command(session)} to be at it"),
            )
        if not session.alive:
            raise ConflictError(
                Code.ENDED,
                f"{session.name} ({session.id}) has ended; it was adopted, so its output was never kept",
                Hint(Use("show"), " says how it ended"),
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

    def refuse_attaching(self, session: Session) -> ConflictError:
        """NOT_ATTACHABLE, with the way that there is."""
        return ConflictError(
            Code.NOT_ATTACHABLE,
            f"{session.name} ({session.id}) was adopted: its terminal is tmux's, and lamp attach cannot be at it",
            f"{attach_command(session)} to be at it",
        )

    async def _run(self, session: Session, *arguments: str, given: bytes = b"") -> str:
        return await self._answer(session, _server(session).run(*arguments, given=given))

    async def _answer(self, session: Session, asked: Coroutine[Any, Any, str]) -> str:
        if not proc.is_alive(*session.place.get("server", (0, 0))):  # another one may be at the same socket by now
            asked.close()
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                f"the tmux server of {session.name} is gone",
                Hint(Use("show", session=session.id), " says more"),
            )
        try:
            return await asked
        except TmuxError as error:
            raise UnavailableError(
                Code.HOLDER_UNREACHABLE,
                f"the tmux of {session.name} says: {error}",
                Hint(Use("show", session=session.id), " says more"),
            ) from None


def _server(session: Session) -> TmuxServer:
    return TmuxServer(session.place.get("socket", ""))


def attach_command(session: Session) -> str:
    socket, name = session.place.get("socket", ""), session.place.get("session", "")
    return f"tmux -S {shlex.quote(socket)} attach -t {shlex.quote('=' + name)}"


def _word(key: str) -> str:
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()[:32]


def _target(session: Session) -> str:
    """The active pane of its current window, by the number that no rename changes."""
    return f"{session.place.get('id')}:"


def _right(session: Session) -> str:
    """True on the server that it was adopted on: one that was started again counts from 0 again."""
    return f"#{{==:#{{pid}},{session.place.get('server', [0])[0]}}}"
