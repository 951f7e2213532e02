"""An event: who did what to which session, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    n: int
    at: float
    session: str | None
    by: str
    action: str
    detail: dict[str, Any]
    name: str | None = None
