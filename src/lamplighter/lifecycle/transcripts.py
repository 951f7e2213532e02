"""A session's own transcript: where its agent keeps it, and what it says. Knows sessions; knows no agent's format."""

from __future__ import annotations

import asyncio
import os

from lamplighter.agents import transcript
from lamplighter.agents.transcript import Transcript, Where
from lamplighter.domain.session import Session


async def of_session(session: Session, until: float, named: str | None = None) -> Transcript | None:
    """Where somebody says that it is, else where such an agent keeps it. None when there is none that can be read."""
    if named is None and session.agent not in transcript.READERS:
        return None

    def read() -> Transcript | None:
        path = named or transcript.find(session.agent, where(session, until))
        return transcript.read(path) if path else None

    return await asyncio.to_thread(read)


def where(session: Session, until: float) -> Where:
    return Where(
        home=os.path.expanduser("~"),
        cwd=session.cwd,
        started_at=session.started_at or session.created_at,
        ended_at=until,
        command=session.command,
        environment=session.facts.get("places", {}),
        pids=(session.main.pid,) if session.main else (),
    )
