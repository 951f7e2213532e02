"""A day with a real agent in a session: spoken to, gone on with, its own children and others', and what it hands over."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.engine import Engine, engine
from tests.support.mcp_client import outside
from tests.support.model import Call, Say, Step
from tests.support.processes import wait_until
from tests.support.staged import PATIENCE

if TYPE_CHECKING:
    from tests.support.staged import Stage

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    """Its MCP server is warm: on a busy machine an agent may ask its model before a cold one has answered."""
    with engine() as made:
        with outside(made) as (client, _):
            client.call("list_sessions")
        yield made


def test_spoken_to_in_a_terminal_and_gone_on_with(stage: Callable[..., Stage], lit: Engine) -> None:
    staged = stage(lit)
    first = staged.terminal()
    staged.submit(first, "word-of-the-first")
    assert staged.shows(first, "STUB-REPLY 1: word-of-the-first"), staged.told(first)
    staged.submit(first, "word-of-the-second")
    assert staged.shows(first, "STUB-REPLY 2: word-of-the-second"), staged.told(first)
    ended = lit.call("end_session", session=first, grace="2s")
    assert (ended["state"], staged.left()) == ("ended", [])
    handoff = ended["handoff"]
    assert handoff["source"] == "inferred"
    assert any("transcript" in basis for basis in handoff["basis"]), handoff
    assert ended["summary"]["messages"]["user"] == 2

    second = staged.terminal(resume=first)
    staged.submit(second, "word-of-the-third")
    assert staged.shows(second, "STUB-REPLY 3: word-of-the-third"), staged.told(second)
    assert staged.model.said == ["word-of-the-first", "word-of-the-second", "word-of-the-third"]
    assert "word-of-the-first" in json.dumps(staged.model.requests[-1][1])


def test_its_own_child_and_anothers(stage: Callable[..., Stage], lit: Engine) -> None:
    """It lists and ends what it has started; what the operator has started is beyond it."""
    staged = stage(lit, bridge=True)
    child, others = f"child-{staged.mark[-8:]}", f"operators-{staged.mark[-8:]}"
    staged.sessions.append(lit.start("cat", name=others)["id"])
    turn: list[Step] = [
        Call("start_session", {"command": ["cat"], "name": child, "cwd": "/"}),
        Call("list_sessions", {}),
        Call("end_session", {"session": child, "grace": "1s"}),
        Call("end_session", {"session": others}),
        Say("all done"),
    ]
    staged.model.script = [turn]
    session = staged.headless("go")
    ended = staged.ended(session)
    heard = [staged.model.results.get(f"call_1_{place}", "") for place in range(4)]
    assert ended["exit"] == {"code": 0}, staged.told(session)
    assert child in heard[1], heard
    assert lit.show(child)["state"] == "ended"
    assert lit.show(child)["parent"] == session
    assert "APPROVAL_NEEDED" in heard[3], heard
    assert lit.show(others)["state"] == "running"


@pytest.mark.parametrize("where", ["terminal", "headless"])
def test_it_ends_itself_and_hands_over(stage: Callable[..., Stage], lit: Engine, where: str) -> None:
    staged = stage(lit, bridge=True)
    checkpoint = f"the wick is trimmed {staged.mark}"
    handed = {"checkpoint": checkpoint, "open_loops": ["fill the oil"], "decisions": ["brass, not tin"]}
    staged.model.script = [[Call("end_session", handed), Say("good night")]]
    session = staged.terminal("finish") if where == "terminal" else staged.headless("finish")
    assert wait_until(lambda: lit.show(session)["state"] != "running", PATIENCE), staged.told(session)
    ended = staged.ended(session)
    assert ended["state"] == "ended"
    assert staged.left() == []
    (handoff,) = [one for one in lit.call("list_handoffs")["handoffs"] if one["session"] == session]
    assert handoff["source"] == "end_session", handoff
    assert checkpoint in json.dumps(lit.call("load_handoff", session=session))
    assert checkpoint not in staged.model.said
