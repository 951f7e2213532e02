"""Texts that are longer than they may be: cut, and said to be. Secrets are taken out before: half of one is not known for one."""

from __future__ import annotations

import asyncio
from dataclasses import field

from lamplighter.domain.text.redaction import redact
from lamplighter.lazy_dataclass import dataclass


@dataclass
class Cutting:
    """What was cut of the texts of one call, and what was taken out of those."""

    remarks: list[str] = field(default_factory=list[str])
    secrets: int = 0
    private: int = 0

    async def fit(self, name: str, text: str | None, most: int) -> str | None:
        """The text, or as much of it as there is room for."""
        if text is None or len(text) <= most:
            return text
        found = await asyncio.to_thread(redact, text)
        self.secrets += found.secrets
        self.private += found.private
        self.remarks.append(f"{name} was cut: the first {most:,} of {len(text):,} characters are kept")
        return found.text[:most]
