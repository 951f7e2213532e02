"""The machine and the daemon: what a kill proves here, what is broken, how to mend it; and going down."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import resource
import shutil
from typing import Any

from lamplighter import __version__
from lamplighter.domain.ending import StopSteps
from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.domain.states import BeingEnded
from lamplighter.domain.timestamp import timestamp
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.end.ender import Ender
from lamplighter.engine.observe.screens import Screens
from lamplighter.engine.service.store_custody import Custody
from lamplighter.engine.service.upkeep import Upkeep
from lamplighter.errors import LampError
from lamplighter.store import sessions
from lamplighter.store.connection import problem
from lamplighter.store.losses import Loss

log = logging.getLogger(__name__)
_LOW_DISK = 500 << 20


class Doctor:
    def __init__(
        self,
        registry: SessionRegistry,
        keeper: KeeperClient,
        ender: Ender,
        upkeep: Upkeep,
        custody: Custody,
        screens: Screens,
    ) -> None:
        self.registry = registry
        self.custody = custody
        self.screens = screens
        self.keeper = keeper
        self.ender = ender
        self.upkeep = upkeep
        self.since = registry.clock.now()
        self.going = asyncio.Event()
        self.http_url: str | None = None  # both told by the HTTP door
        self.http_problem = ""
        registry.store.on_damaged.append(self._give_way)

    def _give_way(self, why: str) -> None:
        """To a daemon that restores the store: the keeper starts it as soon as this one is gone."""
        log.critical("the daemon starts again: %s", why)
        self.going.set()

    @property
    def guarantee(self) -> str:
        return "kernel" if self.keeper.cgroup and self.registry.settings.cgroup != "off" else "tree"

    async def status(self, caller: Caller) -> dict[str, Any]:
        states = [live.session.state for live in self.registry.live_sessions.values()]
        return {
            "pid": os.getpid(),
            "version": __version__,
            "since": timestamp(self.since),
            "home": self.registry.settings.home.state,
            "keeper": self.keeper.pid,
            "alive": len(states),
            "ending": sum(isinstance(state, BeingEnded) for state in states),
            "ended": await self.registry.store.read(sessions.count_ended),
            "guarantee": self.guarantee,
            "http": self.http_url,
            "http_problem": self.http_problem,
            "caller": caller.name,
        }

    async def down(self, caller: Caller, *, everything: bool, grace: float) -> dict[str, Any]:
        """Sessions first when asked; then the daemon, once this is answered."""
        rows: list[dict[str, Any]] = []
        if everything:
            ids = [live.session.id for live in self.registry.live_sessions.values() if not _is_others(live.session)]
            rows = list(await asyncio.gather(*(self._end(session, caller, grace) for session in ids)))
        await self.registry.note(None, caller, "down", all=everything)
        await self.keeper.down()
        return {"ended": rows, "alive": len(self.registry.live_sessions)}

    async def _end(self, session: str, caller: Caller, grace: float) -> dict[str, Any]:
        live = self.registry.live_sessions.get(session)
        if live is None:
            return {"id": session}
        try:
            steps = StopSteps(ask=True, grace=grace)
            return await self.ender.end(live.session, caller, "down --all", steps, key=f"down:{session}")
        except LampError as error:
            return {"id": session, "name": live.session.name, "error": error.document()}

    async def checkup(self) -> dict[str, Any]:
        seen = [*self._sessions(), *await self._screens()]
        checks = [*await asyncio.to_thread(self._machine), *seen, *await self._store()]
        return {"guarantee": self.guarantee, "checks": checks}

    async def _screens(self) -> list[dict[str, Any]]:
        """The agents whose screens are not known any more, as they are newer than what was seen of them."""
        found: dict[str, str] = {}
        for live in list(self.registry.live_sessions.values()):
            session = live.session
            shown = await self.screens.look(session) if session.alive else None
            if (
                shown is not None
                and shown.told is None
                and not shown.blank
                and (newer := await self.screens.newer(session))
            ):
                found.setdefault(newer, session.name)
        mend = "update Lamplighter; until then: lamp attach, or lamp send --keys"
        told = "and {name} shows none of them: lamp send types nothing into what it does not know"
        return [_check("agents", "note", f"{newer}, {told.format(name=name)}", mend) for newer, name in found.items()]

    def _machine(self) -> list[dict[str, Any]]:
        return [
            _check("platform", "ok", f"{platform.system()} {platform.release()}, Python {platform.python_version()}"),
            self._cgroup(),
            _check("subreaper", "ok", "orphans of a session stay in its tree"),
            _pidfd(),
            _descriptors(),
            _linger(),
            _kill_user_processes(),
            self._disk(),
            self._folders(),
        ]

    def _cgroup(self) -> dict[str, Any]:
        if self.guarantee == "kernel":
            return _check(
                "cgroup", "ok", f"each session has its own, under {self.keeper.cgroup}; a kill proves `kernel`"
            )
        if self.registry.settings.cgroup == "off":
            return _check("cgroup", "note", "switched off; a kill proves `tree`", 'set cgroup = "auto" in the settings')
        mend = "start the daemon in a scope of your own: systemd-run --user --scope -p Delegate=yes lamp up"
        return _check("cgroup", "note", "none can be made here; a kill proves `tree`", mend)

    def _disk(self) -> dict[str, Any]:
        free = shutil.disk_usage(self.registry.settings.home.state).free
        state = "ok" if free > _LOW_DISK else "bad"
        mend = (
            ""
            if state == "ok"
            else "make room, or lamp prune --apply; sessions go on, but their output is lost when it is full"
        )
        return _check("disk", state, f"{free >> 20} MB free under {self.registry.settings.home.state}", mend)

    def _folders(self) -> dict[str, Any]:
        home = self.registry.settings.home
        there = [folder for folder in (home.state, home.run) if os.path.isdir(folder)]
        loose = [folder for folder in there if os.stat(folder).st_mode & 0o077]
        if loose:
            return _check("permissions", "bad", f"others can enter {', '.join(loose)}", f"chmod 700 {' '.join(loose)}")
        return _check("permissions", "ok", "sockets and logs are yours alone")

    def _sessions(self) -> list[dict[str, Any]]:
        checks = [_check("keeper", "ok", f"process {self.keeper.pid}") if self.keeper.pid else _no_keeper()]
        lost = [live.session.name for live in self.registry.live_sessions.values() if live.session.holder_lost]
        if lost:
            mend = "end them when you can; a kill of them is best_effort"
            checks.append(_check("holders", "note", f"the first holder of {', '.join(lost[:5])} was lost", mend))
        checks.append(self._sockets())
        left = [live.session.name for live in self.registry.live_sessions.values() if live.phase == "survivors"]
        if left:
            checks.append(
                _check("survivors", "bad", f"{', '.join(left[:5])} did not die", "lamp show names what is left and why")
            )
        return checks

    def _sockets(self) -> dict[str, Any]:
        """What somebody took away from under us: made again, or still missing."""
        missing, remade = self.upkeep.missing, self.upkeep.remade
        lost = [live.session.name for live in self.registry.live_sessions.values() if live.unreachable]
        if missing:
            return _check("sockets", "bad", f"cannot be made again: {', '.join(missing)}", "make the folder writable")
        if lost:
            mend = "its holder is of an older version and has lost its socket: it goes on, and lamp kill ends it by its processes"
            return _check("sockets", "note", f"cannot be reached: {', '.join(lost[:5])}", mend)
        if remade:
            found = f"taken away and made again: {', '.join(dict.fromkeys(remade[-5:]))}"
            mend = "exclude the folder from whatever cleans up there; `loginctl enable-linger` keeps XDG_RUNTIME_DIR"
            return _check("sockets", "note", found, mend)
        return _check("sockets", "ok", f"all are there, in {self.registry.settings.home.run}")

    async def notice(self) -> str:
        """What whoever lists sessions has to know of the store; nothing when it is well."""
        if self.registry.store.unwritable is not None:
            return f"{self.registry.store.unwritable.message}; endings are kept, nothing else can be changed"
        lost = [loss for loss in await self.custody.losses() if not loss.harmless]
        return _told(lost[-1], self.registry.settings.home.state) if lost else ""

    async def _store(self) -> list[dict[str, Any]]:
        unwritable = self.registry.store.unwritable
        if unwritable is not None:
            mend = "make room, or let it be written; endings are kept until then, and nothing else can be changed"
            return [_check("store", "bad", unwritable.message, mend)]
        found = await self.registry.store.read(problem)
        if found is not None:
            mend = "lamp down, then lamp up: the last snapshot is restored, and the file is kept"
            return [_check("store", "bad", f"damaged: {found}", mend)]
        told = [_told(loss, self.registry.settings.home.state) for loss in await self.custody.losses()]
        if not told:
            return [_check("store", "ok", self.registry.settings.home.database)]
        mend = "find out what deletes or writes files there; this is told for a week after it happened"
        return [_check("store", "bad", "; ".join(told[-3:]), mend)]


def _told(loss: Loss, state: str) -> str:
    """One loss in a sentence."""
    at = timestamp(loss.at)
    if loss.harmless:
        return f"{at}: {loss.why}; it was written anew from memory, and nothing was lost"
    if loss.restored is None:
        came = "there was no snapshot, so the store began anew, with what lives"
    else:
        since = timestamp(loss.restored)
        came = f"the snapshot of {since} was restored; what was written between the two is lost"
    return f"{at}: {loss.why}; {came}; what was left of it is in {state}/lost/{loss.kept}"


def _check(name: str, state: str, found: str, mend: str = "") -> dict[str, Any]:
    return {"name": name, "state": state, "found": found, "mend": mend}


def _is_others(session: Session) -> bool:
    """An agent in somebody's terminal that only spoke to us: nobody put it under management, and it needs no holder of ours."""
    return session.in_foreign_terminal and not session.facts.adopted


def _no_keeper() -> dict[str, Any]:
    return _check("keeper", "bad", "there is none", "lamp down, then lamp up")


def _pidfd() -> dict[str, Any]:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return _check("pidfd", "bad", str(error), "use a kernel of 5.3 or newer")
    return _check("pidfd", "ok", "no signal can hit a process that took over a pid")


def _descriptors() -> dict[str, Any]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    room = hard // 4
    if hard != resource.RLIM_INFINITY and room < 250:
        return _check(
            "descriptors", "note", f"{hard}: room for about {room} sessions", "raise the hard limit: ulimit -Hn"
        )
    return _check("descriptors", "ok", f"at most {hard}")


def _linger() -> dict[str, Any]:
    user = os.environ.get("USER") or str(os.getuid())
    if not os.path.isdir("/run/systemd/system"):
        return _check("linger", "ok", "no systemd: nothing ends your processes when you log out")
    if os.path.exists(f"/var/lib/systemd/linger/{user}"):
        return _check("linger", "ok", "on: your processes outlive your login")
    return _check(
        "linger", "note", "off: systemd may end your processes when you log out", f"loginctl enable-linger {user}"
    )


def _kill_user_processes() -> dict[str, Any]:
    try:
        with open("/etc/systemd/logind.conf") as file:
            on = any(line.strip().lower() == "killuserprocesses=yes" for line in file)
    except OSError:
        return _check("KillUserProcesses", "ok", "no logind settings here")
    if on:
        return _check(
            "KillUserProcesses",
            "bad",
            "yes: logging out ends every session",
            "set it to no in /etc/systemd/logind.conf, or enable linger",
        )
    return _check("KillUserProcesses", "ok", "no")
