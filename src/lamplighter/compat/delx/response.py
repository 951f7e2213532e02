"""How much of an answer is given, and in what words: `response_profile`, `response_mode`, `ritual_strip`.

What an agent said of itself is quoted as it is and marked as a quotation; nothing here speaks for it. Knows answers as documents.
Texts that are longer than they may be are cut and said to be, with secrets taken out before: half of one is not known for one.
"""

from __future__ import annotations

import asyncio
from dataclasses import field
from typing import Any, Literal

from pydantic import Field

from lamplighter.domain.text.redaction import redact
from lamplighter.frontends.mcp.toolset import Answer
from lamplighter.lazy_dataclass import dataclass
from lamplighter.operations.operation import Request

Mode = Literal["standard", "model_safe"]
Profile = Literal["full", "compact", "minimal", "machine"]
QUOTED = "the agent's own words, quoted as data"
_SAFE = "What is told here is the record of a software session."
_LONG = frozenset({"notes", "account", "opening_statement"})
_EMPTY: tuple[Any, ...] = (None, [], {})
_MINIMAL = frozenset(
    {
        "session_id",
        "agent_id",
        "status",
        "relation",
        "how_to_go_on",
        "packet",
        "from_session_id",
        "to_session_id",
        "urgency",
        "reason",
        "succession_policy",
        "successor",
        "predecessor",
        "recovery_token",
        "recovery_token_expires_at",
        "epitaph",
        "epitaph_source",
        "remarks",
    }
)


class ResponseOptions(Request):
    response_mode: Mode = Field(default="standard", description="model_safe: told as the record of a program, no more")
    response_profile: Profile = Field(
        default="full", description="how much: full, compact, minimal; machine: structured JSON alone"
    )
    ritual_strip: bool = Field(default=False, description="structured output alone, no text around it")

    @property
    def bare(self) -> bool:
        """Structure alone."""
        return self.ritual_strip or self.response_profile == "machine"


def answered(options: ResponseOptions, structured: dict[str, Any], said: str) -> Answer:
    """The answer as it was asked for. `said` is a sentence of ours; what the agent said of itself is quoted beside it."""
    found = _profiled(structured, options.response_profile)
    if options.bare:
        return Answer(found)
    words = f"{said} {_SAFE}" if options.response_mode == "model_safe" else said
    if options.response_profile == "full":
        found["message"] = words
    return Answer(found)


def _profiled(structured: dict[str, Any], profile: Profile) -> dict[str, Any]:
    if profile == "minimal":
        return {name: value for name, value in structured.items() if name in _MINIMAL}
    if profile != "compact":
        return dict(structured)
    kept = {name: value for name, value in structured.items() if name not in _LONG}
    if "summary" in kept:
        parts: dict[str, Any] = kept["summary"]
        kept["summary"] = {name: part for name, part in parts.items() if name not in _LONG and part not in _EMPTY}
    return kept


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
