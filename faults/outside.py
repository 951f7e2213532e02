"""What the files say, read by ourselves: the store, the logs, what commands wrote of themselves.

Imports nothing of the product.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_HEADER = struct.Struct("<BBHIQd")
_OUTPUT, _GAP = 1, 4


@dataclass
class Facts:
    """What was found, for the invariants to judge."""

    sessions: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    keys: dict[str, int] = field(default_factory=dict[str, int])  # how many sessions have this key
    events: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])  # number, session, action
    records: dict[str, int] = field(default_factory=dict[str, int])
    handoffs: list[tuple[str, str, str]] = field(
        default_factory=list[tuple[str, str, str]]
    )  # session, source, document
    witnesses: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    outputs: dict[str, Output] = field(default_factory=dict[str, "Output"])
    living: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])  # by nonce


@dataclass(frozen=True)
class Output:
    """`lost` is what gaps say; `jumps` are places where the offset moves on without a word."""

    text: bytes
    lost: int
    jumps: int


def read_store(path: str) -> Facts:
    """sqlite3.Error when it cannot be read."""
    facts = Facts()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as db:
        db.row_factory = sqlite3.Row
        for row in db.execute("SELECT id, key, state, name, ending, exit FROM sessions"):
            ending = json.loads(row["ending"]) if row["ending"] else None
            facts.sessions[row["id"]] = {**dict(row), "ending": ending}
            facts.keys[row["key"]] = facts.keys.get(row["key"], 0) + 1
        facts.events = [
            tuple(row) for row in db.execute("SELECT n, coalesce(session, ''), action FROM events ORDER BY n")
        ]
        for row in db.execute("SELECT content, count(*) AS times FROM records WHERE state = 'active' GROUP BY content"):
            facts.records[row["content"]] = row["times"]
        facts.handoffs = [tuple(row) for row in db.execute("SELECT session, source, document FROM handoffs")]
    return facts


def read_log(folder: Path) -> Output:
    """All that is in a session's log, by its frames."""
    text, lost, jumps, at = bytearray(), 0, 0, 0
    for path in sorted(folder.glob("log-*")):
        for kind, offset, payload in _frames(path.read_bytes()):
            if offset > at:
                jumps, at = jumps + 1, offset
            if kind == _OUTPUT:
                text += payload
                at += len(payload)
            elif kind == _GAP:
                gone = int(json.loads(payload)["lost"])
                lost += gone
                at += gone
    return Output(bytes(text), lost, jumps)


def _frames(block: bytes) -> list[tuple[int, int, bytes]]:
    found: list[tuple[int, int, bytes]] = []
    position = 0
    while position + _HEADER.size <= len(block):
        kind, _, _, length, offset, _ = _HEADER.unpack_from(block, position)
        position += _HEADER.size + length
        if not kind or position > len(block):
            break  # a torn tail
        found.append((kind, offset, block[position - length : position]))
    return found


def read_witness(path: Path) -> list[str]:
    try:
        return path.read_text().split("\n")[:-1]
    except FileNotFoundError:
        return []
