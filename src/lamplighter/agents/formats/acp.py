"""Agents that can be spoken to over the Agent Client Protocol: what each is started with, and how it behaves there.

Knows no agent. Also: our own record of such a conversation, as a transcript.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from lamplighter.agents import every_agent
from lamplighter.agents.formats.conversation import (
    ASSISTANT,
    USER,
    Began,
    ConversationId,
    Finished,
    MessageSaid,
    Planned,
    Step,
    Stopped,
    Used,
)
from lamplighter.agents.formats.transcript import Format
from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class AcpCommand:
    """`command` starts it. `heeds_eof`: it leaves when its input ends. `logins`: by which of its ways it may be logged in to
    when a variable is set, by the variable. `untested`: never tried with the program itself."""

    command: tuple[str, ...]
    heeds_eof: bool = True
    logins: Mapping[str, str] = field(default_factory=dict[str, str])
    untested: bool = False


def speaker(command: Sequence[str]) -> str | None:
    """Which agent a command that speaks ACP is of, by the program's name."""
    names = {os.path.basename(word).removesuffix(".js") for word in command[:2]}
    return next((agent.name for agent in every_agent() if agent.acp and agent.acp.command[0] in names), None)


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
            yield ConversationId(str(document.get("id", "")))
        case "whole" if document.get("of") in ("agent", "user"):
            yield MessageSaid(ASSISTANT if document["of"] == "agent" else USER, str(document.get("text", "")), at)
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
