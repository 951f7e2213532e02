"""Keeping the logs of ended sessions for so long and so much, and no more. The sessions themselves stay in the store."""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import Any

from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.store import sessions

_DAY = 86400.0
_ALL = 10_000_000


class Archive:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry

    async def prune(self, *, apply: bool, by: Caller) -> dict[str, Any]:
        """What is past the limits: too old first, then the oldest until the rest fits."""
        ended = await self.registry.store.read(lambda db: sessions.newest_ended(db, _ALL))
        rows = await asyncio.to_thread(self._due, ended)
        if apply:
            await asyncio.to_thread(self._remove, [row["id"] for row in rows])
            if rows:
                await self.registry.note(None, by, "prune", sessions=len(rows), bytes=sum(row["bytes"] for row in rows))
        return {
            "sessions": rows,
            "bytes": sum(row["bytes"] for row in rows),
            "applied": apply,
            "kept_days": int(self.registry.settings.keep_days),
            "kept_bytes": self.registry.settings.keep_bytes,
        }

    def _due(self, ended: list[Session]) -> list[dict[str, Any]]:
        settings, now = self.registry.settings, self.registry.clock.now()
        kept, rows = 0, list[dict[str, Any]]()
        for session in reversed(ended):  # newest first: what fits is kept
            size = _size(self.registry.folder(session.id))
            if size is None:
                continue
            old = now - (session.ended_at or now) > settings.keep_days * _DAY
            if session.discarded or old or kept + size > settings.keep_bytes:
                why = f"older than {settings.keep_days:g} days" if old else f"past {settings.keep_bytes} bytes"
                why = "nothing of it was to be kept" if session.discarded else why
                rows.append(
                    {"id": session.id, "name": session.name, "ended_at": session.ended_at, "bytes": size, "why": why}
                )
            else:
                kept += size
        return rows[::-1]

    def _remove(self, identifiers: list[str]) -> None:
        for identifier in identifiers:
            shutil.rmtree(self.registry.folder(identifier), ignore_errors=True)


def _size(folder: str) -> int | None:
    """Bytes on disk; None when it is gone already."""
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    except FileNotFoundError:
        return None
