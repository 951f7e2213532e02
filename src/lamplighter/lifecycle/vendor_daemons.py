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
from dataclasses import dataclass, replace
from typing import Any

from lamplighter.agents import recognise
from lamplighter.agents.sharing import Sharing, sharing_of
from lamplighter.agents.traces import traces_of
from lamplighter.domain.ending import Certificate, Guarantee
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Session
from lamplighter.holder import proc
from lamplighter.holder.tree import MARK
from lamplighter.lifecycle.fleet import Fleet

log = logging.getLogger(__name__)
_COMMAND_SECONDS = 30.0
_GONE_SECONDS = 10.0
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Server:
    """A living daemon of an agent; `place` is where it and its conversations keep their things."""

    stat: proc.Stat
    words: tuple[str, ...]
    place: Mapping[str, str]


class VendorDaemons:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    async def settle(self, session: Session, certificate: Certificate) -> Certificate:
        """The certificate, once what its conversation runs in a shared daemon was stopped; as it is when there is no such."""
        sharing = sharing_of(session.agent)
        if sharing is None or session.boot != proc.boot_id() or not sharing.may_use(session.command):
            return certificate
        servers = await asyncio.to_thread(_servers, sharing, session)
        if not servers:
            return certificate
        conversation = session.conversation.get("id")
        await self.fleet.note_if_possible(
            session.id, DAEMON, "shared daemon", pids=[one.stat.pid for one in servers], conversation=conversation
        )
        stopped = bool(conversation) and await self._stopped(session, sharing, servers[0], str(conversation))
        ended, left = await asyncio.to_thread(_end_marked, session, certificate)
        why = _why(session.agent, conversation, stopped)
        spared = [
            {
                "pid": one.stat.pid,
                "start_ticks": one.stat.start,
                "command": proc.command_of(one.stat.pid),
                "why": why,
            }
            for one in servers
        ]
        return replace(
            certificate,
            guarantee=Guarantee.BEST_EFFORT,
            processes=[*certificate.processes, *ended],
            survivors=[*certificate.survivors, *left],
            spared=[*certificate.spared, *spared],
        )

    async def serving_others(self, session: Session) -> list[tuple[int, int, str]]:
        """The daemons that were started inside this session and have others to serve: not to be ended with it."""
        sharing = sharing_of(session.agent)
        if sharing is None or session.shim is None or not sharing.may_use(session.command):
            return []
        return await asyncio.to_thread(_serving_others, sharing, session, session.shim.pid)

    async def _stopped(self, session: Session, sharing: Sharing, server: Server, conversation: str) -> bool:
        """Whether the agent's own program said that it did it. All of its commands are run: the last may take the first back."""
        program = await asyncio.to_thread(_program, session, server)
        commands = sharing.stop(conversation)
        if program is None or not commands:
            return False
        done = [await _run([*program, *words], session, server) for words in commands]
        return all(done)


def _why(agent: str, conversation: Any, stopped: bool) -> str:
    shared = f"{agent}'s own daemon, which serves others too"
    if stopped:
        return f"{shared}: it was told to stop this conversation; what that has left elsewhere is not known"
    if conversation:
        return f"{shared}: it could not be told to stop this conversation, which may go on there"
    return f"{shared}: which of its conversations was this session's is not known, and it may go on there"


async def _run(command: list[str], session: Session, server: Server) -> bool:
    # Marked as the session's: what the program does is never done in the operator's name.
    environment = {"PATH": os.environ.get("PATH", os.defpath), **server.place, MARK: session.id}
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
        return False
    finally:
        if running.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            await running.wait()


# -- in a thread


def _servers(sharing: Sharing, session: Session) -> list[Server]:
    """The agent's daemons that live, are this user's, and keep their things where the session's agent does."""
    names = ("HOME", *traces_of(sharing.agent).variables)
    home = os.path.expanduser("~")
    own = _place(session.facts.get("places", {}), names, home)
    found: list[Server] = []
    for pid, stat in proc.scan().items():
        words = proc.words_of(pid, 8192) if stat.state not in "ZX" else []
        program = recognise(words)
        if program is None or program.name != sharing.agent or not sharing.is_server(words) or not _is_mine(pid):
            continue
        said = proc.variables_of(pid, names)
        if _place(said, names, home) == own:
            found.append(Server(stat, tuple(words), {"HOME": home, **said}))
    return found


def _serving_others(sharing: Sharing, session: Session, shim: int) -> list[tuple[int, int, str]]:
    """Those below the shim, while one of their kind that is not below it may use them."""
    names, home = ("HOME", *traces_of(sharing.agent).variables), os.path.expanduser("~")
    inside: list[tuple[int, int, str]] = []
    users: list[int] = []
    places = {_place(one.place, names, home) for one in _servers(sharing, session)}
    for pid, stat in proc.scan().items() if places else ():
        words = proc.words_of(pid, 8192) if stat.state not in "ZX" else []
        program = recognise(words)
        if program is None or program.name != sharing.agent or not _is_mine(pid):
            continue
        if _place(proc.variables_of(pid, names), names, home) not in places:
            continue
        below = any(one.pid == shim for one in proc.ancestors(pid))
        if sharing.is_server(words) or sharing.also(words):
            inside += [(pid, stat.start, f"{sharing.agent}'s own daemon, which serves others too")] if below else []
        elif not below and sharing.may_use(words):
            users.append(pid)
    return inside if users else []


def _place(said: Mapping[str, str], names: Iterable[str], home: str) -> str:
    *_, last = [said[name] for name in names if said.get(name)] or [home]
    return os.path.realpath(last)


def _is_mine(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.getuid()
    except OSError:
        return False


def _program(session: Session, server: Server) -> list[str] | None:
    """As the session itself was started, else as the daemon was."""
    for words in (session.command, server.words):
        program = recognise(list(words))
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
    names, conversation = traces_of(session.agent).sessions, session.conversation.get("id")
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
