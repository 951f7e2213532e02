"""A session's own transcript: where its agent keeps it, and what it says. Knows sessions; knows no agent's format."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable

from lamplighter.agents import transcript
from lamplighter.agents.transcript import Transcript
from lamplighter.agents.whereabouts import Where
from lamplighter.domain.session import Driver, Session
from lamplighter.holder import proc
from lamplighter.lifecycle.continuity.answering import answered

ACP = "acp"
_SECONDS = 4.0
_AGENT = re.compile(r"agent:[^:]+:(\d+)@(\d+)")


def form_of(session: Session) -> str:
    """Whose form its transcript has: its agent's own; over ACP ours, which is the same for every agent."""
    return ACP if session.driver is Driver.ACP else session.agent


async def of_session(
    session: Session, until: float, named: str | None = None, *, followed: bool = False
) -> Transcript | None:
    """Where somebody says that it is, else where such an agent keeps it; but not when it was `followed`, which looks there
    too, and closer. None when there is none that can be read; TimeoutError when there is no answer."""
    named = named or session.conversation.get("path")
    form = form_of(session)
    if named is None and (form not in transcript.READERS or (followed and not session.conversation)):
        return None

    def read() -> Transcript | None:
        path = named or transcript.find(form, where(session, until))
        return transcript.read(path) if path else None

    # A folder that hangs must not keep one of the few threads that everything else needs.
    return await asyncio.to_thread(answered, named or session.cwd, read, _SECONDS)


def where(session: Session, until: float, processes: Iterable[proc.Stat] = ()) -> Where:
    """`processes` are those of its tree: an agent may be behind a shell or a launcher."""
    begun = session.started_at or session.created_at
    places: dict[str, str] = session.facts.get("places", {})
    starts = {session.main.pid: session.main.start} if session.main else {}
    starts |= {stat.pid: stat.start for stat in sorted(processes, key=lambda stat: (stat.start, stat.pid))}
    pids = tuple(starts)
    if told := _teller(session):
        begun = min(begun, proc.start_moment(told[1]))
        places, pids = proc.variables_of(told[0], transcript.VARIABLES), (told[0],)
    return Where(
        home=os.path.expanduser("~"),
        cwd=session.cwd,
        started_at=begun,
        ended_at=until,
        command=session.command,
        environment=places,
        pids=pids,
        starts=starts,
        conversation=session.conversation.get("id"),
    )


def _teller(session: Session) -> tuple[int, int] | None:
    """The agent's process behind a session that it only tells of, while it lives: its conversation is older than that."""
    if not session.logical:
        return None
    found = _AGENT.fullmatch(session.owner)
    pid, start = session.facts.get("teller") or ((int(found[1]), int(found[2])) if found else (0, 0))
    return (pid, start) if proc.is_alive(pid, start) else None
