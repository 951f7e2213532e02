"""What a terminal does by itself: it answers a program's questions when nobody is attached, and its screen is kept when the
log rolls over. Knows screens and lines."""

from __future__ import annotations

from lamplighter.engine.core.holder_client import RefusedError
from lamplighter.engine.core.registry import LiveSession
from lamplighter.engine.core.tasks import Tasks
from lamplighter.engine.output.output_reader import OutputReader
from lamplighter.errors import LampError


class TerminalReplies:
    def __init__(self, reading: OutputReader, tasks: Tasks) -> None:
        self.reading = reading
        self.tasks = tasks

    def answer(self, live: LiveSession, begin: int, end: int) -> None:
        """What its program asked in this part of its output."""
        self.tasks.begin(self._answer(live, begin, end), f"answer {live.session.id}")

    def keep_keyframe(self, live: LiveSession) -> None:
        """Its log has rolled over."""
        self.tasks.begin(self.reading.keep_keyframe(live.session), f"keyframe of {live.session.id}")

    async def _answer(self, live: LiveSession, begin: int, end: int) -> None:
        """As a terminal would; a program that asks for the cursor and hears nothing may refuse to start."""
        data = await self.reading.replies(live.session, begin, end)
        line = live.line
        if data and line is not None:
            try:
                await line.answer(data)
            except (LampError, RefusedError):
                return  # it ended before it was answered
