"""When a real agent goes, by itself or by KILL, its bridge goes with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from lamplighter.testing.processes import alive, wait_until

if TYPE_CHECKING:
    from conftest import Meeting

pytestmark = pytest.mark.agents


def test_with_the_end_of_the_turn(meet: Callable[..., Meeting]) -> None:
    meeting = meet(hold=True)
    with meeting.turn() as turn:
        assert meeting.model.answered.wait(100)
        (bridge,) = meeting.bridges()
        meeting.model.released.set()
        assert turn.wait(100) == 0
        assert wait_until(lambda: not alive(bridge.pid, bridge.start_ticks), 30)
        assert meeting.bridges() == []


def test_with_its_murder(meet: Callable[..., Meeting], parent: Callable[[int], int]) -> None:
    """The process that has started the bridge is killed, and can tell nobody."""
    meeting = meet(hold=True)
    with meeting.turn():
        assert meeting.model.answered.wait(100)
        (bridge,) = meeting.bridges()
        os.kill(parent(bridge.pid), signal.SIGKILL)
        assert wait_until(lambda: not alive(bridge.pid, bridge.start_ticks), 30)
        assert meeting.bridges() == []
