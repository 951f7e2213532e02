"""Who may do what to which session: every rank, act and relation as a table; and what the operator's word can do for whom."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from lamplighter.domain import permission
from lamplighter.domain.facts import Facts
from lamplighter.domain.permission import Act, Caller, Rank, admit, check, may, may_ask, related
from lamplighter.domain.plan import PlanRequest
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.errors import Code, ForbiddenError

OTHER = Session("0a", "other", Kind.TASK, Driver.TERMINAL, "operator", ("cat",), "/", 1.0, "b")
ASKING = {Rank.SESSION, Rank.AGENT, Rank.CLIENT}

# always: to every session, and where there is none; own: to one's own sessions; -: never
TABLE = """
                                    operator  session  agent   client  token   unknown  nobody
find                                always    always   always  always  always  always   -
read                                always    always   always  always  always  always   -
read output                         always    own      own     own     own     -        -
start                               always    always   always  always  always  always   -
send                                always    own      own     own     own     -        -
end                                 always    own      own     own     own     -        -
kill                                always    own      own     own     own     -        -
protect                             always    own      own     own     -       -        -
unprotect                           always    -        -       -       -       -        -
adopt                               always    -        -       -       -       -        -
approve                             always    -        -       -       -       -        -
prune                               always    -        -       -       -       -        -
stop the daemon                     always    -        -       -       -       -        -
stop the daemon and every session   always    -        -       -       -       -        -
manage tokens                       always    -        -       -       -       -        -
open the page                       always    -        -       -       -       -        -
hand off for                        always    own      own     own     own     -        -
keep records                        always    always   always  always  always  -        -
forget for good                     always    -        -       -       -       -        -
override a succession policy        always    -        -       -       -       -        -
import records                      always    -        -       -       -       -        -
change how agents are set up        always    -        -       -       -       -        -
"""
SCOPES = {
    "read": {Act.READ, Act.READ_OUTPUT},
    "start": {Act.START},
    "send": {Act.SEND},
    "end": {Act.END, Act.KILL},
    "records": {Act.HAND_OFF, Act.RECORD},
}
CALLERS = {
    Rank.OPERATOR: Caller(Rank.OPERATOR, "operator"),
    Rank.SESSION: Caller(Rank.SESSION, "session:0c", "0c", inherits=frozenset({"0p"})),
    Rank.AGENT: Caller(Rank.AGENT, "agent:claude:1@2"),
    Rank.CLIENT: Caller(Rank.CLIENT, "client:1"),
    Rank.TOKEN: Caller(Rank.TOKEN, "token:t", scopes=frozenset(SCOPES)),
    Rank.UNKNOWN: Caller(Rank.UNKNOWN, "unknown"),
    Rank.NOBODY: Caller(Rank.NOBODY, "nobody"),
}
OWN = ("itself", "begun by it", "below it", "predecessor", "begun by a predecessor", "below a predecessor")


def relations(caller: Caller) -> dict[str, tuple[Session | None, list[str]]]:
    """The sessions that there can be for it: each with its ancestors and their owners."""
    made: dict[str, tuple[Session | None, list[str]]] = {
        "none": (None, []),
        "foreign": (OTHER, ["0x", "session:0y", "operator"]),
        "above it": (replace(OTHER, id="0u"), []),  # the line is the target's, so who is below it does not stand there
        "begun by it": (replace(OTHER, owner=caller.name), []),
        "below it": (OTHER, ["0x", caller.name]),
    }
    if caller.session:
        (before,) = caller.inherits
        made |= {
            "itself": (replace(OTHER, id=caller.session), ["0u"]),
            "predecessor": (replace(OTHER, id=before), []),
            "begun by a predecessor": (replace(OTHER, owner=f"session:{before}"), []),
            "below a predecessor": (OTHER, ["0x", before]),
        }
    return made


def refusal(
    caller: Caller, act: Act, target: Session | None, line: list[str], attached: int = 0
) -> ForbiddenError | None:
    try:
        check(caller, act, target, line, attached)
    except ForbiddenError as error:
        return error
    return None


def passes(caller: Caller, act: Act, target: Session | None, line: list[str], attached: int = 0) -> bool:
    return refusal(caller, act, target, line, attached) is None


def table() -> dict[tuple[Rank, Act], str]:
    head, *rows = TABLE.strip().splitlines()
    ranks, width = [Rank(rank) for rank in head.split()], len(rows[0]) - len(rows[0][36:])
    return {
        (rank, Act(row[:width].strip())): cell
        for row in rows
        for rank, cell in zip(ranks, row[width:].split(), strict=True)
    }


def test_the_table_is_whole() -> None:
    assert set(table()) == {(rank, act) for rank in Rank for act in Act}


@pytest.mark.parametrize(("rank", "act"), table())
def test_each_rank_may_do_each_act_to_each_relation(rank: Rank, act: Act) -> None:
    caller, cell = CALLERS[rank], table()[rank, act]
    found = {name: passes(caller, act, *given) for name, given in relations(caller).items()}
    assert found == {name: cell == "always" or (cell == "own" and name in OWN) for name in found}


@pytest.mark.parametrize("act", list(Act))
def test_a_refusal_says_who_what_and_what_to_do(act: Act) -> None:
    for caller in CALLERS.values():
        if refused := refusal(caller, act, OTHER, []):
            assert refused.code is Code.FORBIDDEN
            assert refused.details["act"] == act.value
            assert refused.message.startswith(f"{caller.name} may not ")
            assert refused.hint


@pytest.mark.parametrize("lacking", SCOPES)
def test_a_token_may_do_nothing_without_the_scope_for_it(lacking: str) -> None:
    narrow = replace(CALLERS[Rank.TOKEN], scopes=frozenset(SCOPES) - {lacking})
    own = replace(OTHER, owner=narrow.name)
    for act in Act:
        allowed = act not in SCOPES[lacking] and table()[Rank.TOKEN, act] != "-"
        assert passes(narrow, act, own, []) == allowed
        if allowed:
            admit(narrow, act)
        else:
            with pytest.raises(ForbiddenError):
                admit(narrow, act)


TALK = (Act.SEND, Act.END, Act.KILL, Act.PROTECT)
CIRCUMSTANCES = {
    # what the session is:             itself, what it started
    "a task": (Kind.TASK, False, 0, True, True),
    "a sub-agent": (Kind.SUBAGENT, False, 0, True, True),
    "a cron session": (Kind.CRON, False, 0, True, True),
    "a main session": (Kind.MAIN, False, 0, True, False),
    "a system session": (Kind.SYSTEM, False, 0, False, False),
    "protected": (Kind.TASK, True, 0, False, False),
    "protected and main": (Kind.MAIN, True, 0, False, False),
    "attached to": (Kind.TASK, False, 1, True, False),
}


@pytest.mark.parametrize("circumstance", CIRCUMSTANCES)
@pytest.mark.parametrize("act", [*TALK, Act.HAND_OFF, Act.READ_OUTPUT])
def test_what_stands_in_the_way_of_ones_own(act: Act, circumstance: str) -> None:
    """Handing off for a session and reading it change nothing of it, so nothing of this stands in their way."""
    kind, protected, attached, itself, started = CIRCUMSTANCES[circumstance]
    caller = CALLERS[Rank.SESSION]
    for target, expected in (
        (replace(OTHER, id="0c"), itself),
        (replace(OTHER, owner=caller.name), started),
        (replace(OTHER, id="0p"), started),
    ):
        given = replace(target, kind=kind, protected=protected)
        assert passes(caller, act, given, [], attached) == (expected or act not in TALK)
        assert passes(CALLERS[Rank.OPERATOR], act, given, [], attached)
        assert not passes(CALLERS[Rank.CLIENT], act, given, [], attached)


@pytest.mark.parametrize("act", list(Act))
@pytest.mark.parametrize("rank", [rank for rank in Rank if rank not in (Rank.TOKEN, Rank.OPERATOR)])
def test_sending_ending_killing_and_reading_can_be_asked_for_by_who_is_known(rank: Rank, act: Act) -> None:
    expected = rank in ASKING and act in (Act.SEND, Act.END, Act.KILL, Act.READ_OUTPUT)
    assert may_ask(Caller(rank, f"{rank}:1"), act, OTHER, []) == expected


def test_a_scope_that_a_token_lacks_is_not_to_be_asked_for() -> None:
    narrow = Caller(Rank.TOKEN, "token:t", scopes=frozenset({"read", "send"}))
    assert may_ask(narrow, Act.SEND, OTHER, [])
    assert not may_ask(narrow, Act.END, OTHER, [])
    assert not may_ask(narrow, Act.KILL, OTHER, [])


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("protected", [False, True])
def test_output_is_read_by_who_is_related_whatever_it_is(kind: Kind, protected: bool) -> None:
    child = replace(OTHER, kind=kind, protected=protected, facts=Facts(line=("0b", "session:0p")))
    readers = {
        Caller(Rank.OPERATOR, "operator"): True,
        Caller(Rank.SESSION, "session:0a", "0a"): True,
        Caller(Rank.SESSION, "session:0b", "0b"): True,
        Caller(Rank.SESSION, "session:0c", "0c", inherits=frozenset({"0a"})): True,
        Caller(Rank.SESSION, "session:0c", "0c", inherits=frozenset({"0p"})): True,
        Caller(Rank.SESSION, "session:0c", "0c"): False,
        Caller(Rank.AGENT, "agent:claude:1@2"): False,
        Caller(Rank.CLIENT, "client:1"): False,
        Caller(Rank.UNKNOWN, "unknown"): False,
        Caller(Rank.NOBODY, "nobody"): False,
        Caller(Rank.TOKEN, "token:t", scopes=frozenset({"read"})): False,
    }
    assert {caller: may(caller, Act.READ_OUTPUT, child) for caller in readers} == readers


def test_who_calls_from_another_host_is_in_no_session_of_ours() -> None:
    """Its session may have the id of one of ours, which is another one."""
    there = Caller(Rank.SESSION, "laptop/session:0a", "0a", inherits=frozenset({"0p"}), host="laptop")
    assert there.session is None
    child = replace(OTHER, id="0b", facts=Facts(line=("0a", "session:0p", "0p")))
    for mine in (OTHER, child, replace(OTHER, id="0p"), replace(OTHER, owner="session:0p")):
        assert not related(there, mine, mine.line)
        assert not may(there, Act.KILL, mine)
        assert related(replace(there, host=None, name="session:0a"), mine, mine.line)
    for owner in ("laptop/session:0a", "laptop/session:0p"):
        started = replace(OTHER, owner=owner)
        assert related(there, started, started.line)
        assert may(there, Act.KILL, started)
        assert not related(replace(there, host="box1", name="box1/session:0a"), started, started.line)


def test_a_plan_keeps_where_its_caller_is() -> None:
    for caller in (
        Caller(Rank.SESSION, "laptop/session:0a", "0a", host="laptop"),
        Caller(Rank.SESSION, "session:0a", "0a"),
    ):
        orders = PlanRequest(caller, "idle", 5.0)
        assert PlanRequest.from_document(json.loads(json.dumps(orders.document()))).caller == caller


def test_only_who_calls_decides_what_session_of_ours_it_is_in() -> None:
    """Elsewhere `caller.within` would take another host's session for one of ours."""
    package = Path(permission.__file__).parents[1]
    reads = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "within"
    }
    assert reads == {"domain/permission.py", "domain/plan.py"}


def test_a_token_reads_what_was_started_with_it_by_its_scope() -> None:
    started = replace(OTHER, owner="token:t")
    assert may(Caller(Rank.TOKEN, "token:t", scopes=frozenset({"read"})), Act.READ_OUTPUT, started)
    assert not may(Caller(Rank.TOKEN, "token:t", scopes=frozenset({"end"})), Act.READ_OUTPUT, started)
