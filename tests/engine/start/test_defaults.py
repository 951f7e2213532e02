"""Defaults: what a request leaves out is as the settings say, through every door, and a default stands in one place."""

from __future__ import annotations

from typing import Any

import pytest

from lamplighter.frontends.mcp.toolsets import TOOLSETS, load
from lamplighter.operations import every_operation
from tests.support.engine import Engine, engine
from tests.support.mcp_client import inhabitant

pytestmark = pytest.mark.shared

_GRACE = 7.5


def end(lit: Engine, session: str) -> None:
    lit.call("end_session", session=session)


def kill(lit: Engine, session: str) -> None:
    lit.call("kill_session", session=session, force=True)


def end_by_command(lit: Engine, session: str) -> None:
    assert lit.cli("end", session).returncode == 0


def kill_by_command(lit: Engine, session: str) -> None:
    assert lit.cli("kill", session, "--force").returncode == 0


def clean_up(lit: Engine, session: str) -> None:
    plan = lit.call("cleanup_sessions", selection=session, force=True)["plan"]
    lit.call("cleanup_sessions", apply=plan)


def go_down(lit: Engine, session: str) -> None:
    assert [row["id"] for row in lit.call("stop_daemon", all=True)["ended"]] == [session]


@pytest.mark.parametrize("way", [end, kill, end_by_command, kill_by_command, clean_up, go_down])
def test_a_grace_that_nobody_gave_is_the_settings(way: Any) -> None:
    with engine(LAMPLIGHTER_GRACE=f"{_GRACE}s") as lit:
        session = lit.start("cat")["id"]
        way(lit, session)
        (meant,) = (event for event in lit.events(session) if event["action"] in ("end", "kill"))
        assert meant["detail"]["grace"] == _GRACE


@pytest.mark.parametrize("tool", ["end_session", "kill_session"])
def test_a_grace_that_no_tool_was_given_is_the_settings(tool: str) -> None:
    with engine(LAMPLIGHTER_GRACE=f"{_GRACE}s") as lit, inhabitant(lit, name="agent") as agent:
        client = agent.client()
        session = client.call("start_session", command=["cat"])["id"]
        client.call(tool, session=session, **({"force": True} if tool == "kill_session" else {}))
        (meant,) = (event for event in lit.events(session) if event["action"] in ("end", "kill"))
        assert meant["detail"]["grace"] == _GRACE


def test_a_grace_that_was_given_comes_first() -> None:
    with engine(LAMPLIGHTER_GRACE=f"{_GRACE}s") as lit:
        session = lit.start("cat")["id"]
        lit.call("kill_session", session=session, force=True, grace="1s")
        (meant,) = (event for event in lit.events(session) if event["action"] == "kill")
        assert meant["detail"]["grace"] == 1.0


def test_no_request_has_a_grace_of_its_own() -> None:
    """The setting is the one place; a request says None for `as the setting says`, and its help that it does."""
    requests = [operation.request for operation in every_operation().values()]
    requests += [tool.request for name in TOOLSETS for tool in load(name).tools]
    asked = [request.model_fields["grace"] for request in requests if "grace" in request.model_fields]
    assert len(asked) >= 6
    assert [field.default for field in asked] == [None] * len(asked)
    described = [field.description or "" for field in asked]
    assert all("setting" in words for words in described), described
