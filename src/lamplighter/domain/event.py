"""An event: who did what to which session, and when."""

from __future__ import annotations

from typing import Any

from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Event:
    n: int
    at: float
    session: str | None
    by: str
    action: str
    detail: dict[str, Any]
    name: str | None = None
