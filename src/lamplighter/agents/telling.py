"""What tells which of an agent's own conversations a process is of: its command line, its children's environment, its calls.

Knows no agent: each agent's module does, and is imported on use. All of it can be forged, so it names a conversation and never
gives a right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from lamplighter.agents.whereabouts import after_option

TELLING: dict[str, str] = {
    "claude": "lamplighter.agents.claude:TELLING",
    "codex": "lamplighter.agents.codex:TELLING",
    "gemini": "lamplighter.agents.gemini:TELLING",
    "opencode": "lamplighter.agents.opencode:TELLING",
    "qwen": "lamplighter.agents.qwen:TELLING",
}
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


@dataclass(frozen=True, slots=True)
class Telling:
    """`variables` hold the conversation's id, and `processes` the agent's pid, in the environment of what it starts; `options` of
    its command line are followed by the id, but with one of `anew` it begins another; `calls` are the names in an MCP call's
    `_meta`, the best first. `form` is what an id looks like. `daemons` are words of a command line that is the agent's own
    daemon: it serves many conversations, and nobody sits at it."""

    variables: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    anew: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    form: str = _UUID
    daemons: tuple[str, ...] = ()

    def in_command(self, words: Sequence[str]) -> str | None:
        if any(word in self.anew for word in words):
            return None
        return self._id(after_option(words[1:], *self.options)) if self.options else None

    def in_environment(self, found: Mapping[str, str]) -> str | None:
        return next((known for name in self.variables if (known := self._id(found.get(name)))), None)

    def in_call(self, meta: Mapping[str, Any]) -> str | None:
        return next((known for name in self.calls if (known := self._id(meta.get(name)))), None)

    def is_daemon(self, words: Sequence[str]) -> bool:
        return any(word in self.daemons for word in words)

    def _id(self, value: Any) -> str | None:
        return value if isinstance(value, str) and re.fullmatch(self.form, value) else None


_NOTHING = Telling()


def telling_of(agent: str) -> Telling:
    """Nothing, for an agent of which nothing of the kind is known."""
    if agent not in TELLING:
        return _NOTHING
    module, _, attribute = TELLING[agent].partition(":")
    return getattr(import_module(module), attribute)
