"""Going on from a session: who came before, whether that may be, and the packet that the successor starts with.

The claim is made in the transaction in which the successor's start is written down: of two who ask at once, one is told who has
it. A start that fails takes its claim back. Knows sessions and hand-offs; the packet is `packing`'s.
"""

from __future__ import annotations

import os
import sqlite3

from lamplighter.domain.memory.succession import check_succession, inheritance
from lamplighter.domain.permission import Act, Caller, Rank, check, is_own
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.memory.packet_builder import BuiltPacket, PacketBuilder
from lamplighter.engine.memory.projects import identity_of
from lamplighter.errors import Code, ForbiddenError, Hint, MissingError, Option
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import handoffs, sessions

LAST = "last"


@dataclass(frozen=True)
class Legacy:
    """What a successor starts from."""

    predecessor: Session
    packed: BuiltPacket
    inherits: tuple[str, ...]
    force: bool

    @property
    def text(self) -> str:
        return self.packed.text

    def claim(self, db: sqlite3.Connection, session: str) -> None:
        """In the transaction that writes down the start; raises when it may not be."""
        if not self.force:
            successor = sessions.successor_of(db, self.predecessor.id)
            check_succession(self.predecessor, handoffs.of_session(db, self.predecessor.id), successor)
        self.packed.keep_receipt(db, session)


class Succession:
    def __init__(self, registry: SessionRegistry, packet_builder: PacketBuilder) -> None:
        self.registry = registry
        self.packet_builder = packet_builder

    async def legacy(
        self, word: str, project: str | None, caller: Caller, *, force: bool, budget: int | None, query: str | None
    ) -> Legacy:
        """What to go on from: a session by its name or id, or the last of the project; and whether that may be."""
        predecessor = await self._find(word, project, caller)
        self.check_caller(caller, predecessor, force=force)
        if not force:
            left = await self.registry.store.get(lambda db: handoffs.of_session(db, predecessor.id))
            successor = await self.registry.store.get(lambda db: sessions.successor_of(db, predecessor.id))
            check_succession(predecessor, left, successor)
        packed = await self.packet_builder.pack(caller, predecessor=predecessor, budget=budget, query=query)
        own = is_own(caller, predecessor)
        return Legacy(predecessor, packed, tuple(inheritance(predecessor)) if own else (), force)

    async def _find(self, word: str, project: str | None, caller: Caller) -> Session:
        if word != LAST:
            return await self.registry.find(word)
        found = await self.registry.store.read(lambda db: handoffs.last_session(db, project, asks=caller.session))
        if found is None:
            raise MissingError(
                Code.NOT_FOUND,
                "no session of this project has handed anything over yet",
                Hint("leave ", Option("from_session"), " out; what this one hands over, the next can start from"),
            )
        return await self.registry.find(found)

    def check_caller(self, caller: Caller, predecessor: Session, *, force: bool) -> None:
        """An agent goes on from what is its own, and from what was done in the project that it is in; a client in no session,
        from what was done in the project of its folder."""
        if force:
            check(caller, Act.OVERRIDE, None, [])
        if is_own(caller, predecessor):
            return
        if not self._is_in_project(caller, predecessor):
            raise ForbiddenError(
                Code.FORBIDDEN,
                f"{caller.name} may not go on from {predecessor.name} ({predecessor.id}): it is another project's",
                "an agent goes on from its own sessions and from those of its project; ask the operator",
            )

    def _is_in_project(self, caller: Caller, predecessor: Session) -> bool:
        if caller.rank is Rank.CLIENT:
            here = _folder_of(caller.pid)
            theirs = {predecessor.project_id, identity_of(predecessor.cwd).id}
            return here is not None and identity_of(here).id in theirs
        live = self.registry.live_sessions.get(caller.session or "")
        own = live.session.project_id if live else None
        return own is not None and own == predecessor.project_id


def _folder_of(pid: int) -> str | None:
    """Where a process is, as the kernel says."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None
