"""What agents leave and find over MCP: an agent ends itself with a hand-off, and the next one starts from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.mcp_client import LEGACY, MODERN, ToolError, inhabitant, outside
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_an_agent_hands_over_and_the_next_goes_on(lit: Engine, protocol: str) -> None:
    with inhabitant(lit, name="first") as first:
        ended = first.client(protocol).call(
            "end_session",
            checkpoint="the parser reads all but dates",
            open_loops=["who owns the fixtures?"],
            constraints=["never touch the lexer"],
            next_session_focus="dates",
            succession_policy="successor_required",
        )
        assert ended["state"] == "ending"
        assert ended["handoff"]["stored"] == {
            "checkpoint": 1, "next_session_focus": 1, "constraint": 1, "open_loop": 1,
        }  # fmt: skip
        assert ended["summary"]["seconds"] >= 0
    assert wait_until(lambda: lit.show(first.session)["state"] == "ended")
    with inhabitant(lit, name="second", from_session="last") as second:
        client = second.client(protocol)
        assert lit.show(second.session)["predecessor"] == first.session
        loaded = client.call("load_handoff")
        for text in ("the parser reads all but dates", "never touch the lexer", "who owns the fixtures?"):
            assert text in loaded["text"]
        assert loaded["before"]["id"] == first.session
        (loop,) = client.call("search_records", query="fixtures", types=["open_loop"])["records"]
        assert loop["id"] in [row["id"] for row in client.call("search_records")["records"]], (
            "without a query the newest"
        )
        client.call("update_record", action="resolve", records=[loop["id"]], why="the platform team")
        assert client.call("search_records", query="fixtures", types=["open_loop"])["records"] == []
        assert "who owns the fixtures?" not in client.call("load_handoff")["text"]


def test_records_over_mcp(lit: Engine) -> None:
    with inhabitant(lit, name="agent") as agent:
        client = agent.client(MODERN)
        stored = client.call("store_records", records=["dates stay strings", "zones are not given"], type="decision")
        assert [row["type"] for row in stored["records"]] == ["decision", "decision"]
        assert client.call("store_records", records=["dates stay strings"], type="decision")["stored"] == 0
        found = client.call("search_records", query="how do we store a date?")["records"]
        assert found[0]["content"] == "dates stay strings"
        newer = client.call(
            "update_record", action="supersede", records=[found[0]["id"]], content="dates carry their zone"
        )["records"]
        assert [row["state"] for row in newer] == ["active", "superseded"]
        secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
        assert client.call("store_records", records=[f"the token is {secret}"])["redacted"] == 1
        assert client.call("search_records", query="token")["records"][0]["content"] == (
            "the token is [redacted: github token]"
        )


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("search_records", {"query": "  "}, "BAD_INPUT"),
        ("search_records", {"query": "x", "types": ["wish"]}, "BAD_INPUT"),
        ("store_records", {"records": []}, "BAD_INPUT"),
        ("store_records", {"records": ["x"], "type": "wish"}, "BAD_INPUT"),
        ("update_record", {"action": "erase", "records": ["r1"]}, "BAD_INPUT"),
        ("update_record", {"action": "resolve", "records": ["rnothing"]}, "NOT_FOUND"),
        ("load_handoff", {"budget": 10}, "BUDGET_TOO_SMALL"),
        ("load_handoff", {"session": "nobody"}, "NOT_FOUND"),
        ("end_session", {"succession_policy": "reborn"}, "BAD_INPUT"),
        ("end_session", {"resolved_loops": ["rnothing"]}, "NOT_FOUND"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    lit: Engine, tool: str, arguments: dict[str, Any], code: str
) -> None:
    with inhabitant(lit, name="agent") as agent:
        with pytest.raises(ToolError) as refused:
            agent.client(MODERN).call(tool, **arguments)
        assert refused.value.code == code
        assert lit.show(agent.session)["state"] == "running"
    assert lit.call("list_records", all=True, state="all")["records"] == []


def test_what_the_operator_stored_an_agent_does_not_close(lit: Engine) -> None:
    stored = lit.call("store_records", records=[{"content": "never push", "type": "constraint"}], everywhere=True)
    identifier = stored["records"][0]["id"]
    with inhabitant(lit, name="agent") as agent:
        client = agent.client(MODERN)
        for arguments in ({"action": "forget"}, {"action": "resolve"}, {"action": "supersede", "content": "push"}):
            with pytest.raises(ToolError) as refused:
                client.call("update_record", records=[identifier], **arguments)
            assert refused.value.code == "FORBIDDEN"
        assert "never push" in client.call("load_handoff")["text"]


def test_a_client_outside_remembers_in_its_folder(lit: Engine) -> None:
    with outside(lit) as (client, _):
        stored = client.call("store_records", records=["seen from outside"])
        assert stored["stored"] == 1
        assert client.call("search_records", query="outside")["records"][0]["content"] == "seen from outside"


def test_a_client_in_no_session_goes_on_from_what_was_done_in_its_folder(lit: Engine, tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
    before = lit.start("sleep", "300", cwd=str(here))["id"]
    lit.call("end_session", session=before, checkpoint="half way")
    with outside(lit, folder=here) as (client, _):
        after = client.call("start_session", command=["sleep", "300"], from_session="last")["id"]
    assert lit.call("get_lineage", session=after)["generations"][0]["id"] == before
    lit.call("end_session", session=after, checkpoint="further")
    with outside(lit, folder=elsewhere) as (client, _), pytest.raises(ToolError) as caught:
        client.call("start_session", command=["sleep", "300"], from_session=before)
    assert caught.value.code == "FORBIDDEN"
