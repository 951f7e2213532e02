"""Sessions as openclaw shows them, within so many bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lamplighter.compat.openclaw.operations import KeyedSession, KeyedSessions, ListedSession
from lamplighter.frontends.mcp.tool_context import ToolContext


async def listed(conversation: ToolContext, **wanted: Any) -> KeyedSessions:
    return KeyedSessions.model_validate(await conversation.operate("list_openclaw_sessions", **wanted))


async def found(conversation: ToolContext, word: str) -> KeyedSession:
    return KeyedSession.model_validate(await conversation.operate("find_openclaw_session", word=word))


def row(session: ListedSession) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "key": session.key,
        "kind": session.kind,
        "label": session.label,
        "displayName": session.name,
        "sessionId": session.id,
        "agentId": session.agent,
        "status": session.status,
        "verdict": session.verdict,
        "mine": session.mine,
        "spawnedBy": session.parent,
        "updatedAt": int(session.updated_at * 1000),
        "startedAt": milliseconds(session.started_at),
        "endedAt": milliseconds(session.ended_at),
    }
    return {name: value for name, value in shown.items() if value is not None}


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
