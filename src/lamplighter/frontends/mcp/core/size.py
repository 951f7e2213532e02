"""How large a result may be. Agents pay for every byte that they read, so lists are cut, and what was left out is counted."""

from __future__ import annotations

import json
from typing import Any

LIST_BYTES = 16_000


def fitting(rows: list[dict[str, Any]], room: int = LIST_BYTES) -> list[dict[str, Any]]:
    """The first rows that fit, at least one."""
    used = 0
    for count, row in enumerate(rows):
        used += len(json.dumps(row, ensure_ascii=False).encode())
        if used > room and count:
            return rows[:count]
    return rows


def cut(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
