"""How long a session may be quiet or live, and how much memory its tree may take. Knows no clock."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes; None where there is none."""

    idle: float | None = None
    age: float | None = None
    memory: int | None = None

    def document(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Limits:
        return Limits(**document)


NO_LIMITS = Limits()
