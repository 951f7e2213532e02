"""Agents that can be spoken to over the Agent Client Protocol: what each is started with, and how it behaves there.

Knows no agent: each one's module does, and is imported on use. Also: our own record of such a conversation, as a transcript.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from lamplighter.agents.conversation import (
    ASSISTANT,
    USER,
    Began,
    Finished,
    Named,
    Planned,
    Said,
    Step,
    Stopped,
    Used,
)
from lamplighter.agents.transcript import Format


@dataclass(frozen=True, slots=True)
class Structured:
    """`command` starts it. `heeds_eof`: it leaves when its input ends. `logins`: by which of its ways it may be logged in to
    when a variable is set, by the variable. `untested`: never tried with the program itself."""

    command: tuple[str, ...]
    heeds_eof: bool = True
    logins: Mapping[str, str] = field(default_factory=dict[str, str])
    untested: bool = False


STRUCTURED: dict[str, str] = {
    "claude": "lamplighter.agents.claude:ACP",
    "codex": "lamplighter.agents.codex:ACP",
    "gemini": "lamplighter.agents.gemini:ACP",
    "opencode": "lamplighter.agents.opencode:ACP",
    "kiro": "lamplighter.agents.kiro:ACP",
}


def structured(agent: str) -> Structured | None:
    if agent not in STRUCTURED:
        return None
    module, _, attribute = STRUCTURED[agent].partition(":")
    return getattr(import_module(module), attribute)


def speaker(command: Sequence[str]) -> str | None:
    """Which agent a command that speaks ACP is of, by the program's name."""
    names = {os.path.basename(word).removesuffix(".js") for word in command[:2]}
    found = (agent for agent in STRUCTURED if (known := structured(agent)) and known.command[0] in names)
    return next(found, None)


# -- our own record of a conversation


def _recognises(document: dict[str, Any]) -> bool:
    return document.get("acp") == 1 and isinstance(document.get("kind"), str)


def _steps(document: dict[str, Any]) -> Iterator[Step]:
    """Messages once they are whole: the pieces they came in are for those who watch."""
    if not _recognises(document):
        return
    at = document.get("at")
    match document["kind"]:
        case "named":
            yield Named(str(document.get("id", "")))
        case "whole" if document.get("of") in ("agent", "user"):
            yield Said(ASSISTANT if document["of"] == "agent" else USER, str(document.get("text", "")), at)
        case "tool":
            yield from _tool(document)
        case "plan":
            yield Planned(tuple((str(text), bool(done)) for text, done in document.get("todos", [])))
        case "stop":
            yield Stopped()
            if document.get("tokens"):
                yield Used(dict(document["tokens"]), f"turn at {at}")
        case _:
            pass


def _tool(document: dict[str, Any]) -> Iterator[Step]:
    call, status = str(document.get("id", "")), document.get("status")
    if "title" in document:
        files = tuple(str(path) for path in document.get("files", []))
        yield Began(call, str(document["title"]), files=files)
    if status in ("completed", "failed"):
        yield Finished(call, failed=status == "failed")


# Where it is, its session knows: nothing is looked for.
TRANSCRIPTS = Format("acp", lambda _: None, lambda _: (), lambda _: "", lambda _: "", _recognises, _steps)
