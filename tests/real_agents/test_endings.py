"""Real agents with all that they leave behind are ended and killed, and nothing is left: seen in /proc, not in the record.

LAMPLIGHTER_AGENT_ROUNDS=20 runs each case that often.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support.engine import Engine, engine
from tests.support.model import Gate, Hang, Say
from tests.support.processes import wait_until
from tests.support.staged import JOBS, PATIENCE

if TYPE_CHECKING:
    from tests.support.staged import Stage

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]
ROUNDS = range(int(os.environ.get("LAMPLIGHTER_AGENT_ROUNDS") or "1"))


@pytest.fixture(scope="module", params=["kernel", "tree"])
def lit(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine(**({"LAMPLIGHTER_CGROUP": "off"} if request.param == "tree" else {})) as made:
        made.guarantee = request.param
        yield made


def laden(stage: Stage, *, terminal: bool) -> str:
    """A session of the agent with everything that it can leave: a job, one in a session of its own, a tool that runs, a deaf
    MCP server. None has a daemon that others share."""
    stage.model.script = [[*stage.jobs(), Hang(Gate()), Say("never said")]]
    session = stage.terminal("leave things") if terminal else stage.headless("leave things")
    expected = stage.expected()
    assert wait_until(lambda: stage.roles() >= expected, PATIENCE), (stage.roles(), stage.told(session))
    assert "managed-daemon" not in stage.roles()
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


@pytest.mark.parametrize("round", ROUNDS)
def test_nothing_is_left_of_one_that_died(stage: Callable[..., Stage], lit: Engine, round: int) -> None:
    """The agent itself is killed, by nobody that we know; what it has left goes after it, without a word from anyone."""
    if lit.guarantee == "kernel":
        pytest.skip("one path is enough: the other is the harder one")
    staged = stage(lit, stubborn=True)
    session = laden(staged, terminal=True)
    os.kill(lit.show(session)["pid"], signal.SIGKILL)
    ended = staged.ended(session)
    assert staged.left() == []
    assert (ended["state"], ended["how"]) == ("ended", "exited")


@pytest.mark.parametrize("round", ROUNDS)
def test_nothing_is_left_when_the_daemon_dies_meanwhile(stage: Callable[..., Stage], lit: Engine, round: int) -> None:
    """Killed in the middle of the end; the next one goes on with it, and the answer is one and the same."""
    if lit.guarantee == "kernel":
        pytest.skip("one path is enough: the other is the harder one")
    staged = stage(lit, stubborn=True)
    session = laden(staged, terminal=False)
    with ThreadPoolExecutor(1) as pool:
        ending = pool.submit(lit.call, "end_session", session=session, grace="2s")
        assert wait_until(lambda: lit.show(session)["state"] != "running", PATIENCE)
        lit.kill(lit.daemon())
        told = ending.result(PATIENCE)
    assert (told["state"], told["certificate"]["survivors"]) == ("ended", [])
    assert staged.left() == []
