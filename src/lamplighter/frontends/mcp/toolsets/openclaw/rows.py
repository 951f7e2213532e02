"""Sessions as openclaw shows them, within so many bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lamplighter.domain.ending import How
from lamplighter.domain.selection import Seen, parse_selection
from lamplighter.domain.session import Session
from lamplighter.frontends.mcp.conversation import Conversation
from lamplighter.frontends.mcp.toolsets.openclaw.keys import keys_of, kind_of, label_of
from lamplighter.store import sessions

SHOWN_SECONDS = 86400.0
"""How long an ended session is in the lists, unless somebody takes it out."""
_MOST_ENDED = 2000
_MINE = parse_selection("mine")


@dataclass(frozen=True)
class Entry:
    """One session of the lists. `quiet` is how many seconds ago it last did something."""

    session: Session
    key: str
    quiet: float
    verdict: str
    mine: bool


async def entries(conversation: Conversation) -> list[Entry]:
    """The living, and those that ended by themselves of late and nobody has taken out since. The newest first."""
    app = conversation.app
    listed = (await conversation.operate("list_sessions"))["sessions"]
    views = {view["id"]: view for view in listed}
    now = app.clock.now()
    ended = await app.store.read(lambda db: sessions.ended_since(db, now - SHOWN_SECONDS, _MOST_ENDED))
    over = [session for session in ended if not _was_removed(session)]
    living = [app.fleet.lamps[name].session for name in views if name in app.fleet.lamps]
    found = {session.id: session for session in (*over, *living)}
    keys = await keys_of(app, found.values())
    chosen = [session for session in found.values() if session.alive or not keys[session.id][1]]
    chosen.sort(key=lambda session: session.id, reverse=True)
    return [_entry(conversation, one, keys[one.id][0], views.get(one.id), now) for one in chosen]


def _was_removed(session: Session) -> bool:
    """Somebody ended it, so it is gone; or nothing of it was to be kept."""
    return session.discarded or (session.intent is not None and session.intent.by not in ("patrol", "lamplighter"))


def _entry(conversation: Conversation, session: Session, key: str, view: dict[str, Any] | None, now: float) -> Entry:
    quiet = view["quiet_for"] if view and session.alive else now - (session.ended_at or now)
    verdict = view["verdict"] if view and session.alive else "ended"
    mine = _MINE.matches(Seen(session), conversation.caller, {})
    return Entry(session, key, max(0.0, quiet), verdict, mine)


def status_of(session: Session) -> str:
    """running or ending; of one that has ended how: done, failed, killed, timeout, lost."""
    if session.ending is None:
        return "ending" if session.intent else "running"
    if session.ending.how is How.LOST:
        return "lost"
    if session.intent is not None:
        return "timeout" if session.intent.by == "patrol" else "killed"
    exit = session.ending.exit
    return "done" if exit is not None and exit.code == 0 else "failed"


def row(entry: Entry, parents: dict[str, str], now: float) -> dict[str, Any]:
    session = entry.session
    found: dict[str, Any] = {
        "key": entry.key,
        "kind": kind_of(session),
        "label": label_of(session),
        "displayName": session.name,
        "sessionId": session.id,
        "agentId": session.agent,
        "status": status_of(session),
        "verdict": entry.verdict,
        "mine": entry.mine,
        "spawnedBy": parents.get(session.parent or ""),
        "updatedAt": int((now - entry.quiet) * 1000),
        "startedAt": milliseconds(session.started_at),
        "endedAt": milliseconds(session.ended_at),
    }
    return {name: value for name, value in found.items() if value is not None}


def milliseconds(at: float | str | None) -> int | None:
    """openclaw's times: milliseconds since 1970."""
    if at is None or at == "":
        return None
    return int((datetime.fromisoformat(at).timestamp() if isinstance(at, str) else at) * 1000)


def size_of(document: Any) -> int:
    """Bytes as JSON, however it is written."""
    return len(json.dumps(document))


def fitting(items: Sequence[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """As many from the beginning as fit."""
    for number, item in enumerate(items):
        room -= size_of(item) + 2
        if room < 0:
            return list(items[:number])
    return list(items)
