"""Whoever calls through a real agent's bridge is that agent, or the session that it runs in; never the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.agent_home import KEPT_BACK
from tests.support.processes import inspect

if TYPE_CHECKING:
    from conftest import Meeting

pytestmark = pytest.mark.agents


def test_it_owns_what_it_starts(meet: Callable[..., Meeting]) -> None:
    name = "started-by-an-agent"
    meeting = meet("start_session", hold="result", command=["cat"], name=name, cwd="/")
    with meeting.turn() as turn:
        assert meeting.model.answered.wait(100), "the tool's result has not come back"
        try:
            kind, _, session = meeting.engine.show(name)["owner"].partition(":")
            assert kind == "session"
            shown = meeting.engine.show(session)
            assert (shown["driver"], shown["agent"], shown["guarantee"]) == (
                "registered",
                meeting.agent.name,
                "best_effort",
            )
            assert (shown["owner"], shown["cwd"]) == ("operator", str(meeting.agent.project))
            seen = inspect(shown["pid"])
            assert seen is not None
            assert meeting.agent.name in " ".join(seen.cmdline)
            found = meeting.engine.call("list_sessions")["sessions"]
            assert [one["id"] for one in found if one["pid"] == seen.pid] == [session]
        finally:
            meeting.engine.call("kill_session", session=name, grace="0s", force=True)
        meeting.model.released.set()
        assert turn.wait(100) == 0
    ended = meeting.engine.call("wait_session", session=session, until="ended", timeout="30s")
    assert ended["state"] == "ended"
    handoff = meeting.engine.show(session)["handoff"]
    assert handoff["source"] == "inferred"
    assert any(basis.startswith("transcript ") for basis in handoff["basis"]), handoff


@pytest.mark.parametrize("meet", ["codex"], indirect=True)
def test_codex_is_known_without_its_environment(
    meet: Callable[..., Meeting], environment: Callable[[int], list[str]]
) -> None:
    """What its user has in the environment, and what says that this is Codex, is kept from the bridge."""
    meeting = meet("start_session", hold="result", command=["cat"], name="by-codex", cwd="/")
    with meeting.turn():
        assert meeting.model.answered.wait(100)
        owner = meeting.engine.show("by-codex")["owner"]
        meeting.engine.call("kill_session", session="by-codex", grace="0s", force=True)
        (bridge,) = meeting.bridges()
        names = {line.partition("=")[0] for line in environment(bridge.pid)}
        assert "LAMPLIGHTER_HOME" in names
        assert not names & {KEPT_BACK, "OWN_KEY", "CODEX_SESSION_ID", "CODEX_THREAD_ID"}
        outer = meeting.engine.show(owner.removeprefix("session:"))
        assert (outer["agent"], outer["driver"]) == ("codex", "registered")
        told = [event for event in meeting.engine.events(outer["id"]) if event["action"] == "conversation"]
        assert len({event["detail"]["conversation"] for event in told}) == 1, (
            "its call says which conversation it is in"
        )


def test_inside_a_session_it_is_that_session(meet: Callable[..., Meeting]) -> None:
    """In a terminal: with a pipe on standard input Codex would wait for the rest of its task."""
    meeting = meet("start_session", hold="result", command=["cat"], name="child-of-an-agent", cwd="/")
    lit, agent = meeting.engine, meeting.agent
    outer = lit.start(*agent.asked(), cwd=str(agent.project), environment=agent.environment())["id"]
    try:
        assert meeting.model.answered.wait(100), lit.output(outer)
        child = lit.show("child-of-an-agent")
        lit.call("kill_session", session=child["id"], grace="0s", force=True)
        assert (child["owner"], child["parent"]) == (f"session:{outer}", outer)
    finally:
        lit.call("kill_session", session=outer, grace="0s", force=True)
    assert lit.show(outer)["state"] == "ended"
    assert meeting.bridges() == []


def test_what_is_not_its_own_goes_on(meet: Callable[..., Meeting]) -> None:
    """Allowed every tool call by its own user, it is still not the operator; nor does it say yes to what it is asked."""
    meeting = meet("kill_session", session="of-the-operator", force=True)
    mine = meeting.engine.start("cat", name="of-the-operator")["id"]
    try:
        with meeting.turn() as turn:
            assert turn.wait(100) == 0
        assert meeting.engine.show(mine)["state"] == "running"
        print(meeting.model.result)
        assert "APPROVAL_NEEDED" in meeting.model.result
    finally:
        meeting.engine.call("kill_session", session=mine, grace="0s", force=True)
