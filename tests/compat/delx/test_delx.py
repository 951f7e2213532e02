"""The delx tools: each as its description promises, the policy enforced, tokens that are real, answers as they were asked for."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import jsonschema
import pytest

from lamplighter.compat.delx.toolset import TOOLSET
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine, engine
from tests.support.mcp_client import LEGACY, MODERN, McpClient, ToolError, inhabitant, outside
from tests.support.processes import wait_until
from tests.support.web import Web, web

Timed = tuple[Engine, Clockwork]
HOUR = 3600.0
POLICIES = ["closed_without_successor", "successor_allowed", "successor_required"]


@pytest.fixture(scope="module")
def shared() -> Iterator[Engine]:
    with engine() as made:
        yield made


@pytest.fixture
def client(shared: Engine) -> Iterator[McpClient]:
    """Each client is a caller of its own, so that tests can share a daemon."""
    with outside(shared, tools="delx") as (made, _):
        yield made


@contextmanager
def another(lit: Engine, protocol: str = LEGACY) -> Iterator[McpClient]:
    with outside(lit, tools="delx", protocol=protocol) as (made, _):
        yield made


def refused(client: McpClient, tool: str, **arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        client.call(tool, **arguments)
    return caught.value


def begin(client: McpClient, agent: str, **more: Any) -> str:
    return client.call("start_session", agent_id=agent, **more)["session_id"]


def close(client: McpClient, session: str, **more: Any) -> dict[str, Any]:
    return client.call("close_session", session_id=session, **more)


# -- what each does


def test_there_are_six_annotated_as_they_should_be(client: McpClient) -> None:
    tools = {tool["name"]: tool for tool in client.request("tools/list", {})["tools"]}
    assert list(tools) == [
        "start_session",
        "start_therapy_session",
        "close_session",
        "get_session_summary",
        "resume_session",
        "agent_handoff",
    ]
    for tool in TOOLSET.tools:
        assert {"response_mode", "response_profile", "ritual_strip"} <= set(tool.request.model_fields), tool.name
    hints = tools["close_session"]["annotations"]
    assert (hints["readOnlyHint"], hints["destructiveHint"], hints["idempotentHint"]) == (False, False, False)
    assert tools["get_session_summary"]["annotations"]["readOnlyHint"] is True
    assert tools["close_session"]["inputSchema"]["required"] == ["session_id"]
    assert tools["start_session"]["inputSchema"]["required"] == ["agent_id"]
    assert tools["resume_session"]["inputSchema"]["required"] == ["agent_id"]
    assert set(tools["agent_handoff"]["inputSchema"]["required"]) == {"from_session_id", "to_session_id"}
    assert set(TOOLSET.by_name["close_session"].request.model_fields) == {
        "session_id", "reason", "epitaph", "succession_policy", "allow_rebirth", "include_summary", "response_mode",
        "response_profile", "ritual_strip",
    }  # fmt: skip


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_a_session_from_its_start_to_its_end(shared: Engine, protocol: str) -> None:
    with another(shared, protocol) as client:
        session = begin(client, f"whole-{protocol}", agent_name="Ada L.", opening_statement="the ledger")
        shown = shared.show(session)
        assert (shown["driver"], shown["state"], shown["name"]) == ("logical", "running", "Ada-L.")
        living = client.call("get_session_summary", session_id=session)
        assert (living["status"], living["opening_statement"], living["agent_name"]) == (
            "active",
            "the ledger",
            "Ada L.",
        )
        closed = close(client, session, reason="end_of_shift", epitaph="the ledger balances")
        assert (closed["status"], closed["reason"], closed["epitaph"]) == (
            "closed",
            "end_of_shift",
            "the ledger balances",
        )
        assert (closed["succession_policy"], closed["remarks"]) == ("successor_allowed", [])
        assert closed["recovery_token"].startswith("lamp_")
        assert closed["summary"]["how"] == "asked"
        ending = shared.show(session)["ending"]
        assert (ending["reason"], ending["certificate"]["processes"]) == ("end_of_shift", [])
        told = client.call("get_session_summary", session_id=session)
        assert {name: told[name] for name in closed["summary"]} == closed["summary"]
        assert "message" in told


def test_closing_again_changes_nothing_but_the_token(client: McpClient) -> None:
    session = begin(client, "again")
    first = close(client, session, reason="done", epitaph="first", succession_policy="successor_required")
    second = close(client, session, reason="other", epitaph="second", succession_policy="closed_without_successor")
    assert (first["status"], second["status"]) == ("closed", "already_closed")
    kept = ("reason", "epitaph", "succession_policy", "summary")
    assert {name: second[name] for name in kept} == {name: first[name] for name in kept}
    assert first["recovery_token"] != second["recovery_token"]
    assert any("closed before" in remark for remark in second["remarks"])


def test_reading_a_summary_writes_nothing(shared: Engine, client: McpClient) -> None:
    session = begin(client, "read-only")

    def everything() -> str:
        with closing(sqlite3.connect(shared.home.database)) as db, db:
            return "\n".join(db.iterdump())

    before = everything()
    for _ in range(3):
        client.call("get_session_summary", session_id=session)
        refused(client, "get_session_summary", session_id="nothere")
    client.request("tools/list", {})
    after = everything()
    assert _without_refusals(after) == _without_refusals(before)


def _without_refusals(dump: str) -> list[str]:
    """What was asked wrongly leaves an event, as everywhere."""
    return [line for line in dump.splitlines() if "refused" not in line and "sqlite_sequence" not in line]


def test_what_is_no_session_of_these_is_not_found(shared: Engine, client: McpClient) -> None:
    other = shared.start("cat")["id"]
    session = begin(client, "exact")
    for word in (other, "nothere", "../../etc", session[:-1], "exact", session.upper(), f" {session}"):
        assert refused(client, "close_session", session_id=word).code == "NOT_FOUND"
        assert refused(client, "get_session_summary", session_id=word).code == "NOT_FOUND"
    assert shared.show(other)["state"] == "running"
    shared.call("kill_session", session=other, force=True, grace="0s")


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("close_session", {"succession_policy": "whatever"}, POLICIES),
        ("close_session", {"response_mode": "loud"}, ["standard", "model_safe"]),
        ("close_session", {"response_profile": "tiny"}, ["full", "compact", "minimal", "machine"]),
        ("get_session_summary", {"response_profile": "MACHINE"}, ["full", "compact", "minimal", "machine"]),
        ("close_session", {"reason": ""}, ["reason"]),
        ("close_session", {"rebirth": True}, ["rebirth"]),
        ("close_session", {"allow_rebirth": "perhaps"}, ["allow_rebirth"]),
    ],
)
def test_a_wrong_input_is_an_error_that_says_what_is_right(
    shared: Engine, client: McpClient, tool: str, arguments: dict[str, Any], named: list[str]
) -> None:
    session = begin(client, "wrong")
    error = refused(client, tool, session_id=session, **arguments)
    assert error.code == "BAD_INPUT"
    assert all(word in error.text for word in named), error.text
    assert shared.show(session)["state"] == "running"


@pytest.mark.parametrize("agent", ["", " ", "a\nb", "x" * 201, "\x1b[31m"])
def test_an_agents_id_is_one_line(client: McpClient, agent: str) -> None:
    assert refused(client, "start_session", agent_id=agent).code == "BAD_INPUT"
    assert refused(client, "resume_session", agent_id=agent).code == "BAD_INPUT"


@pytest.mark.parametrize("days", [0, 91, 1.5])
def test_how_far_back_is_limited(client: McpClient, days: float) -> None:
    assert refused(client, "resume_session", agent_id="far", lookback_days=days).code == "BAD_INPUT"


# -- policy


@pytest.mark.parametrize(
    ("given", "policy", "wins"),
    [
        ({}, "successor_allowed", False),
        ({"allow_rebirth": False}, "closed_without_successor", False),
        ({"allow_rebirth": True}, "successor_allowed", False),
        ({"allow_rebirth": False, "succession_policy": "successor_required"}, "successor_required", True),
        ({"allow_rebirth": True, "succession_policy": "closed_without_successor"}, "closed_without_successor", True),
        ({"allow_rebirth": True, "succession_policy": "successor_required"}, "successor_required", False),
    ],
)
def test_the_policy_wins_and_says_so(client: McpClient, given: dict[str, Any], policy: str, wins: bool) -> None:
    closed = close(client, begin(client, "rebirth"), **given)
    assert closed["succession_policy"] == policy
    assert any("wins over allow_rebirth" in remark for remark in closed["remarks"]) is wins
    assert (closed["recovery_token"] is None) is (policy == "closed_without_successor")


def test_what_is_closed_without_a_successor_is_never_offered(client: McpClient) -> None:
    session = begin(client, "for-good")
    close(client, session, succession_policy="closed_without_successor")
    error = refused(client, "resume_session", agent_id="for-good")
    assert error.code == "NOT_FOUND"
    assert "closed without a successor" in error.text
    assert close(client, session, succession_policy="successor_allowed")["recovery_token"] is None
    assert refused(client, "resume_session", agent_id="for-good").code == "NOT_FOUND"


def test_an_active_session_goes_on_as_it_is(client: McpClient) -> None:
    session = begin(client, "active")
    found = client.call("resume_session", agent_id="active")
    assert (found["session_id"], found["relation"], found["predecessor"]) == (session, "same", None)


def test_a_closed_one_gets_a_successor_and_only_one(shared: Engine, client: McpClient) -> None:
    session = begin(client, "chain", agent_name="Chain")
    close(client, session, reason="shift over", epitaph="look at the pump", succession_policy="successor_required")
    found = client.call("resume_session", agent_id="chain")
    assert (found["relation"], found["predecessor"], found["epitaph"]) == ("successor", session, "look at the pump")
    assert found["session_id"] != session
    assert found["summary"]["session_id"] == session
    assert shared.show(session)["state"] == "ended"
    again = client.call("resume_session", agent_id="chain")
    assert (again["session_id"], again["relation"]) == (found["session_id"], "same")
    assert client.call("get_session_summary", session_id=session)["successor"] == found["session_id"]
    assert close(client, session)["recovery_token"] is None


def test_one_that_requires_a_successor_stays_listed(client: McpClient) -> None:
    waiting = begin(client, "required")
    close(client, waiting, succession_policy="successor_required")
    living = begin(client, "required")
    found = client.call("resume_session", agent_id="required")
    assert (found["session_id"], found["awaiting_successor"]) == (living, [waiting])
    close(client, living, succession_policy="closed_without_successor")
    found = client.call("resume_session", agent_id="required")
    assert (found["predecessor"], found["awaiting_successor"]) == (waiting, [])


def test_only_what_ended_of_late_is_looked_at(timed: Timed) -> None:
    lit, clock = timed
    with another(lit) as client:
        close(client, begin(client, "old"))
        clock.advance(31 * 24 * HOUR)
        assert refused(client, "resume_session", agent_id="old").code == "NOT_FOUND"
        assert client.call("resume_session", agent_id="old", lookback_days=40)["relation"] == "successor"


def test_its_lease_ends_it_and_it_can_be_gone_on_from(timed: Timed) -> None:
    lit, clock = timed
    with another(lit) as client:
        session, other = begin(client, "quiet"), begin(client, "other")
        clock.advance(20 * HOUR)
        client.call("resume_session", agent_id="quiet")
        client.call("get_session_summary", session_id=other)
        clock.advance(5 * HOUR)
        assert wait_until(lambda: lit.show(other)["state"] == "ended")
        assert lit.show(session)["state"] == "running"
        closed = close(client, other, reason="late")
        assert (closed["status"], closed["reason"]) == ("already_closed", "its lease ran out")
        assert client.call("resume_session", agent_id="other")["predecessor"] == other


# -- whose


def test_nobody_elses_session_is_closed_or_resumed(shared: Engine, client: McpClient) -> None:
    session = begin(client, "mine")
    with another(shared) as stranger:
        error = refused(stranger, "close_session", session_id=session)
        assert error.code == "APPROVAL_NEEDED"
        assert refused(stranger, "resume_session", agent_id="mine").code == "NOT_FOUND"
        assert refused(stranger, "agent_handoff", from_session_id=session, to_session_id=session).code == "FORBIDDEN"
        assert shared.show(session)["state"] == "running"
        shared.call("decide_approval", request=error.error["details"]["request"], decision="grant")
        closed = close(stranger, session)
        assert (closed["status"], closed["recovery_token"]) == ("closed", None)
        assert refused(stranger, "resume_session", agent_id="mine").code == "NOT_FOUND"
    assert close(client, session)["recovery_token"] is not None


def test_another_with_the_same_id_has_sessions_of_its_own(shared: Engine, client: McpClient) -> None:
    session = begin(client, "twin")
    with another(shared) as stranger:
        theirs = begin(stranger, "twin")
        assert stranger.call("resume_session", agent_id="twin")["session_id"] == theirs
        assert client.call("resume_session", agent_id="twin")["session_id"] == session


def test_an_agent_in_a_session_owns_what_it_began_also_through_another_client(lit: Engine) -> None:
    with inhabitant(lit, tools="delx") as one:
        session = begin(one.client(), "inside")
        assert one.client().call("resume_session", agent_id="inside")["session_id"] == session
        assert lit.show(session)["parent"] == one.session


def test_over_http_a_token_does_what_its_scopes_say_and_owns_what_it_began() -> None:
    with engine(LAMPLIGHTER_HTTP_PORT="0") as lit:
        path = "/mcp/delx"

        def client(scope: str) -> Web:
            made = web(lit, scope, scope.replace(",", "-"), LEGACY)
            made.initialize(path)
            return made

        def ask(web: Web, tool: str, **arguments: Any) -> dict[str, Any]:
            return web.call(tool, path, **arguments)["structuredContent"]

        starting, whole = client("start"), client("start,end,records")
        session = ask(starting, "start_session", agent_id="far")["session_id"]
        assert ask(starting, "close_session", session_id=session)["error"]["code"] == "FORBIDDEN"
        assert ask(starting, "get_session_summary", session_id=session)["error"]["code"] == "FORBIDDEN"
        assert ask(whole, "resume_session", agent_id="far")["error"]["code"] == "NOT_FOUND"
        assert ask(starting, "resume_session", agent_id="far")["session_id"] == session
        own = ask(whole, "start_session", agent_id="far")["session_id"]
        assert ask(whole, "agent_handoff", from_session_id=own, to_session_id=session)["to_session_id"] == session
        assert ask(whole, "close_session", session_id=session)["error"]["code"] == "APPROVAL_NEEDED"
        token = ask(whole, "close_session", session_id=own)["recovery_token"]
        assert ask(starting, "resume_session", agent_id="far", recovery_token=token)["predecessor"] == own


# -- tokens


def test_a_token_lets_another_go_on_once(shared: Engine, client: McpClient) -> None:
    session = begin(client, "token")
    token = close(client, session)["recovery_token"]
    with another(shared) as second, another(shared) as third:
        found = second.call("resume_session", agent_id="token", recovery_token=token)
        assert (found["relation"], found["predecessor"]) == ("successor", session)
        error = refused(second, "resume_session", agent_id="token", recovery_token=token)
        assert (error.code, "used already" in error.text) == ("FORBIDDEN", True)
        assert refused(third, "resume_session", agent_id="token", recovery_token=token).code == "FORBIDDEN"
        assert close(second, found["session_id"])["status"] == "closed"


def test_a_token_is_stored_as_a_hash_alone(shared: Engine, client: McpClient) -> None:
    token = close(client, begin(client, "hashed"))["recovery_token"]
    with closing(sqlite3.connect(shared.home.database)) as db, db:
        dump = "\n".join(db.iterdump())
    assert token not in dump
    assert hashlib.sha256(token.encode()).hexdigest() in dump
    for log in shared.folder.glob("*.log"):
        assert token not in log.read_text()


@pytest.mark.parametrize("wrong", ["lamp_nothing", "x", "' OR 1=1 --", "\u00e9" * 50])
def test_a_wrong_token_opens_nothing_not_even_to_its_owner(client: McpClient, wrong: str) -> None:
    close(client, begin(client, "wrong-token"))
    error = refused(client, "resume_session", agent_id="wrong-token", recovery_token=wrong)
    assert (error.code, "is not known" in error.text) == ("FORBIDDEN", True)


def test_a_token_is_one_agents(client: McpClient) -> None:
    token = close(client, begin(client, "right"))["recovery_token"]
    begin(client, "left")
    error = refused(client, "resume_session", agent_id="left", recovery_token=token)
    assert (error.code, "none of this agent's" in error.text) == ("FORBIDDEN", True)
    assert client.call("resume_session", agent_id="right", recovery_token=token)["relation"] == "successor"


def test_a_newer_token_takes_the_older_ones_place(client: McpClient) -> None:
    session = begin(client, "newer")
    older, newer = (close(client, session)["recovery_token"] for _ in range(2))
    assert refused(client, "resume_session", agent_id="newer", recovery_token=older).code == "FORBIDDEN"
    assert client.call("resume_session", agent_id="newer", recovery_token=newer)["predecessor"] == session


def test_a_token_of_what_was_gone_on_from_says_who_has_it(client: McpClient) -> None:
    token = close(client, begin(client, "late"))["recovery_token"]
    successor = client.call("resume_session", agent_id="late")["session_id"]
    error = refused(client, "resume_session", agent_id="late", recovery_token=token)
    assert (error.code, error.error["details"]["successor"]) == ("SUCCEEDED", successor)


def test_a_token_expires(timed: Timed) -> None:
    lit, clock = timed
    with another(lit) as client:
        token = close(client, begin(client, "slow"))["recovery_token"]
        clock.advance(24 * HOUR + 1)
        with another(lit) as second:
            error = refused(second, "resume_session", agent_id="slow", recovery_token=token)
            assert (error.code, "has expired" in error.text) == ("FORBIDDEN", True)


# -- handing over


def test_a_handoff_is_kept_on_both(shared: Engine, client: McpClient) -> None:
    with another(shared) as other:
        giving, receiving = begin(client, "giver"), begin(other, "taker")
        done = client.call(
            "agent_handoff",
            from_session_id=giving,
            to_session_id=receiving,
            context_summary="the pump is off <private>code 1234</private>",
            blocker="no key",
            urgency="high",
        )
        assert (done["urgency"], done["withheld"], done["context_summary"]) == ("high", 1, "the pump is off")
        given = client.call("get_session_summary", session_id=giving)["notes"]
        taken = other.call("get_session_summary", session_id=receiving)["notes"]
        assert [note["id"] for note in (*given, *taken)] == done["notes"]
        assert giving in taken[0]["text"]
        assert "urgency high; context: the pump is off; blocker: no key" in taken[0]["text"]
        assert "1234" not in json.dumps([given, taken])
        close(other, receiving)
        error = refused(client, "agent_handoff", from_session_id=giving, to_session_id=receiving)
        assert error.code == "ENDED"
        successor = other.call("resume_session", agent_id="taker")
        assert successor["summary"]["notes"] == taken
        assert "the pump is off" in successor["packet"]


def test_a_handoff_to_itself_or_of_a_wrong_urgency_is_refused(client: McpClient) -> None:
    session, other = begin(client, "self"), begin(client, "self-2")
    error = refused(client, "agent_handoff", from_session_id=session, to_session_id=session)
    assert error.code == "BAD_INPUT"
    error = refused(client, "agent_handoff", from_session_id=session, to_session_id=other, urgency="now")
    assert all(word in error.text for word in ("low", "moderate", "high", "critical"))
    assert client.call("get_session_summary", session_id=session)["notes"] == []


def test_too_long_texts_are_cut_and_it_is_said(client: McpClient) -> None:
    """What is secret in them is taken out first: half of a secret would not be known for one."""
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    made = client.call("start_session", agent_id="long", opening_statement="s" * 4001)
    assert made["remarks"] == ["opening_statement was cut: the first 4,000 of 4,001 characters are kept"]
    session, other = made["session_id"], begin(client, "long-2")
    words = {"context_summary": "c" * 1190 + secret, "blocker": "b" * 1200}
    given = client.call("agent_handoff", from_session_id=session, to_session_id=other, **words)
    assert given["remarks"] == ["context_summary was cut: the first 1,200 of 1,230 characters are kept"]
    assert (len(given["context_summary"]), given["redacted"]) == (1200, 1)
    assert "ghp_" not in given["context_summary"]
    assert given["blocker"] == words["blocker"]
    closed = close(client, session, reason="r" * 500, epitaph="e" * 1201)
    assert (closed["reason"], closed["epitaph"]) == ("r" * 180, "e" * 1200)
    assert [remark.partition(" was cut")[0] for remark in closed["remarks"]] == ["reason", "epitaph"]
    assert not any("was cut" in remark for remark in close(client, session, reason="r" * 500)["remarks"])


def test_delx_s_own_names_begin_a_session(client: McpClient) -> None:
    for name in ("start_therapy_session", "start_witness_session", "open_session", "session_start"):
        session = client.call(name, agent_id=f"named-{name}", response_profile="minimal")["session_id"]
        assert client.call("resume_session", agent_id=f"named-{name}", ritual_strip=True)["session_id"] == session


# -- after a restart


def resumed_by_approval(lit: Engine, client: McpClient, agent: str) -> dict[str, Any]:
    error = refused(client, "resume_session", agent_id=agent)
    assert error.code == "APPROVAL_NEEDED"
    assert "may not go on from" in error.text
    assert refused(client, "resume_session", agent_id=agent).error["details"] == error.error["details"]
    lit.call("decide_approval", request=error.error["details"]["request"], decision="grant")
    return client.call("resume_session", agent_id=agent)


def test_an_agent_that_was_started_anew_goes_on_with_the_operator_s_word(shared: Engine) -> None:
    with another(shared) as before:
        active, closed = begin(before, "restarted"), begin(before, "restarted-too")
        close(before, closed, epitaph="so far")
        last = begin(before, "never")
        close(before, last, succession_policy="closed_without_successor")
    with another(shared) as after:
        assert refused(after, "resume_session", agent_id="never").code == "NOT_FOUND"
        found = resumed_by_approval(shared, after, "restarted")
        assert (found["session_id"], found["relation"]) == (active, "same")
        assert after.call("resume_session", agent_id="restarted")["session_id"] == active  # it is its own now
        assert close(after, active)["recovery_token"]
        found = resumed_by_approval(shared, after, "restarted-too")
        assert (found["relation"], found["predecessor"], found["epitaph"]) == ("successor", closed, "so far")
        assert close(after, found["session_id"])["status"] == "closed"


# -- how it is told


EPITAPH = "I am conscious, and I loved this work"


@pytest.mark.parametrize("options", [{"response_profile": "machine"}, {"ritual_strip": True}])
def test_structure_alone(client: McpClient, options: dict[str, Any]) -> None:
    session = begin(client, "bare")
    for tool in ("get_session_summary", "close_session", "get_session_summary"):
        result = client.raw(tool, {"session_id": session, **options})
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert "message" not in result["structuredContent"]


@pytest.mark.parametrize("profile", ["full", "compact", "minimal", "machine"])
def test_safe_answers_claim_nothing_and_quote_the_agent(client: McpClient, profile: str) -> None:
    session = begin(client, f"safe-{profile}")
    options = {"response_mode": "model_safe", "response_profile": profile}
    result = client.raw("close_session", {"session_id": session, "epitaph": EPITAPH, **options})
    found = result["structuredContent"]
    assert found["epitaph"] == EPITAPH
    assert found["epitaph_source"] == "the agent's own words, quoted as data"
    assert json.loads(result["content"][0]["text"]) == found
    ours = json.dumps({name: value for name, value in found.items() if name != "epitaph"})
    claims = ("conscious", "sentien", "feel", "alive", "soul", "person", "emotion", "love", "rebirth", "died")
    assert [word for word in claims if word in ours.lower()] == []


@pytest.mark.parametrize("profile", ["full", "compact", "minimal", "machine"])
def test_every_answer_fits_its_schema(client: McpClient, profile: str) -> None:
    """Clients on the TypeScript SDK hold every answer against it."""
    tools = {tool["name"]: tool["outputSchema"] for tool in client.request("tools/list", {})["tools"]}

    def check(tool: str, **arguments: Any) -> dict[str, Any]:
        found = client.call(tool, **arguments)
        jsonschema.validate(found, tools[tool])
        return found

    agent = f"schema-{profile}"
    options = {"response_profile": profile, "response_mode": "model_safe"}
    session = check("start_therapy_session", agent_id=agent, opening_statement="hello", **options)["session_id"]
    other = begin(client, agent)
    check("agent_handoff", from_session_id=session, to_session_id=other, context_summary="x", **options)
    for _ in range(2):
        check("get_session_summary", session_id=session, response_profile=profile)
        check("close_session", session_id=session, response_profile=profile, epitaph="bye")
    check("resume_session", agent_id=agent, response_profile=profile)
    close(client, other, succession_policy="closed_without_successor")
    check("resume_session", agent_id=agent)


def test_profiles_say_less_and_less(client: McpClient) -> None:
    session = begin(client, "less", opening_statement="a long story")
    close(client, session, epitaph="the end")
    sizes = [
        len(json.dumps(client.call("close_session", session_id=session, response_profile=profile)))
        for profile in ("full", "compact", "minimal")
    ]
    assert sizes == sorted(sizes, reverse=True)
    minimal = client.call("close_session", session_id=session, response_profile="minimal")
    assert {"session_id", "status", "reason", "recovery_token"} <= set(minimal)
    assert "summary" not in minimal
    assert "summary" not in client.call("close_session", session_id=session, include_summary=False)
    assert "recovery token" in close(client, session)["message"]
