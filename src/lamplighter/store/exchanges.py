"""Queries about talks over ACP: how far each has come."""

from __future__ import annotations

import json
import sqlite3

from lamplighter.domain.memory.exchange import Exchange


def get(db: sqlite3.Connection, session: str) -> Exchange | None:
    row = db.execute("SELECT document FROM exchanges WHERE session = ?", (session,)).fetchone()
    return Exchange.from_document(json.loads(row["document"])) if row else None


def save(db: sqlite3.Connection, session: str, exchange: Exchange) -> None:
    db.execute("INSERT OR REPLACE INTO exchanges VALUES (?, ?)", (session, json.dumps(exchange.document())))


def forget_ended(db: sqlite3.Connection) -> None:
    """Those whose session is over: there is nothing left to go on with."""
    db.execute("DELETE FROM exchanges WHERE session NOT IN (SELECT id FROM sessions WHERE state <> 'ended')")
