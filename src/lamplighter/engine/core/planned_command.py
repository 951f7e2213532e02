"""What is executed for a start, and how the command is told its first prompt and what was handed over to it.

Knows words, and how many bytes one of them can carry; knows nothing of agents or of the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from lamplighter.domain.agent_command import PROMPT
from lamplighter.domain.text.quoting import one_line, shortened
from lamplighter.lazy_dataclass import dataclass

HANDOFF = "{handoff}"
"""Stands in a command or a prompt for the packet that a successor starts with."""
PACKET, TOLD = "handoff.md", "prompt.md"
"""In the session's folder: what it starts from, and what it is told first, where that is not in its command."""
NOTHING = "/dev/null"
_LONGEST_WORD = 131_071
"""Bytes of one argument at most: 32 pages, with the NUL behind it."""
_SHOWN = 200


class PromptDelivery(StrEnum):
    """How the first prompt comes to the command."""

    WORDS = "words"
    INPUT = "input"
    TYPED = "typed"
    FILE = "file"
    PACKET_FILE = "packet file"


@dataclass(frozen=True)
class PlannedPrompt:
    """`reads` is what standard input is instead of a pipe; `files` go into the session's folder; `size` is what is read."""

    argv: list[str]
    by: PromptDelivery | None = None
    files: dict[str, str] = field(default_factory=dict[str, str])
    reads: str | None = None
    size: int = 0

    @property
    def document(self) -> dict[str, Any]:
        return {"by": self.by.value, "size": self.size} if self.by else {}


@dataclass(frozen=True)
class PlannedCommand:
    """`head` are all words but those of the prompt, `ending` those, or None when it is typed or read. `takes_packet`: what was
    handed over is a part of its first prompt. `closed`: on pipes, its standard input is the prompt or nothing. `environment` is
    the agent's, where the caller's says nothing else."""

    head: tuple[str, ...]
    agent: str | None = None
    ending: tuple[str, ...] | None = None
    prompt: str | None = None
    conversation: str | None = None
    headless: bool = False
    takes_packet: bool = False
    closed: bool = False
    untested: bool = False
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def command(self, *, handed: bool) -> tuple[str, ...]:
        """As it is kept and shown: of a prompt the beginning, of a packet that there is one."""
        parts = [HANDOFF] if handed and self._takes(HANDOFF) else []
        told = shortened(one_line(" ".join([*parts, *([self.prompt] if self.prompt else [])])), _SHOWN)
        return (*self.head, *self._ending(told)) if told and self.ending is not None else self.head

    def told(self, folder: str, packet: str | None) -> PlannedPrompt:
        """What is executed in this session, by what it goes on from."""
        head = [self.head[0], *(_filled(word, packet) for word in self.head[1:])]
        taken = packet if self._takes(packet) else None
        text = self._first(taken, packet)
        if text is None:
            return PlannedPrompt(head, reads=NOTHING if self.closed else None)
        if self.ending is None:
            return self._apart(head, folder, taken, text)
        pointed = f"{_pointer(folder)}\n\n{self.prompt}" if taken and self.prompt else None
        for by, words in ((PromptDelivery.WORDS, text), (PromptDelivery.PACKET_FILE, pointed)):
            ending = self._ending(words) if words else ()
            if ending and all(len(word.encode(errors="surrogateescape")) <= _LONGEST_WORD for word in ending):
                return PlannedPrompt([*head, *ending], by, reads=NOTHING if self.closed else None)
        place = f"Your task is in the file {folder}/{TOLD}: read all of it, then do what it says."
        return PlannedPrompt(
            [*head, *self._ending(place)], PromptDelivery.FILE, {TOLD: text}, NOTHING if self.closed else None
        )

    def _apart(self, head: list[str], folder: str, taken: str | None, text: str) -> PlannedPrompt:
        """A prompt that is no part of the command. Typed it is better short: what many lines do, only the program knows."""
        if self.headless:
            return PlannedPrompt(
                head, PromptDelivery.INPUT, {TOLD: text}, f"{folder}/{TOLD}", len(text.encode(errors="surrogateescape"))
            )
        typed = " ".join([_pointer(folder), *([self.prompt] if self.prompt else [])]) if taken else text
        return PlannedPrompt(head, PromptDelivery.TYPED, {TOLD: typed})

    def _takes(self, packet: str | None) -> bool:
        placed = any(HANDOFF in word for word in (*self.head[1:], self.prompt or ""))
        return packet is not None and self.takes_packet and not placed

    def _first(self, taken: str | None, packet: str | None) -> str | None:
        said = None if self.prompt is None else _filled(self.prompt, packet)
        return "\n\n".join(part.rstrip("\n") for part in (taken, said) if part) if taken else said

    def _ending(self, text: str) -> tuple[str, ...]:
        return tuple(word.replace(PROMPT, text) for word in self.ending or ())


def _filled(word: str, packet: str | None) -> str:
    return word if packet is None else word.replace(HANDOFF, packet)


def _pointer(folder: str) -> str:
    return f"Before anything else read the file {folder}/{PACKET}: it is what was handed over to you."
