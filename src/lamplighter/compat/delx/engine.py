"""Going on from a logical session: which one an agent means, whether its policy lets it, and the one who does.

A living session is gone on with as it is. One that has ended never lives again: a successor is a new session, one at most. Its
start, the claim on what it goes on from and the use of a recovery token are one transaction.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

from lamplighter.domain.memory.handoff import Policy
from lamplighter.domain.memory.succession import inheritance, policy_of
from lamplighter.domain.permission import Caller, is_own
from lamplighter.domain.recovery import LIFETIME, Recovery
from lamplighter.domain.session import Session
from lamplighter.domain.token import digest_of, make_secret
from lamplighter.engine.logical.logical_sessions import Also, Announcement
from lamplighter.engine.memory.succession import Legacy
from lamplighter.errors import Code, ConflictError, ForbiddenError, Hint, MissingError, Use
from lamplighter.holder import proc
from lamplighter.lazy_dataclass import dataclass
from lamplighter.slices import Part
from lamplighter.store import aliases, handoffs, recovery, sessions

if TYPE_CHECKING:
    from lamplighter.app import App

_DAY = 86400.0
_MOST = 1000  # of an agent's sessions that are looked at, the newest
_KEPT_SECONDS = 7 * _DAY


@dataclass(frozen=True)
class Wanted:
    """Who wants to go on: an agent by its id in a namespace, with the secret of a recovery token where it is not its own."""

    namespace: str
    agent: str
    secret: str | None = None
    days: float = 30.0
    cwd: str | None = None


@dataclass(frozen=True)
class Resumed:
    """`waiting` are others of the agent that a successor is required for; `packet` is what a new successor starts from."""

    session: Session
    predecessor: Session | None
    waiting: list[str]
    packet: str = ""


@dataclass(frozen=True)
class _Candidate:
    session: Session
    policy: Policy
    successor: str | None

    @property
    def open(self) -> bool:
        """Whether somebody may go on from it."""
        return self.successor is None and self.policy is not Policy.CLOSED


class Resumption(Part):
    def __init__(self, app: App) -> None:
        super().__init__(app)
        self.registry = app.registry
        self.logical_sessions = app.logical_sessions
        self.packet_builder = app.packet_builder

    # -- tokens

    async def issue(self, session: Session, agent: str) -> tuple[str, float] | None:
        """A secret for whoever is to go on from it, and until when it is good; None when nobody may."""
        now, secret = self.registry.clock.now(), make_secret()
        made = Recovery(digest_of(secret), session.id, agent, now, now + LIFETIME)

        def write(db: sqlite3.Connection) -> bool:
            if not _candidate(db, session).open:
                return False
            recovery.insert(db, made)
            return True

        return (secret, made.expires_at) if await self.registry.store.write(write) else None

    async def forget_old(self) -> None:
        before = self.registry.clock.now() - _KEPT_SECONDS
        await self.registry.store.write(lambda db: recovery.forget_before(db, before))

    # -- going on

    async def go_on(self, wanted: Wanted, caller: Caller, key: str, *, repeated: bool) -> Resumed:
        """The living one, its lease renewed; else the successor of the last that may have one."""
        again = await self.registry.store.get(lambda db: sessions.by_key(db, key)) if repeated else None
        if again is not None:
            return await self._retold(await self.registry.now(again), wanted, caller)
        if wanted.secret is not None:
            return await self._recover(wanted, wanted.secret, caller, key)
        while True:
            found = await self._find(wanted, caller)
            if found.session.alive:
                if await self.logical_sessions.speak(found.session, caller, "resumed") is not None:
                    return await self._resumed(await self.registry.now(found.session), wanted, caller)
                await self._until_ended(found.session)
                continue
            try:
                return await self._succeed(found.session, wanted, caller, key, None)
            except ConflictError as error:  # somebody went on from it meanwhile, and that one may be the caller's own
                if error.code is not Code.SUCCEEDED:
                    raise

    async def left_behind(self, wanted: Wanted, caller: Caller) -> Session | None:
        """The agent's last session that somebody else started who is gone: its own, perhaps, from before it was started anew."""
        found = [one for one in await self._candidates(wanted) if not is_own(caller, one.session)]
        found = [one for one in self._recent(found, wanted) if self._is_abandoned(one.session)]
        chosen = _chosen(found)
        return chosen.session if chosen else None

    async def take(self, session: Session, wanted: Wanted, caller: Caller, key: str) -> Resumed:
        """Go on with a session that the operator gave to the caller."""
        if session.alive:
            if await self.logical_sessions.take_over(session, caller) is not None:
                return await self._resumed(await self.registry.now(session), wanted, caller)
            await self._until_ended(session)
        return await self._succeed(await self.registry.now(session), wanted, caller, key, None)

    def _is_abandoned(self, session: Session) -> bool:
        """Whoever started it cannot come back: a process that is gone, a session that has ended."""
        kind, _, who = session.owner.partition(":")
        if kind == "session":
            return who not in self.registry.live_sessions
        if kind == "client":
            pid, _, start = who.partition("@")
            return session.boot != self.registry.boot or not proc.is_alive(int(pid), int(start))
        return kind == "agent" and session.parent not in self.registry.live_sessions

    async def _until_ended(self, session: Session) -> None:
        live = self.registry.live_sessions.get(session.id)
        if live is not None:
            await live.ended.wait()

    async def _recover(self, wanted: Wanted, secret: str, caller: Caller, key: str) -> Resumed:
        digest, now = digest_of(secret), self.registry.clock.now()
        # What can be timed is the look-up of a hash, of which nobody can choose the beginning.
        found = await self.registry.store.get(lambda db: recovery.get(db, digest))
        problem = found.problem(wanted.agent, now) if found else "is not known"
        session = await self.registry.store.get(lambda db: sessions.get(db, found.session)) if found else None
        if problem is not None or session is None:
            await self.registry.note_if_possible(None, caller, "refused", act="resume", why=f"its token {problem}")
            raise _bad_token(problem or "is not known")

        def use(db: sqlite3.Connection) -> None:
            if not recovery.use(db, digest, now, caller.name):
                raise _bad_token("was used already, and each is good for one use")

        return await self._succeed(session, wanted, caller, key, use)

    async def _succeed(self, before: Session, wanted: Wanted, caller: Caller, key: str, also: Also | None) -> Resumed:
        packed = await self.packet_builder.pack(caller, predecessor=before)
        legacy = Legacy(before, packed, tuple(inheritance(before)) if is_own(caller, before) else (), force=False)

        def claim(db: sqlite3.Connection, session: str) -> None:
            if also is not None:
                also(db)
            legacy.claim(db, session)

        announced = Announcement(
            name=before.name,
            kind=before.kind,
            agent=before.agent,
            cwd=wanted.cwd or before.cwd,
            lease=before.lease.seconds if before.lease else None,
            told={name: text for name, text in before.told.items() if name != "statement"},
            shared={wanted.namespace: wanted.agent},
            predecessor=before,
            inherits=legacy.inherits,
        )
        made = await self.logical_sessions.start(announced, caller, key, repeated=False, claim=claim)
        return replace(await self._resumed(made, wanted, caller), packet=packed.text)

    async def _retold(self, session: Session, wanted: Wanted, caller: Caller) -> Resumed:
        """It was begun before a crash, and its packet was never seen; the receipt of it is kept."""
        found = await self._resumed(session, wanted, caller)
        if found.predecessor is None:
            return found
        return replace(found, packet=(await self.packet_builder.pack(caller, predecessor=found.predecessor)).text)

    async def _resumed(self, session: Session, wanted: Wanted, caller: Caller) -> Resumed:
        before = session.predecessor
        predecessor = await self.registry.store.get(lambda db: sessions.get(db, before)) if before else None
        waiting = [
            one.session.id
            for one in await self._own(wanted, caller)
            if one.policy is Policy.REQUIRED and one.open and not one.session.alive
        ]
        return Resumed(session, predecessor, waiting)

    # -- finding

    async def _find(self, wanted: Wanted, caller: Caller) -> _Candidate:
        """The newest that lives; else the newest that may be gone on from."""
        recent = self._recent(await self._own(wanted, caller), wanted)
        chosen = _chosen(recent)
        if chosen is None:
            raise _nothing(wanted, recent)
        return chosen

    def _recent(self, found: list[_Candidate], wanted: Wanted) -> list[_Candidate]:
        since = self.registry.clock.now() - wanted.days * _DAY
        return [one for one in found if one.session.alive or (one.session.ended_at or 0.0) >= since]

    async def _own(self, wanted: Wanted, caller: Caller) -> list[_Candidate]:
        return [one for one in await self._candidates(wanted) if is_own(caller, one.session)]

    async def _candidates(self, wanted: Wanted) -> list[_Candidate]:
        """The sessions that go by this agent's id, the newest first."""

        def read(db: sqlite3.Connection) -> list[_Candidate]:
            ids = aliases.sharing(db, wanted.namespace, wanted.agent, _MOST)
            known = [one for one in (sessions.get(db, identifier) for identifier in ids) if one is not None]
            return [_candidate(db, one) for one in known]

        found = await self.registry.store.read(read)
        return [replace(one, session=await self.registry.now(one.session)) for one in found]


def resumption_of(app: App) -> Resumption:
    return app.parts.get(Resumption)


def _chosen(recent: list[_Candidate]) -> _Candidate | None:
    """The newest that lives; else the newest that may be gone on from."""
    living = next((one for one in recent if one.session.alive), None)
    return living or next((one for one in recent if one.open), None)


def _candidate(db: sqlite3.Connection, session: Session) -> _Candidate:
    policy, after = policy_of(handoffs.of_session(db, session.id)), sessions.successor_of(db, session.id)
    return _Candidate(session, policy, after.id if after else None)


def _bad_token(problem: str) -> ForbiddenError:
    return ForbiddenError(
        Code.FORBIDDEN,
        f"this recovery token {problem}",
        Hint("whoever closed the session gets a new one by closing it again; or begin anew with ", Use("start")),
    )


def _nothing(wanted: Wanted, closed: list[_Candidate]) -> MissingError:
    why = "of yours" if not closed else "that anybody may go on from"
    if closed and closed[0].policy is Policy.CLOSED:
        hint = Hint(
            f"the last one, {closed[0].session.id}, was closed without a successor; begin anew with ", Use("start")
        )
    else:
        hint = Hint(
            "what somebody else started needs its recovery_token; look further back, or begin anew with ", Use("start")
        )
    return MissingError(
        Code.NOT_FOUND, f"{wanted.agent[:60]!a} has no session {why} in the last {wanted.days:g} days", hint
    )
