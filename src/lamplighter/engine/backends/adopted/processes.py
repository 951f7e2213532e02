"""Sessions without a holder: their processes watched by pidfds, and ended as far as they can be traced.

Such a session was there before us: a tmux session made by hand, an agent in somebody's terminal. What it leaves behind when it
exits by itself is not killed unasked: nobody who started it knew of us. Knows identities and the ender; not who may.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lamplighter.agents.formats.fingerprints import fingerprints_of
from lamplighter.domain.facts import TmuxPlace
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Driver, Session
from lamplighter.domain.states import BeingEnded, Running
from lamplighter.engine.backends.adopted.identity import SessionIdentity, TracedTree
from lamplighter.engine.backends.base import BackendContext, Key
from lamplighter.engine.backends.tmux.server import Pane, TmuxError, TmuxServer
from lamplighter.engine.core.registry import LiveSession
from lamplighter.engine.core.tasks import until
from lamplighter.errors import LampError
from lamplighter.holder import proc
from lamplighter.holder.files import read_json, write_file
from lamplighter.holder.kill_ladder import KillLadder
from lamplighter.holder.meter import MeterReading
from lamplighter.holder.tree import Death

log = logging.getLogger(__name__)
_UNKNOWN_EXIT: dict[str, Any] = {"code": None}
_AGREE_SECONDS = 2.0
_TMUX_SECONDS = 3.0


class AdoptedProcesses:
    def __init__(self, context: BackendContext) -> None:
        self.context = context
        self.registry = context.registry
        self.keeper = context.keeper
        self.tasks = context.tasks
        self.multiplexers = context.multiplexers
        self._trails: dict[str, SessionIdentity] = {}
        self._eyes: dict[str, dict[Key, int]] = {}
        self._checking: dict[str, bool] = {}

    # -- seeing

    def find(self, live: LiveSession) -> None:
        """Adopted just now, or alive when the daemon was last here: watched from now on."""
        live.guarantee = "best_effort"
        self._know(live, self._trail(live.session))
        self._check_soon(live.session.id)

    async def refresh(self) -> None:
        """Before each look at /proc: windows and panes that came and went meanwhile."""
        live_sessions = [
            live for live in self.registry.live_sessions.values() if live.session.traced and live.session.place
        ]
        if not live_sessions:
            return
        seen = await self.multiplexers.look()
        ours = {
            socket: self.multiplexers.ours(socket, panes[0].server) if panes else {} for socket, panes in seen.items()
        }
        for live in live_sessions:
            socket = live.session.place.get("socket", "")
            if socket in seen and not live.ended.is_set() and not self._take_in(live, seen[socket], ours[socket]):
                self._check_soon(live.session.id)

    def known(self) -> set[Key]:
        """Every process that a session without a holder is known by."""
        return {key for trail in list(self._trails.values()) for key in (*trail.roots, *trail.leaders.items())}

    def _trail(self, session: Session) -> SessionIdentity:
        """What is known of it: from its facts, and from what was written down since."""
        trail = self._trails.get(session.id)
        if trail is None:
            kept = read_json(self._file(session.id)) or {}
            tmux = session.place
            assert session.main is not None
            main = (session.main.pid, session.main.start)
            first = [main, *((pid, start) for pid, start in session.facts.processes)]
            trail = self._trails[session.id] = SessionIdentity(
                session.id,
                roots={*first, *((pid, start) for pid, start in kept.get("roots", ()))},
                leaders=dict([*first, *((pid, start) for pid, start in kept.get("leaders", ()))]),
                server=_server_of(tmux),
                socket=tmux.get("socket", ""),
                mark=tmux.get("mark"),
                number=tmux.get("id", "").removeprefix("$"),
                panes=set(kept.get("panes") or tmux.get("panes", ())),
                foreign=set(kept.get("foreign", ())),
                strays={(pid, start) for pid, start in kept.get("strays", ())},
                outer=set(session.facts.outer),
                marks={(name, value) for name, value in kept.get("marks", ())},
            )
        trail.marks |= _marks(session)
        return trail

    def remember(self, seen: Mapping[str, Sequence[proc.Stat]]) -> None:
        """After each look: whom it saw. What leaves its parent behind is known from then on."""
        for live in list(self.registry.live_sessions.values()):
            processes = seen.get(live.session.id)
            if processes is not None and live.session.driver is Driver.REGISTERED and not live.ended.is_set():
                self._remember(live, processes)

    def _remember(self, live: LiveSession, processes: Sequence[proc.Stat]) -> None:
        """Written down is only who is on their own already: what an agent's tools start comes and goes all the time."""
        trail = self._trail(live.session)
        trail.strays = {stat.key for stat in processes}
        below = {stat.pid for stat in processes}
        alone = sorted(stat.key for stat in processes if stat.parent not in below)
        document = {
            "strays": [list(key) for key in alone if key not in trail.roots],
            "marks": trail.document()["marks"],
        }
        kept = read_json(self._file(live.session.id)) or {}
        if any(kept.get(name, []) != value for name, value in document.items()):
            self._keep(live.session.id, **document)
        live.roots = trail.roots | trail.strays

    def _take_in(self, live: LiveSession, panes: list[Pane], ours: dict[str, str]) -> bool:
        """What its server shows, and whose panes we know; whether tmux still has the session."""
        trail = self._trail(live.session)
        before = trail.document()
        mine = trail.follow(panes, {pane for pane, owner in ours.items() if owner != live.session.id})
        if mine:
            output_at, input_at = (max(pane.output_at for pane in mine), max(pane.input_at for pane in mine))
            live.seen = MeterReading(mine[0].attached, output_at, input_at)
        if trail.document() != before:
            self._keep(live.session.id, **trail.document())
        self._know(live, trail)
        return trail.present

    def _know(self, live: LiveSession, trail: SessionIdentity) -> None:
        if live.ended.is_set():
            return
        live.roots, live.panes = trail.roots | trail.strays, set(trail.panes)
        self._watch(live.session.id, [*trail.roots, *([trail.server] if trail.server else [])])

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
                live = self.registry.live_sessions.get(session)
                if live is None or not isinstance(live.session.state, Running):
                    return
                await self._check(live)
                again = self._checking[session]
        finally:
            del self._checking[session]

    async def _check(self, live: LiveSession) -> None:
        """Whether it is still there; if not, whether it left something behind."""
        if await self._is_there(live):
            return
        tree = self._tree(live.session)
        members = await asyncio.to_thread(tree.members)
        if not isinstance(live.session.state, Running):
            return  # somebody ends it by now
        if members:
            await self._leaves_behind(live, {stat.key for stat in members.values()})
            return
        for key in self._trail(live.session).leaders.items():
            tree.went(key, self._command(live.session, key), {})
        document = await self._word(tree, [])
        for listener in self.context.listeners:
            await listener.exited(live.session, document)
        self.forget(live.session.id)

    async def _is_there(self, live: LiveSession) -> bool:
        """In tmux, or one of its first processes lives. tmux may hear of a process's end after us: then it is asked again."""
        deadline, pause = time.monotonic() + _AGREE_SECONDS, 0.01
        while await self._look(live):
            if self._leads(live) or time.monotonic() > deadline:
                return True
            await asyncio.sleep(pause)
            pause *= 2
        return self._trail(live.session).server is None and self._leads(live)

    def _leads(self, live: LiveSession) -> bool:
        return any(proc.is_alive(*key) for key in self._trail(live.session).leaders.items())

    async def _look(self, live: LiveSession) -> bool:
        """Ask its tmux server anew; True while the session is there, or while nobody can say."""
        trail = self._trail(live.session)
        if trail.server is None or not proc.is_alive(*trail.server):
            return False
        panes = await self.multiplexers.look_at(live.session.place.get("socket", ""))
        if panes is None:
            return proc.is_alive(*trail.server)
        return self._take_in(live, panes, self.multiplexers.ours(live.session.place.get("socket", ""), trail.server[0]))

    async def _leaves_behind(self, live: LiveSession, keys: set[Key]) -> None:
        """Its panes are gone, and some of what ran in them is not."""
        trail = self._trail(live.session)
        trail.roots |= keys
        live.phase = "leftovers"
        self._know(live, trail)
        if not (read_json(self._file(live.session.id)) or {}).get("left"):
            self._keep(live.session.id, **trail.document(), left=True)
            await self.registry.note(live.session.id, DAEMON, "exited", exit=_UNKNOWN_EXIT, children="kept")
        live.notify()

    # -- ending

    async def end(self, live: LiveSession) -> dict[str, Any]:
        """From the intent to the word on the end, also when it was begun before a crash. With survivors, on and on."""
        await self._look(live)
        tree = self._tree(live.session)
        kept = read_json(self._file(live.session.id)) or {}
        self._recall(tree, kept)
        ladder: list[str] = list(kept.get("ladder", ()))
        patience = True
        while True:
            await self._descend(live, tree, ladder, patience)
            await self._close(live)
            await self._look(live)
            if not await asyncio.to_thread(tree.members):
                break
            patience = False
        if tree.multiplexers:
            spared = [f"{pid} {proc.command_of(pid)}" for pid, _ in tree.multiplexers]
            await self.registry.note_if_possible(live.session.id, DAEMON, "spared", processes=spared)
        return await self._word(tree, ladder)

    async def _descend(self, live: LiveSession, tree: TracedTree, ladder: list[str], patience: bool) -> None:
        """TERM, the grace, KILL until nobody is found; `patience` is off for what came back after that."""
        dying = KillLadder(tree, adopted=True, keep_children=False)
        grace: float | None = None
        closed = False
        while dying.phase != "ended":
            assert isinstance(live.session.state, BeingEnded)
            changed, intent = live.changed, live.session.state.intent
            if intent.grace != grace:
                grace = intent.grace
                await asyncio.to_thread(dying.stop, grace if patience else 0.0, intent.hangup if patience else 0.0)
            else:
                await asyncio.to_thread(dying.proceed, True)
            ladder += [step for step in dying.ladder if step not in ladder]
            self._note(live, tree, ladder)
            await self._tell(live, dying, tree)
            if "KILL" in dying.ladder and not closed:
                closed = True
                await self._close(live)  # now, as tmux may have been told to start anew what dies in a pane
            if dying.next_look is not None:
                await until(changed, dying.next_look - time.monotonic())
            await self._look(live)

    async def _tell(self, live: LiveSession, dying: KillLadder, tree: TracedTree) -> None:
        if dying.phase == "survivors":
            live.certificate = await asyncio.to_thread(tree.certificate, "best_effort")
        if live.phase != dying.phase and dying.phase != "ended":
            live.phase = dying.phase
            live.notify()

    async def _close(self, live: LiveSession) -> None:
        """Nothing of it runs any more: what tmux still shows of it goes. The server itself checks that it is the right one."""
        trail = self._trail(live.session)
        if trail.server is None or not proc.is_alive(*trail.server):
            return
        right = f"#{{==:#{{pid}},{trail.server[0]}}}"
        try:
            await TmuxServer(live.session.place.get("socket", "")).run(
                "if-shell", "-F", right, f"kill-session -t '${trail.number}'", seconds=_TMUX_SECONDS
            )
        except (TmuxError, LampError, OSError) as error:
            log.info("tmux did not close %s: %s", live.session.id, error)  # as a rule it is gone with its last process

    async def _word(self, tree: TracedTree, ladder: list[str]) -> dict[str, Any]:
        """What an exit file would say. Its trail was followed to the end, so nobody has to look for more of it."""
        return {
            "certificate": await asyncio.to_thread(tree.certificate, "best_effort"),
            "exit": _UNKNOWN_EXIT,
            "ladder": ladder,
            "ended_at": self.registry.clock.now(),
            "offset": 0,
            "followed": True,
        }

    def forget(self, session: str) -> None:
        """Its end is recorded."""
        for descriptor in self._eyes.pop(session, {}).values():
            self._close_eye(descriptor)
        self._trails.pop(session, None)

    # -- what is written down

    def _file(self, session: str) -> str:
        return f"{self.registry.folder(session)}/trail.json"

    def _keep(self, session: str, **changes: Any) -> None:
        """Best effort: with a full disk it is known until the daemon goes."""
        document = {**(read_json(self._file(session)) or {}), **changes}
        write_file(self._file(session), json.dumps(document).encode())

    def _note(self, live: LiveSession, tree: TracedTree, ladder: list[str]) -> None:
        """Who is on the way out, so that a certificate written after a crash names them too."""
        deaths = [[*death.key, death.command, death.signal] for death in tree.deaths.values()]
        self._keep(live.session.id, **self._trail(live.session).document(), deaths=deaths, ladder=ladder)

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
        others = (live.session for live in self.registry.live_sessions.values() if live.session.id != session.id)
        shared = {mark for other in others if other.agent == session.agent for mark in _marks(other)}
        return TracedTree(self._trail(session), self._ours, shared, state=self.registry.settings.home.state)

    def _ours(self) -> set[int]:
        """The keeper and the shims; the daemon is the tree's own process."""
        return {pid for pid, _ in self.registry.shims()} | ({self.keeper.pid} if self.keeper.pid else set[int]())


def _marks(session: Session) -> set[tuple[str, str]]:
    """What only the environment of what this agent started says, as far as that is known now."""
    traces, conversation = fingerprints_of(session.agent), session.conversation.get("id")
    if session.driver is not Driver.REGISTERED:
        return set()
    marks = {(name, conversation) for name in traces.sessions if conversation}
    return marks | {(name, str(pid)) for name in traces.pids for pid, _ in session.facts.processes}


def _server_of(tmux: TmuxPlace) -> Key | None:
    pid, start = tmux.get("server") or (0, 0)
    return (pid, start) if pid else None
