"""Packing: placeholder until the packet's own module is merged."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session


@dataclass(frozen=True)
class Packed:
    text: str

    def keep_receipt(self, db: sqlite3.Connection, session: str) -> None:
        """To whom it was delivered."""


class Packing:
    async def pack(self, caller: Caller, *, predecessor: Session, budget: int | None, query: str | None) -> Packed:
        return Packed(f"packet from {predecessor.id}\n")
