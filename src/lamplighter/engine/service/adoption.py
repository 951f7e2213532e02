"""Taking under management what was made without us: known, watched and to be ended from now on, and not touched. A tmux
session that was made by hand, a process by its pid, or several that somebody else found.

Knows what tmux shows, and whom to ask for the rest; who may is not asked here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from lamplighter.agents import program_name
from lamplighter.domain.facts import Facts, TmuxPlace
from lamplighter.domain.name import check_name, name_from
from lamplighter.domain.permission import OPERATOR, Caller
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.engine.adopt.adoptable import AdoptableProcesses
from lamplighter.engine.adopt.process_group import AdoptedGroup
from lamplighter.engine.adopt.registration import Registration, adopted_already
from lamplighter.engine.backends.tmux.multiplexers import HandMade, Multiplexers, word_of
from lamplighter.engine.core.enrol import free_name, new_id
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.memory.projects import identity_of
from lamplighter.engine.scan.leaks import Leaks
from lamplighter.errors import Code, ConflictError, Hint, InputError, MissingError, Use
from lamplighter.holder import proc
from lamplighter.holder.marks import MARK
from lamplighter.store import sessions

_PREFIX = "tmux:"
_PATIENCE_SECONDS = 4.0


class Adoption:
    def __init__(
        self,
        registry: SessionRegistry,
        multiplexers: Multiplexers,
        registration: Registration,
        adoptable: AdoptableProcesses,
        leaks: Leaks,
    ) -> None:
        self.registry = registry
        self.multiplexers = multiplexers
        self.registration = registration
        self.adoptable = adoptable
        self.leaks = leaks

    async def adopt(
        self,
        target: str,
        name: str | None,
        kind: Kind | None,
        caller: Caller,
        key: str,
        *,
        repeated: bool,
        start: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Session:
        """One transaction, so that a crash leaves it adopted or not. `repeated`: the key may have done it before. Without a kind
        it is what such a session would be if it spoke by itself. `start` is that of a process by its pid; `environment` is
        what a tmux of the caller's would find its server by."""
        again = await self.registry.store.get(lambda db: sessions.by_key(db, key)) if repeated else None
        if again is not None:
            return await self.registry.now(again)
        wanted = check_name(name) if name is not None else None
        if start is not None and not _is_number(target):
            raise InputError(
                Code.BAD_INPUT, "start goes with a process by its pid alone", "leave it out, or name the pid as target"
            )
        if target.startswith(_PREFIX) and target != _PREFIX:
            places = os.environ if environment is None else environment
            return await self._adopt_tmux(target, wanted, kind or Kind.TASK, caller, key, places)
        found = self.adoptable.find(target, caller, start) if _is_number(target) else await self._group(target)
        return await self.adopt_processes(found, wanted, kind or found.kind(), caller, key, target)

    async def _adopt_tmux(
        self, target: str, name: str | None, kind: Kind, caller: Caller, key: str, environment: Mapping[str, str]
    ) -> Session:
        # From here to the record nothing is waited for but the store: two who adopt it at once cannot both find it free.
        made = self._find(target, await self.multiplexers.look(0.0, _PATIENCE_SECONDS, environment), environment)
        session = self._session(made, name or self._free_name(made), kind, caller, key)
        return await self.registration.record(session, caller, "adopt", target=target)

    async def adopt_processes(
        self, found: AdoptedGroup, name: str | None, kind: Kind, caller: Caller, key: str, target: str
    ) -> Session:
        """Several that belong together, as whoever found them says: one session, with all below them."""
        return await self.registration.adopt(found, name, kind, caller, key, target)

    async def _group(self, target: str) -> AdoptedGroup:
        found = await self.leaks.stranger(target)
        if found is None:
            raise InputError(
                Code.BAD_INPUT,
                f"{target[:60]!a} does not say what to adopt",
                Hint(
                    "name a tmux session as ",
                    Use("ls"),
                    " shows it (tmux:work), a process by its pid, or a leak as ",
                    Use("scan"),
                    " shows it",
                ),
            )
        return found

    async def take(self, made: HandMade, by: Caller, key: str) -> Session:
        """For whoever may do to it what can only be done to a session of ours. It stays the operator's. `made` was seen just now,
        and nothing was waited for since."""
        self._refuse_ours(made, made.id)
        session = self._session(made, self._free_name(made), Kind.TASK, OPERATOR, key)
        return await self.registration.record(session, by, "adopt", target=made.id)

    def _free_name(self, made: HandMade) -> str:
        return free_name(self.registry, name_from(made.first.session))

    def _find(self, target: str, seen: dict[str, Any], environment: Mapping[str, str]) -> HandMade:
        """As it is now, all of its panes strangers; NOT_FOUND, AMBIGUOUS or ADOPTED when not. What the caller's own tmux
        would call by this name comes first."""
        every = self.multiplexers.all_sessions(seen)
        own = [made for made in every if word_of(made.socket, made.first.session, environment) == target]
        found = own or [made for made in every if made.id == target]
        if not found:
            near = ", ".join(made.id for made in self.multiplexers.strangers(seen)[:5])
            raise MissingError(
                Code.NOT_FOUND,
                f"there is no tmux session {target[:80]!a}",
                Hint(Use("ls"), f" lists those made by hand: {near}") if near else "tmux ls lists what your tmux has",
            )
        if len(found) > 1:
            raise MissingError(
                Code.AMBIGUOUS,
                f"{target[:80]} is a session of more than one tmux server",
                "give one of them another name with tmux rename-session",
            )
        self._refuse_ours(found[0], target)
        return found[0]

    def _refuse_ours(self, made: HandMade, target: str) -> None:
        ours = self.multiplexers.ours(made.socket, made.first.server)
        owners = sorted({ours[pane.id] for pane in made.panes if pane.id in ours})
        if owners:
            raise adopted_already(target, owners[0])

    def _session(self, made: HandMade, name: str, kind: Kind, caller: Caller, key: str) -> Session:
        now = self.registry.clock.now()
        pane = next((pane for pane in made.panes if not pane.dead), made.first)
        main, server = proc.read_stat(pane.pid), proc.start_of(pane.server)
        if pane.dead or main is None or main.parent != pane.server or server is None:
            raise ConflictError(
                Code.ENDED, f"nothing runs any more in {made.id}", "tmux kill-session ends what is left of it"
            )
        command = tuple(proc.words_of(pane.pid)) or (pane.command,)
        project = identity_of(pane.cwd or "/")
        tmux: TmuxPlace = {
            "socket": made.socket,
            "session": pane.session,
            "id": pane.session_id,
            "pane": pane.id,
            "panes": sorted({one.id for one in made.panes}),
            "server": [pane.server, server],
            "mark": proc.environment_of(pane.server, MARK),
        }
        session = Session(
            id=new_id(self.registry, now),
            name=name,
            kind=kind,
            driver=Driver.TMUX,
            agent=program_name(command),
            owner=caller.name,
            command=command,
            cwd=pane.cwd or "/",
            project=project.name,
            project_id=project.id,
            created_at=now,
            boot=self.registry.boot,
            # Nobody who started it knew of us: what it leaves behind when it exits by itself is not killed unasked.
            keep_children=True,
            key=key,
            facts=Facts(tmux=tmux, adopted=True),
        )
        return session.started(min(now, float(pane.created or now)), None, Process(main.pid, main.start))


def _is_number(target: str) -> bool:
    return target.isascii() and target.isdigit()
