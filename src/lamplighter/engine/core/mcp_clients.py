"""MCP clients outside every session: where each is, and what one that is started again gets back.

A client is known by its bridge's process, so one that is started again is another caller. What the earlier one started becomes
its own when both are in the same place and the earlier one is gone. Knows processes and owners; decides no other rights.
"""

from __future__ import annotations

import os
from dataclasses import replace

from lamplighter import lazy_re as re
from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.holder import proc

_CLIENT = re.compile(r"client:(\d+)@(\d+)")
_MOST_KEPT = 1000


def place_of(pid: int) -> tuple[str, ...] | None:
    """The folder of a client's bridge, the program above it, and the bridge's own command line, by the kernel's word. None when
    they cannot be read."""
    stat = proc.read_stat(pid)
    try:
        folder = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None
    program, words = proc.words_of(stat.parent)[:2] if stat is not None else [], proc.words_of(pid)
    return (folder, *program, *words) if program and words else None


class McpClients:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry
        self._places: dict[str, tuple[str, ...] | None] = {}

    async def take_back(self, caller: Caller) -> None:
        """What an earlier client in the caller's place started, and is gone, becomes the caller's."""
        if caller.rank is not Rank.CLIENT or (place := self._place(caller)) is None:
            return
        living = [live.session for live in self.registry.live_sessions.values()]
        earlier = {session.owner for session in living if session.facts.client == place}
        for owner in earlier - {caller.name}:
            if _is_gone(owner):
                for session in living:
                    if owner in (session.owner, *session.line):
                        await self._hand_over(session, owner, caller)

    def _place(self, caller: Caller) -> tuple[str, ...] | None:
        if caller.name not in self._places:
            if len(self._places) >= _MOST_KEPT:
                self._places.clear()
            self._places[caller.name] = place_of(caller.pid)
        return self._places[caller.name]

    async def _hand_over(self, session: Session, owner: str, caller: Caller) -> None:
        def become(before: Session) -> Session | None:
            if owner not in (before.owner, *before.line):
                return None
            line = [caller.name if name == owner else name for name in before.line]
            facts = replace(before.facts, line=tuple(line))
            return replace(before, owner=caller.name if before.owner == owner else before.owner, facts=facts)

        await self.registry.change(session.id, caller, "taken back", become, owner=owner)


def _is_gone(owner: str) -> bool:
    client = _CLIENT.fullmatch(owner)
    return client is not None and not proc.is_alive(int(client[1]), int(client[2]))
