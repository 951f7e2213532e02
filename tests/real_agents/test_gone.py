"""When a real agent goes, by itself or by KILL, its bridge goes with it; when the daemon goes, the agent does not notice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import alive, wait_until

if TYPE_CHECKING:
    from conftest import Meeting

pytestmark = pytest.mark.agents


def test_with_the_end_of_the_turn(meet: Callable[..., Meeting]) -> None:
    meeting = meet(hold="result")
    with meeting.turn() as turn:
        assert meeting.model.answered.wait(100)
        (bridge,) = meeting.bridges()
        meeting.model.released.set()
        assert turn.wait(100) == 0
        assert wait_until(lambda: not alive(bridge.pid, bridge.start_ticks), 30)
        assert meeting.bridges() == []


def test_with_its_murder(meet: Callable[..., Meeting], parent: Callable[[int], int]) -> None:
    """The process that has started the bridge is killed, and can tell nobody."""
    meeting = meet(hold="result")
    with meeting.turn():
        assert meeting.model.answered.wait(100)
        (bridge,) = meeting.bridges()
        os.kill(parent(bridge.pid), signal.SIGKILL)
        assert wait_until(lambda: not alive(bridge.pid, bridge.start_ticks), 30)
        assert meeting.bridges() == []


def test_without_the_daemon_it_goes_on(meet: Callable[..., Meeting]) -> None:
    """Killed between the agent's start and its call: the call is carried out by the next daemon, over the same bridge."""
    meeting = meet("start_session", hold="call", command=["cat"], name="after-a-break", cwd="/")
    with meeting.turn() as turn:
        assert meeting.model.ready.wait(100)
        before = meeting.bridges()
        meeting.engine.kill(meeting.engine.daemon())
        meeting.model.released.set()
        assert meeting.model.answered.wait(100)
        assert turn.wait(100) == 0
    assert len(before) == 1
    started = meeting.engine.show("after-a-break")
    meeting.engine.call("kill_session", session=started["id"], grace="0s", force=True)
    assert started["id"] in meeting.model.result, meeting.model.result
    assert meeting.engine.show(started["owner"].removeprefix("session:"))["agent"] == meeting.agent.name
