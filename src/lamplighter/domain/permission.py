"""Who may do what to which session. Knows callers as the kernel names them; knows nothing of sockets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum

from lamplighter.domain.memory.record import Record, Source
from lamplighter.domain.session import Kind, Session
from lamplighter.errors import Code, ForbiddenError
from lamplighter.lazy_dataclass import dataclass


class Rank(StrEnum):
    """What a caller is. `unknown` cannot be told from a process that escaped a session; `nobody` is gone or unreadable.

    `client` is an MCP client in no session and with no known agent above it, `token` whoever has that token.
    """

    OPERATOR = "operator"
    SESSION = "session"
    AGENT = "agent"
    CLIENT = "client"
    TOKEN = "token"
    UNKNOWN = "unknown"
    NOBODY = "nobody"


class Act(StrEnum):
    """`find` is to learn which session a word means: whoever may do anything may."""

    FIND = "find"
    READ = "read"
    READ_OUTPUT = "read output"
    START = "start"
    SEND = "send"
    END = "end"
    KILL = "kill"
    PROTECT = "protect"
    UNPROTECT = "unprotect"
    ADOPT = "adopt"
    APPROVE = "approve"
    PRUNE = "prune"
    DOWN = "stop the daemon"
    DOWN_ALL = "stop the daemon and every session"
    TOKEN = "manage tokens"
    PAGE = "open the page"
    HAND_OFF = "hand off for"
    RECORD = "keep records"
    FORGET = "forget for good"
    OVERRIDE = "override a succession policy"
    IMPORT = "import records"
    INSTALL = "change how agents are set up"


@dataclass(frozen=True)
class Caller:
    """`name` is what events say and what owns a session: operator, session:<id>, agent:<program>:<pid>, client:<pid>,
    token:<name>. `scopes` is what a token may do; None for everybody else. `within` is the session that it is in, and `inherits`
    are those that this one went on from: what they started is its own. `pid` is the process that asks, where one does: not a part
    of who it is. `host` is None for who calls on this host, else the name of the host that it calls from: `name` begins with that
    and a slash then, and `within` and `inherits` are of that host."""

    rank: Rank
    name: str
    within: str | None = None
    scopes: frozenset[str] | None = None
    inherits: frozenset[str] = frozenset()
    pid: int = field(default=0, compare=False)
    host: str | None = None

    @property
    def session(self) -> str | None:
        """Its own session here. Ids are of one host: whoever calls from another is in none of ours."""
        return self.within if self.host is None else None

    @property
    def own(self) -> frozenset[str]:
        """What is its own: a session that has one of these for its id, or for its owner, or above it."""
        prefix = f"{self.host}/" if self.host is not None else ""
        own = {self.name, *(f"{prefix}session:{session}" for session in self.inherits)}
        if self.host is None:
            own |= {session for session in (self.within, *self.inherits) if session is not None}
        return frozenset(own)


OPERATOR = Caller(Rank.OPERATOR, "operator")
NOBODY = Caller(Rank.NOBODY, "nobody")
DAEMON = Caller(Rank.OPERATOR, "lamplighter")

_OPERATORS_OWN = frozenset(
    {
        Act.DOWN,
        Act.DOWN_ALL,
        Act.PRUNE,
        Act.UNPROTECT,
        Act.ADOPT,
        Act.APPROVE,
        Act.TOKEN,
        Act.PAGE,
        Act.FORGET,
        Act.OVERRIDE,
        Act.IMPORT,
        Act.INSTALL,
    }
)
_FREE = frozenset({Act.FIND, Act.READ, Act.START})
_ON = {Act.SEND: "send to", Act.START: "start a child of", Act.READ_OUTPUT: "read the output of"}
"""An act as it is said of a session, where the bare word would not do."""
_BY_APPROVAL = frozenset({Act.SEND, Act.END, Act.KILL, Act.READ_OUTPUT})
_ON_OWN = frozenset({Act.HAND_OFF, Act.READ_OUTPUT})
"""What may be done to all that is one's own: also what is protected, a main session, or has people attached."""
_READS_OWN = (
    'with the setting agents_read = "own" an agent reads the output of itself, what it started and its predecessors'
)
_MAY_ASK = frozenset({Rank.SESSION, Rank.AGENT, Rank.CLIENT, Rank.TOKEN})
_SCOPES = {
    Act.READ: "read",
    Act.READ_OUTPUT: "read",
    Act.START: "start",
    Act.SEND: "send",
    Act.END: "end",
    Act.KILL: "end",
    Act.HAND_OFF: "records",
    Act.RECORD: "records",
}


def admit(caller: Caller, act: Act) -> None:
    """What can be said before anything of a call is looked at: FORBIDDEN for nobody, and for a token without the scope."""
    problem = _stopped(caller, act)
    if problem:
        raise ForbiddenError(
            Code.FORBIDDEN, f"{caller.name} may not {act}: {problem}", _hint(caller, act), act=act.value
        )


def check(caller: Caller, act: Act, target: Session | None, line: Iterable[str], attached: int = 0) -> None:
    """Nothing when the caller may; FORBIDDEN with the reason when not. `line` is the target's ancestors, with their owners."""
    problem = _problem(caller, act, target, list(line), attached)
    if problem:
        what = f'{_ON.get(act, act)} "{target.name}" ({target.id})' if target else act
        raise ForbiddenError(
            Code.FORBIDDEN, f"{caller.name} may not {what}: {problem}", _hint(caller, act), act=act.value
        )


def check_record(caller: Caller, record: Record) -> None:
    """FORBIDDEN when a record is not the caller's to close: what the operator stored, the operator takes back."""
    if caller.rank is not Rank.OPERATOR and record.source is Source.OPERATOR:
        raise ForbiddenError(
            Code.FORBIDDEN,
            f"{caller.name} may not change {record.id}: the operator stored it",
            "store what you know beside it, and tell the operator why",
            act=Act.RECORD.value,
        )


def check_reading(caller: Caller) -> None:
    """FORBIDDEN for who may not name a file that is then read and told of."""
    if caller.rank is Rank.TOKEN:
        raise ForbiddenError(
            Code.FORBIDDEN,
            f"{caller.name} may not name a file to be read: whoever has a token need not be a user of this machine",
            "leave transcript_path out, and the session's own transcript is looked for",
        )


def check_resuming(caller: Caller, target: Session) -> None:
    """FORBIDDEN for who is to go on from a session that another caller started, if only itself before a restart."""
    if caller.rank is not Rank.OPERATOR and not related(caller, target, target.line):
        raise ForbiddenError(
            Code.FORBIDDEN,
            f'{caller.name} may not go on from "{target.name}" ({target.id}): another caller started it, which is gone',
            "give its recovery_token, or ask the operator",
        )


def check_naming(caller: Caller, what: str) -> None:
    """FORBIDDEN, where each reads its own alone, for who names something to be read of which nobody can tell whose it is."""
    if caller.rank is not Rank.OPERATOR:
        raise ForbiddenError(
            Code.FORBIDDEN,
            f"{caller.name} may not name {what}: whose it is cannot be told",
            f"{_READS_OWN}; leave it out, or ask the operator to do this",
            act=Act.READ_OUTPUT.value,
        )


def may(caller: Caller, act: Act, target: Session) -> bool:
    """Whether `check` lets it pass while nobody is attached, for what is shown with more or less in it."""
    return _problem(caller, act, target, target.line, 0) is None


def may_ask(caller: Caller, act: Act, target: Session, line: Iterable[str], attached: int = 0) -> bool:
    """Whether the operator's word would do: nothing stands in the way but that the session is beyond the caller."""
    if caller.rank not in _MAY_ASK or act not in _BY_APPROVAL:
        return False
    found = list(line)
    return _problem(caller, act, target, found, attached) == _beyond(caller, target, found, attached)


def _problem(caller: Caller, act: Act, target: Session | None, line: list[str], attached: int) -> str | None:
    if caller.rank is Rank.OPERATOR:
        return None
    if stopped := _stopped(caller, act):
        return stopped
    if act in _FREE:
        return None
    if caller.rank is Rank.UNKNOWN:
        return "it cannot be told from a process that escaped a session"
    if act is Act.RECORD:
        return None
    if act in _OPERATORS_OWN or target is None:
        return "only the operator may"
    if act in _ON_OWN:
        return _foreign(caller, target, line)
    return _beyond(caller, target, line, attached)


def _stopped(caller: Caller, act: Act) -> str | None:
    if caller.rank is Rank.NOBODY:
        return "it is gone or cannot be read"
    if caller.rank is not Rank.TOKEN or act is Act.FIND:
        return None
    scope = _SCOPES.get(act)
    if scope is None:
        return "no token may"
    return None if scope in (caller.scopes or ()) else f"it lacks the scope {scope}"


def related(caller: Caller, target: Session, line: Iterable[str]) -> bool:
    """Whether it is the caller's own session, or was started by it or by one that it went on from."""
    return not caller.own.isdisjoint((target.id, target.owner, *line))


def is_own(caller: Caller, target: Session) -> bool:
    """Whether it counts as the caller's: everything is the operator's."""
    return caller.rank is Rank.OPERATOR or related(caller, target, target.line)


def _foreign(caller: Caller, target: Session, line: list[str]) -> str | None:
    return None if related(caller, target, line) else "it is neither the caller's own session nor one that it started"


def _beyond(caller: Caller, target: Session, line: list[str], attached: int) -> str | None:
    own = target.id == caller.session
    if foreign := _foreign(caller, target, line):
        return foreign
    if target.protected:
        return "it is protected"
    if target.kind is Kind.SYSTEM or (target.kind is Kind.MAIN and not own):
        return f"it is a {target.kind} session"
    if attached and not own:
        return "people are attached to it"
    return None


def _hint(caller: Caller, act: Act) -> str:
    if caller.rank is Rank.NOBODY:
        return "call again from a process that lives until it is answered"
    if caller.rank is Rank.TOKEN:
        return "a token does what its scopes say, to what was started with it; ask the operator for this, or for another token"
    if caller.rank is Rank.UNKNOWN:
        return "a session's holders were killed on this machine; call from a login that is older than that session"
    if act is Act.READ_OUTPUT:
        return f"{_READS_OWN}; ask the operator for this one"
    return "an agent ends itself and what it started; ask the operator to do this from a shell outside any session"
