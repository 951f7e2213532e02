"""Real agents with all that they leave behind are ended and killed, and nothing is left: seen in /proc, not in the record.

LAMPLIGHTER_AGENT_ROUNDS=20 runs each case that often.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from lamplighter.testing.engine import Engine, engine
from lamplighter.testing.model import Gate, Hang, Say
from lamplighter.testing.processes import wait_until
from lamplighter.testing.staged import JOBS, PATIENCE

if TYPE_CHECKING:
    from lamplighter.testing.staged import Stage

pytestmark = pytest.mark.agents
ROUNDS = range(int(os.environ.get("LAMPLIGHTER_AGENT_ROUNDS") or "1"))


@pytest.fixture(scope="module", params=["kernel", "tree"])
def lit(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine(**({"LAMPLIGHTER_CGROUP": "off"} if request.param == "tree" else {})) as made:
        made.guarantee = request.param
        yield made


def laden(stage: Stage, *, terminal: bool) -> str:
    """A session of the agent with everything that it can leave: a job, one in a session of its own, a tool that runs, a deaf
    MCP server; and what it starts by itself."""
    stage.model.script = [[*stage.jobs(), Hang(Gate()), Say("never said")]]
    if terminal:
        session = stage.terminal()
        stage.submit(session, "leave things")
    else:
        session = stage.headless("leave things")
    own = ["managed-daemon"] if terminal and stage.agent.name == "codex" else []
    expected = {*stage.expected(), *own}
    assert wait_until(lambda: stage.roles() == expected, PATIENCE), (stage.roles(), stage.told(session))
    return session


@pytest.mark.parametrize("round", ROUNDS)
@pytest.mark.parametrize("act", ["end", "kill"])
@pytest.mark.parametrize("where", ["terminal", "headless"])
def test_nothing_is_left(stage: Callable[..., Stage], lit: Engine, where: str, act: str, round: int) -> None:
    """Both ways of proving it: on each, one of the ends in a terminal and the other one headless."""
    if (where == "terminal") != ((act == "end") == (lit.guarantee == "kernel")):
        pytest.skip("on the other path")
    staged = stage(lit, stubborn=True)
    session = laden(staged, terminal=where == "terminal")
    before = staged.left()
    if act == "kill":
        told = lit.call("kill_session", session=session, grace="1s", force=True)
    else:
        told = lit.call("end_session", session=session, grace="1s")
    assert staged.left() == []
    assert told["state"] == "ended"
    assert (told["certificate"]["guarantee"], told["certificate"]["survivors"]) == (lit.guarantee, [])
    assert len(before) >= len(JOBS)
