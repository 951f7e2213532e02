"""Sessions without a holder: their processes watched by pidfds, and ended as far as they can be traced.

Such a session was there before us: a tmux session made by hand, an agent in somebody's terminal. What it leaves behind when it
exits by itself is not killed unasked: nobody who started it knew of us. Knows trails and the undertaker; not who may.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from lamplighter.agents.traces import traces_of
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Driver, Session
from lamplighter.domain.states import State
from lamplighter.drivers.tmux_server import Pane, Server, TmuxError
from lamplighter.errors import LampError
from lamplighter.holder import proc
from lamplighter.holder.dying import Dying
from lamplighter.holder.files import read_json, write_file
from lamplighter.holder.meter import Reading
from lamplighter.holder.tree import Death
from lamplighter.lifecycle.fleet import Fleet, Lamp
from lamplighter.lifecycle.foreign.trail import Key, TracedTree, Trail
from lamplighter.lifecycle.keeping import Keeping
from lamplighter.lifecycle.sight.gauge import Measure
from lamplighter.lifecycle.tasks import Tasks, until
from lamplighter.lifecycle.tmux.multiplexers import Multiplexers
from lamplighter.lifecycle.watch import Watch

log = logging.getLogger(__name__)
_UNKNOWN_EXIT: dict[str, Any] = {"code": None}
_AGREE_SECONDS = 2.0
_TMUX_SECONDS = 3.0


class Traced:
    def __init__(self, fleet: Fleet, keeping: Keeping, tasks: Tasks, watch: Watch, multiplexers: Multiplexers) -> None:
        self.fleet = fleet
        self.keeping = keeping
        self.tasks = tasks
        self.undertaker = watch.undertaker
        self.multiplexers = multiplexers
        self._trails: dict[str, Trail] = {}
        self._eyes: dict[str, dict[Key, int]] = {}
        self._checking: dict[str, bool] = {}
        watch.find_traced = self.find
        self.undertaker.end_traced = self.end

    # -- seeing

    def find(self, lamp: Lamp) -> None:
        """Adopted just now, or alive when the daemon was last here: watched from now on, or its end goes on."""
        lamp.guarantee = "best_effort"
        self._know(lamp, self._trail(lamp.session))
        if lamp.session.state is State.ENDING:
            self.undertaker.carry_out(lamp.session.id)
        else:
            self._check_soon(lamp.session.id)

    async def refresh(self) -> None:
        """Before each look at /proc: windows and panes that came and went meanwhile."""
        lamps = [lamp for lamp in self.fleet.lamps.values() if lamp.session.traced and "tmux" in lamp.session.facts]
        if not lamps:
            return
        seen = await self.multiplexers.look()
        ours = {
            socket: self.multiplexers.ours(socket, panes[0].server) if panes else {} for socket, panes in seen.items()
        }
        for lamp in lamps:
            socket = lamp.session.facts["tmux"]["socket"]
            if socket in seen and not lamp.ended.is_set() and not self._take_in(lamp, seen[socket], ours[socket]):
                self._check_soon(lamp.session.id)

    def known(self) -> set[Key]:
        """Every process that a session without a holder is known by."""
        return {key for trail in list(self._trails.values()) for key in (*trail.roots, *trail.leaders.items())}

    def _trail(self, session: Session) -> Trail:
        """What is known of it: from its facts, and from what was written down since."""
        trail = self._trails.get(session.id)
        if trail is None:
            kept = read_json(self._file(session.id)) or {}
            tmux: dict[str, Any] = session.facts.get("tmux", {})
            assert session.main is not None
            main = (session.main.pid, session.main.start)
            first = [main, *((pid, start) for pid, start in session.facts.get("processes", ()))]
            trail = self._trails[session.id] = Trail(
                session.id,
                roots={*first, *((pid, start) for pid, start in kept.get("roots", ()))},
                leaders=dict([*first, *((pid, start) for pid, start in kept.get("leaders", ()))]),
                server=tuple(tmux["server"]) if tmux else None,
                socket=tmux.get("socket", ""),
                mark=tmux.get("mark"),
                number=tmux["id"].removeprefix("$") if tmux else "",
                panes=set(kept.get("panes") or tmux.get("panes", ())),
                foreign=set(kept.get("foreign", ())),
                strays={(pid, start) for pid, start in kept.get("strays", ())},
                outer=set(session.facts.get("outer", ())),
                marks={(name, value) for name, value in kept.get("marks", ())},
            )
        trail.marks |= _marks(session)
        return trail

    def remember(self, measures: Mapping[str, Measure]) -> None:
        """After each look: whom it saw. What leaves its parent behind is known from then on."""
        for lamp in list(self.fleet.lamps.values()):
            measure = measures.get(lamp.session.id)
            if measure is not None and lamp.session.driver is Driver.REGISTERED and not lamp.ended.is_set():
                self._remember(lamp, measure)

    def _remember(self, lamp: Lamp, measure: Measure) -> None:
        """Written down is only who is on their own already: what an agent's tools start comes and goes all the time."""
        trail = self._trail(lamp.session)
        trail.strays = {stat.key for stat in measure.processes}
        below = {stat.pid for stat in measure.processes}
        alone = sorted(stat.key for stat in measure.processes if stat.parent not in below)
        document = {
            "strays": [list(key) for key in alone if key not in trail.roots],
            "marks": trail.document()["marks"],
        }
        kept = read_json(self._file(lamp.session.id)) or {}
        if any(kept.get(name, []) != value for name, value in document.items()):
            self._keep(lamp.session.id, **document)
        lamp.roots = trail.roots | trail.strays

    def _take_in(self, lamp: Lamp, panes: list[Pane], ours: dict[str, str]) -> bool:
        """What its server shows, and whose panes we know; whether tmux still has the session."""
        trail = self._trail(lamp.session)
        before = trail.document()
        mine = trail.follow(panes, {pane for pane, owner in ours.items() if owner != lamp.session.id})
        if mine:
            output_at, input_at = (max(pane.output_at for pane in mine), max(pane.input_at for pane in mine))
            lamp.seen = Reading(mine[0].attached, 0, output_at, input_at, 0, 0, 0, 0.0, 0.0)
        if trail.document() != before:
            self._keep(lamp.session.id, **trail.document())
        self._know(lamp, trail)
        return trail.present

    def _know(self, lamp: Lamp, trail: Trail) -> None:
        if lamp.ended.is_set():
            return
        lamp.roots, lamp.panes = trail.roots | trail.strays, set(trail.panes)
        self._watch(lamp.session.id, [*trail.roots, *([trail.server] if trail.server else [])])

    # -- watching

    def _watch(self, session: str, keys: Iterable[Key]) -> None:
        """Be woken when one of these exits; no clock is needed."""
        eyes = self._eyes.setdefault(session, {})
        for pid, start in keys:
            if (pid, start) in eyes:
                continue
            try:
                descriptor = os.pidfd_open(pid)
            except OSError:
                continue
            if not proc.is_alive(pid, start):
                os.close(descriptor)
                continue
            eyes[pid, start] = descriptor
            asyncio.get_running_loop().add_reader(descriptor, self._went, session, (pid, start))

    def _went(self, session: str, key: Key) -> None:
        self._close_eye(self._eyes[session].pop(key))
        self._check_soon(session)

    def _close_eye(self, descriptor: int) -> None:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)

    def _forget(self, session: str) -> None:
        for descriptor in self._eyes.pop(session, {}).values():
            self._close_eye(descriptor)
        self._trails.pop(session, None)

    def _check_soon(self, session: str) -> None:
        """One check at a time; what happens during one is looked at after it."""
        if session in self._checking:
            self._checking[session] = True
        else:
            self._checking[session] = False
            self.tasks.begin(self._checks(session), f"check of {session}")

    async def _checks(self, session: str) -> None:
        try:
            again = True
            while again:
                self._checking[session] = False
                lamp = self.fleet.lamps.get(session)
                if lamp is None or lamp.session.state is not State.RUNNING:
                    return
                await self._check(lamp)
                again = self._checking[session]
        finally:
            del self._checking[session]

    async def _check(self, lamp: Lamp) -> None:
        """Whether it is still there; if not, whether it left something behind."""
        if await self._is_there(lamp):
            return
        tree = self._tree(lamp.session)
        members = await asyncio.to_thread(tree.members)
        if lamp.session.state is not State.RUNNING:
            return  # somebody ends it by now
        if members:
            await self._leaves_behind(lamp, {stat.key for stat in members.values()})
            return
        for key in self._trail(lamp.session).leaders.items():
            tree.went(key, self._command(lamp.session, key), {})
        await self._bury(lamp, tree, [])

    async def _is_there(self, lamp: Lamp) -> bool:
        """In tmux, or one of its first processes lives. tmux may hear of a process's end after us: then it is asked again."""
        deadline, pause = time.monotonic() + _AGREE_SECONDS, 0.01
        while await self._look(lamp):
            if self._leads(lamp) or time.monotonic() > deadline:
                return True
            await asyncio.sleep(pause)
            pause *= 2
        return self._trail(lamp.session).server is None and self._leads(lamp)

    def _leads(self, lamp: Lamp) -> bool:
        return any(proc.is_alive(*key) for key in self._trail(lamp.session).leaders.items())

    async def _look(self, lamp: Lamp) -> bool:
        """Ask its tmux server anew; True while the session is there, or while nobody can say."""
        trail = self._trail(lamp.session)
        if trail.server is None or not proc.is_alive(*trail.server):
            return False
        panes = await self.multiplexers.look_at(lamp.session.facts["tmux"]["socket"])
        if panes is None:
            return proc.is_alive(*trail.server)
        return self._take_in(lamp, panes, self.multiplexers.ours(lamp.session.facts["tmux"]["socket"], trail.server[0]))

    async def _leaves_behind(self, lamp: Lamp, keys: set[Key]) -> None:
        """Its panes are gone, and some of what ran in them is not."""
        trail = self._trail(lamp.session)
        trail.roots |= keys
        lamp.phase = "leftovers"
        self._know(lamp, trail)
        if not (read_json(self._file(lamp.session.id)) or {}).get("left"):
            self._keep(lamp.session.id, **trail.document(), left=True)
            await self.fleet.note(lamp.session.id, DAEMON, "exited", exit=_UNKNOWN_EXIT, children="kept")
        lamp.notify()

    # -- ending

    async def end(self, lamp: Lamp) -> None:
        """From the intent to the record, also when it was begun before a crash. With survivors, on and on."""
        await self._look(lamp)
        tree = self._tree(lamp.session)
        kept = read_json(self._file(lamp.session.id)) or {}
        self._recall(tree, kept)
        ladder: list[str] = list(kept.get("ladder", ()))
        patience = True
        while True:
            await self._descend(lamp, tree, ladder, patience)
            await self._close(lamp)
            await self._look(lamp)
            if not await asyncio.to_thread(tree.members):
                break
            patience = False
        if tree.multiplexers:
            spared = [f"{pid} {proc.command_of(pid)}" for pid, _ in tree.multiplexers]
            await self.fleet.note_if_possible(lamp.session.id, DAEMON, "spared", processes=spared)
        await self._bury(lamp, tree, ladder)

    async def _descend(self, lamp: Lamp, tree: TracedTree, ladder: list[str], patience: bool) -> None:
        """TERM, the grace, KILL until nobody is found; `patience` is off for what came back after that."""
        dying = Dying(tree, adopted=True, keep_children=False)
        grace: float | None = None
        closed = False
        while dying.phase != "ended":
            changed, intent = lamp.changed, lamp.session.intent
            assert intent is not None
            if intent.grace != grace:
                grace = intent.grace
                await asyncio.to_thread(dying.stop, grace if patience else 0.0, intent.hangup if patience else 0.0)
            else:
                await asyncio.to_thread(dying.proceed, True)
            ladder += [step for step in dying.ladder if step not in ladder]
            self._note(lamp, tree, ladder)
            await self._tell(lamp, dying, tree)
            if "KILL" in dying.ladder and not closed:
                closed = True
                await self._close(lamp)  # now, as tmux may have been told to start anew what dies in a pane
            if dying.next_look is not None:
                await until(changed, dying.next_look - time.monotonic())
            await self._look(lamp)

    async def _tell(self, lamp: Lamp, dying: Dying, tree: TracedTree) -> None:
        if dying.phase == "survivors":
            lamp.certificate = await asyncio.to_thread(tree.certificate, "best_effort")
        if lamp.phase != dying.phase and dying.phase != "ended":
            lamp.phase = dying.phase
            lamp.notify()

    async def _close(self, lamp: Lamp) -> None:
        """Nothing of it runs any more: what tmux still shows of it goes. The server itself checks that it is the right one."""
        trail = self._trail(lamp.session)
        if trail.server is None or not proc.is_alive(*trail.server):
            return
        right = f"#{{==:#{{pid}},{trail.server[0]}}}"
        try:
            await Server(lamp.session.facts["tmux"]["socket"]).run(
                "if-shell", "-F", right, f"kill-session -t '${trail.number}'", seconds=_TMUX_SECONDS
            )
        except (TmuxError, LampError, OSError) as error:
            log.info("tmux did not close %s: %s", lamp.session.id, error)  # as a rule it is gone with its last process

    async def _bury(self, lamp: Lamp, tree: TracedTree, ladder: list[str]) -> None:
        document = {
            "certificate": await asyncio.to_thread(tree.certificate, "best_effort"),
            "exit": _UNKNOWN_EXIT,
            "ladder": ladder,
            "ended_at": self.fleet.clock.now(),
            "offset": 0,
        }
        await self.undertaker.bury(lamp.session, document)
        self._forget(lamp.session.id)

    # -- what is written down

    def _file(self, session: str) -> str:
        return f"{self.fleet.folder(session)}/trail.json"

    def _keep(self, session: str, **changes: Any) -> None:
        """Best effort: with a full disk it is known until the daemon goes."""
        document = {**(read_json(self._file(session)) or {}), **changes}
        write_file(self._file(session), json.dumps(document).encode())

    def _note(self, lamp: Lamp, tree: TracedTree, ladder: list[str]) -> None:
        """Who is on the way out, so that a certificate written after a crash names them too."""
        deaths = [[*death.key, death.command, death.signal] for death in tree.deaths.values()]
        self._keep(lamp.session.id, **self._trail(lamp.session).document(), deaths=deaths, ladder=ladder)

    def _recall(self, tree: TracedTree, kept: dict[str, Any]) -> None:
        for pid, start, command, signal in kept.get("deaths", ()):
            death = tree.deaths[pid, start] = Death((pid, start), command, time.monotonic())
            death.signal = signal

    def _command(self, session: Session, key: Key) -> str:
        main = session.main
        return (
            " ".join(session.command)[:200]
            if main and key == (main.pid, main.start)
            else "a process that it began with"
        )

    def _tree(self, session: Session) -> TracedTree:
        """Without the marks that another living session gives to what it starts too: which of them is right, nobody can tell."""
        others = (lamp.session for lamp in self.fleet.lamps.values() if lamp.session.id != session.id)
        shared = {mark for other in others if other.agent == session.agent for mark in _marks(other)}
        return TracedTree(self._trail(session), self._ours, shared)

    def _ours(self) -> set[int]:
        """The keeper and the shims; the daemon is the tree's own process."""
        shims = {lamp.session.shim.pid for lamp in list(self.fleet.lamps.values()) if lamp.session.shim is not None}
        return shims | ({self.keeping.pid} if self.keeping.pid else set[int]())


def _marks(session: Session) -> set[tuple[str, str]]:
    """What only the environment of what this agent started says, as far as that is known now."""
    traces, conversation = traces_of(session.agent), session.conversation.get("id")
    if session.driver is not Driver.REGISTERED:
        return set()
    marks = {(name, conversation) for name in traces.sessions if conversation}
    return marks | {(name, str(pid)) for name in traces.pids for pid, _ in session.facts.get("processes", ())}
