"""What was asked for and what was acknowledged, as the clients know it. Knows nothing of the product."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Held:
    """A session whose start was acknowledged."""

    id: str
    nonce: str
    client: int
    listens: bool = False  # writes down each line that it reads
    sends: dict[str, bool] = field(default_factory=dict[str, bool])  # text: acknowledged
    said: list[str] = field(default_factory=list[str])  # hand-offs that were acknowledged
    lines: int | None = None  # it prints so many and exits
    code: int = 0
    end_asked: bool = False
    ended: dict[str, Any] | None = None  # the acknowledged ending
    may_be_lost: bool = False  # shim and keeper were lost at about the same time
    shims_lost: int = 0
    unheard: set[str] = field(default_factory=set[str])  # sent, and not read yet when a shim was lost


@dataclass
class Ledger:
    """Everything by the word that marks it, which no other has."""

    starts: dict[str, str | None] = field(default_factory=dict[str, str | None])  # nonce: the id, once acknowledged
    sessions: dict[str, Held] = field(default_factory=dict[str, Held])
    records: dict[str, bool] = field(default_factory=dict[str, bool])  # content: acknowledged
    events: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    unanswered: list[str] = field(default_factory=list[str])
    refusals: dict[str, int] = field(default_factory=dict[str, int])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, held: Held) -> Held:
        with self.lock:
            self.starts[held.nonce] = held.id
            self.sessions[held.id] = held
        return held

    def refuse(self, code: str) -> None:
        with self.lock:
            self.refusals[code] = self.refusals.get(code, 0) + 1
