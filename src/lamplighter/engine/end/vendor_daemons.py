"""What a session's agent has running in a daemon that it shares with others: stopped there in the agent's own way, and told.

Such a daemon is in no tree of the session's, and is never signalled: others are served by it. An end in which one had a part is
`best_effort`. Knows the agents' sharing and /proc; knows nothing of shims. Its acts are safe to repeat: an end that a crash
interrupts does all of it again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lamplighter.agents import agent_named, recognise
from lamplighter.agents.formats.fingerprints import fingerprints_of
from lamplighter.agents.formats.shared_daemon import SharedDaemon
from lamplighter.domain.ending import Certificate, Guarantee
from lamplighter.domain.facts import SharedDaemonStop
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.tasks import Tasks
from lamplighter.errors import UnavailableError
from lamplighter.holder import proc
from lamplighter.holder.marks import MARK
from lamplighter.holder.shared_servers import serves_outside
from lamplighter.lazy_dataclass import dataclass

log = logging.getLogger(__name__)
_COMMAND_SECONDS = 30.0
_GONE_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_FIRST_SECONDS = 10.0


@dataclass(frozen=True)
class VendorDaemon:
    """A living daemon of an agent; `place` is where it and its conversations keep their things."""

    stat: proc.Stat
    words: tuple[str, ...]
    place: Mapping[str, str]


class VendorDaemons:
    def __init__(self, registry: SessionRegistry, tasks: Tasks) -> None:
        self.registry = registry
        self.tasks = tasks
        self._stopping: dict[str, asyncio.Task[None]] = {}

    async def stop_first(self, session: Session) -> None:
        """Before anything of the session is signalled: its terminal may be what keeps the turn in order. A daemon that does not
        answer holds an end up for a while only; what it was told goes on, and is waited for where the end is recorded."""
        if agent_named(session.agent).shared_daemon is None:
            return
        if session.id not in self._stopping:
            self._stopping[session.id] = self.tasks.begin(self._stop_first(session), f"shared daemon of {session.id}")
        await asyncio.wait({self._stopping[session.id]}, timeout=_FIRST_SECONDS)

    async def _stop_first(self, session: Session) -> None:
        sharing, conversation = _sharing(session), session.conversation.get("id")
        if sharing is None or not conversation:
            return
        servers = await asyncio.to_thread(_servers, sharing, session)
        staying = [one for one in servers if await asyncio.to_thread(_stays, one, session)]
        if staying:
            await self._stop(session, sharing, staying, str(conversation))

    async def settle(self, session: Session, certificate: Certificate) -> Certificate:
        """The certificate, once what its conversation runs in a shared daemon was stopped; as it is when there is no such."""
        first = self._stopping.pop(session.id, None)
        if first is not None:
            await asyncio.wait({first})
        sharing = _sharing(session)
        servers = await asyncio.to_thread(_servers, sharing, session) if sharing else []
        if sharing is None or not servers:
            await self._take_back(session)
            if sharing is None or self._noted(session.id) is None:
                return certificate
        conversation = session.conversation.get("id")
        stopped = bool(conversation) and await self._stop(session, sharing, servers, str(conversation))
        ended, left = await asyncio.to_thread(_end_marked, session, certificate)
        told = _named(servers, _why(session, stopped, back=not self._is_put_away(session.id)))
        known = {(entry["pid"], entry["start_ticks"]) for entry in [*told, *ended, *left]}
        spared = [entry for entry in certificate.spared if (entry["pid"], entry["start_ticks"]) not in known]
        return replace(
            certificate,
            guarantee=Guarantee.BEST_EFFORT,
            processes=[*certificate.processes, *ended, *(_gone(one) for one in spared if not _is_there(one))],
            survivors=[*certificate.survivors, *left],
            spared=[*(one for one in spared if _is_there(one)), *told],
        )

    async def _stop(
        self, session: Session, sharing: SharedDaemon, servers: list[VendorDaemon], conversation: str
    ) -> bool:
        """Whether the agent's own program said that it did it. What takes it back is written down before: a crash in between
        must not leave a conversation that cannot be gone on with."""
        program = await asyncio.to_thread(_program, session, servers[0]) if servers else None
        commands = sharing.stop(conversation)
        if program is None or not commands:
            return False
        await self._take_back(session)  # what a daemon before us has begun: an agent refuses to do it twice
        place = servers[0].place
        undo = [list(words) for words in sharing.undo(conversation)]
        noted: SharedDaemonStop = {"program": program, "place": dict(place), "undo": undo}
        pids = [one.stat.pid for one in servers]
        await self._note(session.id, noted, pids=pids, conversation=conversation, told=[list(one) for one in commands])
        done = [await _run([*program, *words], session, place) for words in commands]
        if False in done:  # refused: then nothing is to be taken back, and what others have put away stays so
            await self._note(session.id, {**noted, "undo": []})
        await self._take_back(session)
        return all(done)

    async def _take_back(self, session: Session) -> None:
        """What has to be done after a stop, if that is still to be done."""
        noted = self._noted(session.id)
        if noted is None:
            return
        commands = noted["undo"]
        done = [await _run([*noted["program"], *words], session, noted["place"]) for words in commands]
        if commands and all(done):
            await self._note(session.id, {**noted, "undo": []}, told=commands)
        elif commands:
            log.error(
                "%s: %s failed: its conversation may be put away", session.id, " and ".join(map(" ".join, commands))
            )

    def _noted(self, session: str) -> SharedDaemonStop | None:
        live = self.registry.live_sessions.get(session)
        return live.session.facts.shared_daemon if live else None

    def _is_put_away(self, session: str) -> bool:
        noted = self._noted(session)
        return noted is not None and bool(noted["undo"])

    async def _note(self, session: str, noted: SharedDaemonStop, **detail: Any) -> None:
        """An end never waits for the store: what cannot be written down is done all the same."""

        def become(before: Session) -> Session:
            return replace(before, facts=replace(before.facts, shared_daemon=noted))

        try:
            await self.registry.change(session, DAEMON, "shared daemon", become, **detail)
        except UnavailableError as error:
            log.error("%s: what its agent's daemon is told is not written down: %s", session, error)


def _sharing(session: Session) -> SharedDaemon | None:
    """None for one that has no part in a daemon of its agent."""
    sharing = agent_named(session.agent).shared_daemon
    if sharing is None or session.boot != proc.boot_id() or not sharing.may_use(session.command):
        return None
    return sharing


def _why(session: Session, stopped: bool, *, back: bool) -> str:
    shared, conversation = f"{session.agent}'s own daemon, which may serve others too", session.conversation.get("id")
    if stopped and not back:
        return (
            f"{shared}: it was told to stop this conversation, which is put away there now and could not be taken back"
        )
    if stopped:
        return f"{shared}: it was told to stop this conversation; what that has left elsewhere is not known"
    if conversation:
        return f"{shared}: it could not be told to stop this conversation, which may go on there"
    return f"{shared}: which of its conversations was this session's is not known, and it may go on there"


def _named(servers: list[VendorDaemon], why: str) -> list[dict[str, Any]]:
    return [
        {"pid": one.stat.pid, "start_ticks": one.stat.start, "command": proc.command_of(one.stat.pid), "why": why}
        for one in servers
    ]


def _is_there(entry: Mapping[str, Any]) -> bool:
    return proc.is_alive(entry["pid"], entry["start_ticks"])


def _gone(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What was spared with a daemon, and has been ended by it since."""
    return {**entry, "signal": None, "seconds": 0.0, "why": "ended by its agent's own daemon"}


async def _run(command: list[str], session: Session, place: Mapping[str, str]) -> bool | None:
    """Whether it says that it did it; None when nobody can tell."""
    # Marked as the session's: what the program does is never done in the operator's name.
    environment = {"PATH": os.environ.get("PATH", os.defpath), **place, MARK: session.id}
    try:
        running = await asyncio.create_subprocess_exec(
            *command,
            cwd="/",
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        log.warning("%s: %s could not be run: %s", session.id, command[0], error)
        return False
    try:
        return await asyncio.wait_for(running.wait(), _COMMAND_SECONDS) == 0
    except TimeoutError:
        log.warning("%s: %s did not come to an end", session.id, " ".join(command)[:200])
        return None
    finally:
        if running.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            await running.wait()


# -- in a thread


def _servers(sharing: SharedDaemon, session: Session) -> list[VendorDaemon]:
    """The agent's daemons that live, are this user's, and keep their things where the session's agent does."""
    names = ("HOME", *fingerprints_of(sharing.agent).variables)
    home = os.path.expanduser("~")
    own = _place(session.facts.places, names, home)
    found: list[VendorDaemon] = []
    for pid, stat in proc.scan().items():
        words = proc.words_of(pid, 8192) if stat.state not in "ZX" else []
        program = recognise(words)
        if program is None or program.name != sharing.agent or not sharing.is_server(words) or not _is_mine(pid):
            continue
        said = proc.variables_of(pid, names)
        if _place(said, names, home) == own:
            found.append(VendorDaemon(stat, tuple(words), {"HOME": home, **said}))
    return found


def _stays(server: VendorDaemon, session: Session) -> bool:
    """Whether it outlives the session: it is not below its shim, or a process outside is connected to it."""
    shim = session.shim.pid if session.shim else 0
    below = any(one.pid == shim for one in proc.ancestors(server.stat.pid))
    return not below or serves_outside(server.stat.pid, (), shim, (MARK, session.id))


def _place(said: Mapping[str, str], names: Iterable[str], home: str) -> str:
    *_, last = [said[name] for name in names if said.get(name)] or [home]
    return os.path.realpath(last)


def _is_mine(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.getuid()
    except OSError:
        return False


def _program(session: Session, server: VendorDaemon) -> list[str] | None:
    """As the session itself was started, else as the daemon was."""
    for words in (session.command, server.words):
        program = recognise(words)
        own = list(words[: program.length(words)]) if program else []
        found = shutil.which(own[0]) if own else None
        if found is not None:
            return [found, *own[1:]]
    return None


def _end_marked(session: Session, certificate: Certificate) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What carries the conversation in its environment and is no older than the session: what its tools have left. First it is
    waited for, as the daemon may be ending it."""
    begun, deadline = time.monotonic(), time.monotonic() + _GONE_SECONDS
    seen: dict[tuple[int, int], str] = {}
    signalled: set[tuple[int, int]] = set()
    known = {(entry["pid"], entry["start_ticks"]) for entry in certificate.processes}
    while True:
        living = {key: command for key, command in _marked(session).items() if key not in known}
        seen |= living
        if not living or time.monotonic() > deadline:
            break
        if time.monotonic() > begun + _GONE_SECONDS / 5:
            for key in living:
                proc.send_signal(*key, signal.SIGKILL)
                signalled.add(key)
        time.sleep(_LOOK_SECONDS)  # the daemon ends them, or the kernel; neither tells us
    entries = {
        key: {
            "pid": key[0],
            "start_ticks": key[1],
            "command": command,
            "signal": "KILL" if key in signalled else None,
            "seconds": round(time.monotonic() - begun, 6),
            "why": "it carried the session's conversation in its environment",
        }
        for key, command in seen.items()
    }
    return [entries[key] for key in entries if key not in living], [entries[key] for key in living]


def _marked(session: Session) -> dict[tuple[int, int], str]:
    names, conversation = fingerprints_of(session.agent).sessions, session.conversation.get("id")
    if not names or not conversation or session.main is None:
        return {}
    found: dict[tuple[int, int], str] = {}
    for pid, stat in proc.scan().items():
        if stat.state in "ZX" or stat.start < session.main.start or not _is_mine(pid):
            continue
        said = proc.variables_of(pid, (MARK, *names))
        # With a mark of ours it is that session's, whatever its agent told it.
        own = said.get(MARK) in (None, session.id) and any(said.get(name) == conversation for name in names)
        if own and recognise(proc.words_of(pid, 8192)) is None:
            found[stat.key] = proc.command_of(pid)
    return found
