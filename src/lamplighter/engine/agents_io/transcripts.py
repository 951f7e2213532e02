"""A session's own transcript: where its agent keeps it, and what it says. Knows sessions; knows no agent's format."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable

from lamplighter import lazy_re as re
from lamplighter.agents.formats import transcript
from lamplighter.agents.formats.transcript import Transcript
from lamplighter.agents.formats.transcript_locator import Where
from lamplighter.domain.session import Session
from lamplighter.engine.core.deadline import answered
from lamplighter.holder import proc

_SECONDS = 4.0
_AGENT = re.compile(r"agent:[^:]+:(\d+)@(\d+)")


async def of_session(
    session: Session, until: float, named: str | None = None, *, followed: bool = False
) -> Transcript | None:
    """Where somebody says that it is, else where such an agent keeps it; but not when it was `followed`, which looks there
    too, and closer. None when there is none that can be read; TimeoutError when there is no answer."""
    named = named or session.conversation.get("path")
    form = session.transcript_form
    if named is None and (transcript.format_of(form) is None or (followed and not session.conversation)):
        return None

    def read() -> Transcript | None:
        path = named or transcript.find(form, where(session, until))
        return transcript.read(path) if path else None

    # A folder that hangs must not keep one of the few threads that everything else needs.
    return await asyncio.to_thread(answered, named or session.cwd, read, _SECONDS)


def where(session: Session, until: float, processes: Iterable[proc.Stat] = ()) -> Where:
    """`processes` are those of its tree: an agent may be behind a shell or a launcher."""
    begun = session.started_at or session.created_at
    places = session.facts.places
    starts = {session.main.pid: session.main.start} if session.main else {}
    starts |= {stat.pid: stat.start for stat in sorted(processes, key=lambda stat: (stat.start, stat.pid))}
    pids = tuple(starts)
    if told := _teller(session):
        begun = min(begun, proc.start_moment(told[1]))
        places, pids = proc.variables_of(told[0], transcript.variables()), (told[0],)
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
    if session.lease is None:
        return None
    found = _AGENT.fullmatch(session.owner)
    pid, start = session.facts.teller or ((int(found[1]), int(found[2])) if found else (0, 0))
    return (pid, start) if proc.is_alive(pid, start) else None
