"""The core's resources: session://{id}, one session in full, and session://{id}/output, what it shows or printed last."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from lamplighter.engine.core.tasks import first_of
from lamplighter.errors import Code, LampError, MissingError
from lamplighter.frontends.mcp.core.sessions import detailed
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Resource

if TYPE_CHECKING:
    from lamplighter.app import App

_SCHEME = "session://"
_OUTPUT = "/output"
_PAUSE_SECONDS = 0.25  # what prints without end is told of four times a second at most
_LINES = 200
_BYTES = 64_000


class SessionResources:
    templates = (
        Resource(_SCHEME + "{id}", "session", "One session", "Verdict, evidence, processes, limits, ending"),
        Resource(
            _SCHEME + "{id}" + _OUTPUT,
            "output",
            "A session's output",
            "Its screen, or the end of its log",
            "text/plain",
        ),
    )

    def __init__(self, app: App) -> None:
        self.app = app

    async def list(self, conversation: ToolContext) -> list[Resource]:
        found = await conversation.operate("list_sessions", selection="")
        return [
            Resource(_SCHEME + row["id"], row["name"], row["name"], f"{row['kind']} session, {row['verdict']}")
            for row in found["sessions"]
        ]

    async def read(self, conversation: ToolContext, uri: str) -> tuple[str, str]:
        session, output = _parse(uri)
        if output:
            found = await conversation.operate(
                "read_output", session=session, mode="screen", lines=_LINES, limit=_BYTES
            )
            return "text/plain", found["text"]
        found = await conversation.operate("get_session", session=session)
        return "application/json", json.dumps(detailed(found), ensure_ascii=False)

    async def changes(self, uri: str) -> AsyncIterator[None]:
        try:
            word, output = _parse(uri)
            session = (await self.app.registry.find(word)).id
        except LampError:
            return  # a subscription to what is not there is kept, and never fires
        seen, changed = self._printed(session), None
        while (live := self.app.registry.live_sessions.get(session)) is not None:
            if output:
                await self.app.session_io.more(session, seen)
            else:
                await first_of(changed or live.changed, live.ended)
            # Before it is told: what comes while it is told, and in the pause after it, is told of next.
            seen, changed = self._printed(session), live.changed
            yield None
            if live.ended.is_set():
                return
            await asyncio.sleep(_PAUSE_SECONDS)

    def _printed(self, session: str) -> int:
        meter = self.app.registry.reading(session)
        return meter.offset if meter else 0

    async def list_changes(self) -> AsyncIterator[None]:
        known = set(self.app.registry.live_sessions)
        while True:
            await self.app.registry.news.wait()
            now = set(self.app.registry.live_sessions)
            if now != known:
                known = now
                yield None


def _parse(uri: str) -> tuple[str, bool]:
    """The session that an address names, and whether its output is meant."""
    word = uri.removeprefix(_SCHEME)
    output = word.endswith(_OUTPUT)
    session = word.removesuffix(_OUTPUT)
    if not uri.startswith(_SCHEME) or not session.isalnum():
        raise MissingError(
            Code.NOT_FOUND, f"there is nothing at {uri[:80]!a}", "use session://ID or session://ID/output"
        )
    return session, output
