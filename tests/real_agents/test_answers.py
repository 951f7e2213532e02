"""What a tool answers, as each real client puts it before its model: no fact is missing, and none stands twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.engine import Engine

if TYPE_CHECKING:
    from conftest import Meeting

pytestmark = pytest.mark.agents

CALLS: dict[str, dict[str, Any]] = {
    "list_sessions": {"selection": "all"},
    "read_output": {"session": "told", "mode": "output"},
    "get_session": {"session": "told"},
}


@pytest.fixture(scope="module")
def told(served: Engine) -> str:
    """A session that has printed a line."""
    session = served.start("sh", "-c", "echo a-line-of-its-own; exec cat", name="told")["id"]
    served.call("wait_session", session=session, until="text=a-line-of-its-own", since=0, timeout="120s")
    return session


@pytest.mark.parametrize("tool", CALLS)
def test_a_model_is_given_every_fact_once(meet: Callable[..., Meeting], told: str, tool: str) -> None:
    meeting = meet(tool, **CALLS[tool])
    with meeting.turn() as turn:
        assert turn.wait(100) == 0
    given = str(meeting.model.result)
    facts = {"read_output": ["a-line-of-its-own", "cursor"]}.get(tool, [told, "told", "verdict", "state"])
    assert [fact for fact in facts if fact not in given] == [], given
    assert given.count(facts[0]) == 1, given
