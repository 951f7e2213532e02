"""What a terminal does by itself: it answers a program's questions when nobody is attached, and its screen is kept when the
log rolls over. Knows screens and lines."""

from __future__ import annotations

from typing import Any

from lamplighter.errors import LampError
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.talk.reading import Reading
from lamplighter.lifecycle.tasks import Tasks
from lamplighter.lifecycle.watch import Watch
from lamplighter.line import RefusedError


class Terminals:
    def __init__(self, fleet: Fleet, reading: Reading, tasks: Tasks, watch: Watch) -> None:
        self.fleet = fleet
        self.reading = reading
        self.tasks = tasks
        watch.on_query = self._query
        watch.on_rolled = self._rolled

    def _query(self, lamp: Lamp, event: dict[str, Any]) -> None:
        self.tasks.begin(self._answer(lamp, event["from"], event["offset"]), f"answer {lamp.session.id}")

    def _rolled(self, lamp: Lamp) -> None:
        self.tasks.begin(self.reading.keep_keyframe(lamp.session), f"keyframe of {lamp.session.id}")

    async def _answer(self, lamp: Lamp, begin: int, end: int) -> None:
        """As a terminal would; a program that asks for the cursor and hears nothing may refuse to start."""
        data = await self.reading.replies(lamp.session, begin, end)
        line = lamp.line
        if data and line is not None:
            try:
                await line.answer(data)
            except (LampError, RefusedError):
                return  # it ended before it was answered
