"""Sessions in the user's own tmux: the pane made and taken over, people at it counted, and nothing of it left at the end.

Knows where each is and what tmux calls it; the command itself is an ordinary shim's.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lamplighter.domain.ending import Certificate
from lamplighter.domain.facts import TmuxPlace
from lamplighter.domain.session import Driver, Session
from lamplighter.engine.backends.base import Kill
from lamplighter.engine.backends.tmux import own_servers
from lamplighter.engine.backends.tmux.handover import PaneHandover, forget
from lamplighter.engine.backends.tmux.server import Setting, TmuxError, TmuxServer, server_for
from lamplighter.engine.backends.tmux.session import (
    OwnedPane,
    TmuxLocation,
    find_marked,
    is_name_taken,
    locate,
    make,
    tmux_name,
)
from lamplighter.engine.core.holder_client import RefusedError
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.errors import Code, ConflictError, Hint, InputError, LampError, Option, UnavailableError
from lamplighter.holder import proc
from lamplighter.holder.files import read_json, write_file
from lamplighter.holder.identity import OF_A_SESSION

log = logging.getLogger(__name__)
_MEETING_SECONDS = 20.0
_LOOK_SECONDS = 1.0


def intended(name: str, exact: str | None, given: bool, environment: Mapping[str, str]) -> TmuxPlace:
    """What is kept of the place before it is there. `exact` is what tmux is to call it, where that is not made of `name`."""
    wanted = exact or tmux_name(name)
    return {"socket": server_for(environment).socket, "name": wanted, "named": given or exact is not None}


class Panes:
    def __init__(self, registry: SessionRegistry, keeper: KeeperClient) -> None:
        self.registry = registry
        self.keeper = keeper
        self._meetings: dict[str, PaneHandover] = {}
        self._looked_at = 0.0
        self._looking_until = 0.0
        self._looking: asyncio.Task[None] | None = None
        registry.lookers.append(self.look)

    # -- starting

    async def open(self, session: Session) -> dict[str, int]:
        """A pane, and what belongs to it by name, which is the caller's to close. Made once: after a crash it is found again."""
        met = self._meetings.get(session.id)
        if met is not None and met.complete:
            return met.hand_on()  # a keeper was lost with the first ones
        file = f"{self.registry.folder(session.id)}/launch.json"
        orders = read_json(file)
        if orders is None:
            raise UnavailableError(
                Code.OUTCOME_UNKNOWN, f"the start of {session.name} was interrupted", "start it again"
            )
        self.settle(session.id)
        meeting = self._meetings[session.id] = PaneHandover(self.registry.settings.home.pane_socket(session.id))
        server = TmuxServer(session.place.get("socket", ""))
        try:
            place = await locate(server, session.id) or await self._make(server, session, orders, meeting.path)
        except TmuxError as error:
            raise _refused(session, error) from None
        try:
            await asyncio.wait_for(meeting.wait(place.relay, place.server), _MEETING_SECONDS)
        except TimeoutError:
            raise _no_relay(session) from None
        orders["env"] |= meeting.told
        if not write_file(file, json.dumps(orders).encode()):
            raise UnavailableError(Code.DISK_FULL, f"nothing can be written to {file}", "make room and try again")
        return meeting.hand_on()

    async def _make(self, server: TmuxServer, session: Session, orders: dict[str, Any], meeting: str) -> TmuxLocation:
        wanted = session.place.get("name", "")
        environment = {
            name: value for name, value in orders["env"].items() if name not in (*OF_A_SESSION, "TMUX", "TMUX_PANE")
        }
        setting = Setting(environment, session.cwd, orders["umask"])
        began = time.clock_gettime(time.CLOCK_BOOTTIME)
        for name in (wanted, f"{wanted}-{session.id}"):
            try:
                place = await make(server, session.id, name, meeting, (orders["rows"], orders["cols"]), setting)
            except TmuxError as error:
                if not is_name_taken(error):
                    raise
                # Made by a daemon that died before it could know, perhaps; else it is the user's.
                place = await locate(server, session.id)
                if place is None and session.place.get("named"):
                    raise _name_taken(wanted, server) from None
            if place is not None:
                self._keep_if_ours(place.server, began)
                return place
        raise _no_relay(session)

    def _keep_if_ours(self, server: int, began: float) -> None:
        """A server that was not there before this start hangs under the keeper now."""
        stat = proc.read_stat(server)
        if stat is not None and stat.parent == self.keeper.pid and proc.started_since(stat, began):
            own_servers.record(self.registry.settings.home.run, server)

    def settle(self, session: str) -> None:
        """Born, or never to be: whoever waits at the meeting may go."""
        meeting = self._meetings.pop(session, None)
        if meeting is not None:
            meeting.close()
        else:
            forget(self.registry.settings.home.pane_socket(session))

    async def take_back(self, session: Session) -> None:
        """Nothing is left of a start that failed."""
        self.settle(session.id)
        await self._remove(session)

    async def place(self, session: Session) -> TmuxPlace:
        """Where it is by now, also when somebody has renamed it; what was known last when tmux does not say."""
        try:
            found = await locate(TmuxServer(session.place.get("socket", "")), session.id)
        except (LampError, TmuxError):
            found = None
        known: TmuxPlace = {**session.place}
        if found is not None:
            known.update(found.document())
        return known

    # -- people

    async def look(self, fresh: float) -> None:
        """Count who is attached by tmux, not longer ago than this many seconds; asked at once, it is one look for all."""
        if not self._live_sessions():
            return
        if time.monotonic() - self._looked_at > fresh:
            # A server that does not answer is not waited for by everybody: then the last count stands.
            if self._looking is None or self._looking.done():
                self._looking = asyncio.get_running_loop().create_task(self._count())
                self._looking_until = time.monotonic() + _LOOK_SECONDS
            patience = max(0.0, self._looking_until - time.monotonic())
            await asyncio.wait({self._looking}, timeout=patience)

    def _live_sessions(self) -> list[LiveSession]:
        """Those in tmux that a shim of ours holds."""
        live_sessions = self.registry.live_sessions.values()
        return [live for live in live_sessions if live.session.driver is Driver.TMUX and not live.session.traced]

    async def _count(self) -> None:
        live_sessions = self._live_sessions()
        people: dict[str, int] = {}
        for socket in {live.session.place.get("socket", "") for live in live_sessions}:
            try:
                found = await find_marked(TmuxServer(socket))
            except (LampError, TmuxError):
                return  # there is no tmux any more to ask, or none that answers
            for marked in found:
                if marked.own:
                    people[marked.owner] = people.get(marked.owner, 0) + marked.attached
        for live in live_sessions:
            live.watchers = people.get(live.session.id, 0)
        self._looked_at = time.monotonic()

    # -- screens

    async def measure(self, session: Session) -> None:
        """Have the shim see how large the pane is by now."""
        live = self.registry.live_sessions.get(session.id)
        if live is not None and live.line is not None:
            try:
                await live.line.ask("measure")
            except (LampError, RefusedError):
                return  # it ends just now; its screen is as large as it was

    # -- the end

    async def clear(self, session: Session, certificate: Certificate, *, others: bool, kill: Kill) -> Certificate:
        """See that tmux keeps nothing of it. With `others`, the panes that people have added to its tmux session are ended
        too, as far as they can be traced; else they are left, as tmux itself would leave them."""
        self.settle(session.id)
        added = [marked for marked in await self._remove(session) if not marked.own]
        if not added:
            return certificate
        server = TmuxServer(session.place.get("socket", ""))
        # Before tmux hangs up on them: what then leaves its parent behind could not be traced any more.
        roots = (
            await asyncio.to_thread(_trees, {marked.place.relay for marked in added})
            if others
            else set[tuple[int, int]]()
        )
        for name in {marked.place.session for marked in added}:
            await _quietly(
                server, *(("kill-session",) if others else ("set-option", "-u")), "-t", name, *_UNMARK[others]
            )
        if not others:
            return certificate
        found = await asyncio.to_thread(kill, session.id, roots, None)
        why = {"why": "in a pane that was added by hand: best effort"}
        return replace(
            certificate,
            processes=[*certificate.processes, *({**entry, **why} for entry in found.processes)],
            survivors=[*certificate.survivors, *found.survivors],
        )

    async def _remove(self, session: Session) -> list[OwnedPane]:
        """Take its own pane away, which stays behind where people have told tmux to keep dead ones; the panes there were."""
        server = TmuxServer(session.place.get("socket", ""))
        try:
            found = [marked for marked in await find_marked(server) if marked.owner == session.id]
        except (LampError, TmuxError) as error:
            log.warning("what tmux has of %s is not known: %s", session.id, error)
            return []
        for marked in found:
            if marked.own:
                await _quietly(server, "kill-pane", "-t", marked.place.pane)
        return found


def _trees(roots: set[int]) -> set[tuple[int, int]]:
    """These processes and all that descends from them."""
    processes = proc.scan()
    found = proc.descendants(processes, roots)
    return {stat.key for pid, stat in processes.items() if pid in roots or pid in found}


_UNMARK: dict[bool, tuple[str, ...]] = {True: (), False: ("@lamplighter",)}


async def _quietly(server: TmuxServer, *arguments: str) -> None:
    """What may be done already."""
    try:
        await server.run(*arguments)
    except TmuxError as error:
        log.info("tmux %s: %s", arguments[0], error)


def _name_taken(name: str, server: TmuxServer) -> ConflictError:
    return ConflictError(
        Code.NAME_TAKEN,
        f"tmux has a session called {name} already (server {server.socket})",
        "choose another name, or see what it is with tmux ls",
        socket=server.socket,
    )


def _refused(session: Session, error: TmuxError) -> InputError:
    return InputError(
        Code.START_FAILED,
        f"tmux did not make a session for {session.name}: {error}",
        Hint("try tmux new-session by hand; or start without ", Option("tmux")),
        socket=session.place.get("socket", ""),
    )


def _no_relay(session: Session) -> InputError:
    return InputError(
        Code.START_FAILED,
        f"the pane that tmux made for {session.name} went away, or did not hand its terminal over",
        "try again; tmux's own hooks and options may close panes",
        socket=session.place.get("socket", ""),
    )
