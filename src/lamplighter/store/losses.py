"""What became of the store: each loss with what it cost, kept in the store that came after it; and what is void from then on.

A store that was restored, or begun anew where there had been one, is a new epoch: whatever was granted before may have been taken
back since the snapshot, and whatever was called for may have happened.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from dataclasses import asdict
from typing import Any

from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import events, plans

SHOWN_SECONDS = 7 * 86400.0
_MOST = 20
_BEGINNING = 1_767_225_600  # 2026-01-01: no host has written an event a millisecond since
_AHEAD = 1_000_000  # more than are written between two snapshots
_NAME = "%Y%m%d-%H%M%S"


@dataclass(frozen=True)
class Loss:
    """`kept` is the folder in which the files were put aside, `restored` the time of the snapshot that took their place, if there
    was one. `harmless`: they were written anew from the open connection, and nothing was lost."""

    at: float
    why: str
    kept: str
    restored: float | None = None
    harmless: bool = False

    @staticmethod
    def now(why: str, restored: float | None) -> Loss:
        return Loss(time.time(), why, _name(), restored)

    @staticmethod
    def without_loss(why: str) -> Loss:
        return Loss(time.time(), why, _name(), harmless=True)


@dataclass(frozen=True)
class Epoch:
    """`number` counts the losses; `at` and `boottime` say when the last one was, `boot` in which boot of the machine."""

    number: int = 0
    at: float = 0.0
    boottime: float = 0.0
    boot: str = ""


def note(db: sqlite3.Connection, loss: Loss) -> None:
    """Keep it where the doctor finds it, with its event."""
    told = [*_documents(db, "losses"), asdict(loss)][-_MOST:]
    db.execute("INSERT OR REPLACE INTO meta VALUES ('losses', ?)", (json.dumps(told),))
    action = "store made again" if loss.harmless else "store lost"
    detail = {name: value for name, value in asdict(loss).items() if name not in ("at", "harmless")}
    events.append(db, loss.at, None, "lamplighter", action, **detail)


def begin_epoch(db: sqlite3.Connection, loss: Loss, boot: str) -> None:
    """What the store held of rights is void; numbers go on above all that anybody may have seen."""
    number = epoch(db).number + 1
    began = Epoch(number, loss.at, time.clock_gettime(time.CLOCK_BOOTTIME), boot)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('epoch', ?)", (json.dumps(asdict(began)),))
    db.execute("UPDATE tokens SET revoked_at = ? WHERE revoked_at IS NULL", (loss.at,))
    for table in ("logins", "approvals", "recoveries"):
        db.execute(f"DELETE FROM {table}")
    plans.give_up(db)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('enrolment', 'due')")
    seen = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
    # By the clock, because two losses may restore the same snapshot; above it, when the clock was set back.
    before, last = seen[0] if seen else 0, int((loss.at - _BEGINNING) * 1000)
    last = last if last > before else before + _AHEAD
    if seen is None:
        db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)", (last,))
    else:
        db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'", (last,))


def enrolment_is_due(db: sqlite3.Connection) -> bool:
    """Whether what lives has still to be written down again."""
    return db.execute("SELECT 1 FROM meta WHERE name = 'enrolment'").fetchone() is not None


def enrolled(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM meta WHERE name = 'enrolment'")


def epoch(db: sqlite3.Connection) -> Epoch:
    row = db.execute("SELECT value FROM meta WHERE name = 'epoch'").fetchone()
    return Epoch(**json.loads(row[0])) if row else Epoch()


def all_losses(db: sqlite3.Connection) -> list[Loss]:
    return [Loss(**document) for document in _documents(db, "losses")]


def _documents(db: sqlite3.Connection, name: str) -> list[dict[str, Any]]:
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return list(json.loads(row[0])) if row else []


def _name() -> str:
    return f"{time.strftime(_NAME, time.gmtime())}-{os.urandom(2).hex()}"
