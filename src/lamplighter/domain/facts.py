"""What is kept of a session beside its columns in the store, each with its type. Knows the JSON document that it is kept as.

A document of another release may have what this one does not know: that is kept as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import Any, NamedTuple, TypedDict

from lamplighter.domain.lease import Lease
from lamplighter.lazy_dataclass import dataclass


class TmuxPlace(TypedDict, total=False):
    """Where in tmux a session is. Of one that we made, `name` and `session` are its tmux session's name and id; of one made by
    hand, `session` and `id` are. `named`: the name was asked for. `relay` is what the pane was made with, `server` the
    server's pid and start, `mark` the session of ours that the server was started in."""

    socket: str
    name: str
    named: bool
    session: str
    id: str
    pane: str
    panes: list[str]
    relay: int
    server: list[int]
    mark: str | None


class Conversation(TypedDict, total=False):
    """One of its agent's own conversations: the agent's id, its transcript where that is known, and since when it is in that."""

    id: str
    path: str | None
    at: float


class AcpTraits(TypedDict, total=False):
    """What is known of an agent that speaks ACP."""

    heeds_eof: bool


class AgentLeft(TypedDict, total=False):
    """That its agent said through a hook that it goes."""

    conversation: str | None
    reason: str
    at: float


class SharedDaemonStop(TypedDict):
    """What a daemon that agents share was told, and what takes that back."""

    program: list[str]
    place: dict[str, str]
    undo: list[list[str]]


class ProcessKey(NamedTuple):
    """A pid and its start in clock ticks."""

    pid: int
    start: int


@dataclass(frozen=True)
class Facts:
    """`line` are ids and owners of its ancestors, `inherits` the sessions that it goes on from. `told` is how its prompt came
    to it (`by`, `size`); of a logical one, what its agent told of itself. `client` is the place of the MCP client that started
    it, `places` are variables that say where its agent keeps things, `head` is the commit that was checked out. `processes`,
    `outer` and `terminal` are what an adopted one began with; `teller` is the agent behind a logical one. `adopter` and
    `cgroup` say who has what its lost shim left. `awake_at` is when it began, on the clock that is never set."""

    line: tuple[str, ...] = ()
    inherits: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    discard: bool = False
    untested: bool = False
    tmux: TmuxPlace = field(default_factory=TmuxPlace)
    conversation: Conversation = field(default_factory=Conversation)
    conversations: tuple[Conversation, ...] = ()
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])
    talk: AcpTraits = field(default_factory=AcpTraits)
    lease: Lease | None = None
    teller: ProcessKey | None = None
    client: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    head: str | None = None
    adopted: bool = False
    enrolled: bool = False
    terminal: str | None = None
    processes: tuple[ProcessKey, ...] = ()
    outer: tuple[int, ...] = ()
    adopter: ProcessKey | None = None
    cgroup: bool = False
    shared_daemon: SharedDaemonStop | None = None
    agent_left: AgentLeft | None = None
    awake_at: float | None = None
    output: int | None = None
    last_output: float | None = None
    last_input: float | None = None
    others: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def document(self) -> dict[str, Any]:
        """Without what is not known of it."""
        known = {name: getattr(self, name) for name in _NAMES}
        nothing = no_facts()
        given = {name: value for name, value in known.items() if value != getattr(nothing, name)}
        if self.lease is not None:
            given["lease"] = self.lease.document()
        return {**self.others, **given}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Facts:
        known = {name: _READ.get(name, _same)(value) for name, value in document.items() if name in _NAMES and value}
        kept = {name: document[name] for name in _NUMBERS if document.get(name) is not None}
        others = {name: value for name, value in document.items() if name not in _NAMES}
        return Facts(**{**known, **kept}, others=others)


def _same(value: Any) -> Any:
    return value


def _key(value: Any) -> ProcessKey:
    pid, start = value
    return ProcessKey(pid, start)


def _keys(value: Any) -> tuple[ProcessKey, ...]:
    return tuple(_key(one) for one in value)


@cache
def no_facts() -> Facts:
    """What is known of a session at first."""
    return Facts()


_NAMES = frozenset(Facts.__annotations__) - {"others"}
_NUMBERS = frozenset({"output", "last_output", "last_input", "awake_at", "head"})
"""0 and "" say something here."""
_READ: Mapping[str, Any] = {
    **dict.fromkeys(("line", "inherits", "labels", "conversations", "client", "outer"), tuple),
    "lease": Lease.from_document,
    "teller": _key,
    "adopter": _key,
    "processes": _keys,
}
