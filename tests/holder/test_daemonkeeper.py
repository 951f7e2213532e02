"""A daemon that does not start: who asked for it is told so, and only of starts that began after the question."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from lamplighter.holder.daemonkeeper import DaemonKeeper
from lamplighter.holder.wire import Channel, parse_json


class Asker:
    """Somebody who needs the daemon, and what they have been told."""

    def __init__(self, keeper: DaemonKeeper) -> None:
        ours, theirs = socket.socketpair()
        self.ours, self.theirs = Channel(ours), Channel(theirs)
        keeper.want(self.theirs, {"op": "daemon", "n": 7})

    def told(self) -> list[dict[str, Any]]:
        return [parse_json(payload) for _, payload in self.ours.read() or ()]

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


def fail(keeper: DaemonKeeper) -> None:
    """The start that is under way comes to nothing."""
    assert keeper.pid is not None
    os.kill(keeper.pid, signal.SIGKILL)
    pid, _ = os.waitpid(keeper.pid, 0)
    assert keeper.died(pid)


def start_again(keeper: DaemonKeeper) -> None:
    """What it would do after its pause, without the pause."""
    assert keeper.pid is None
    assert keeper.start_at is not None
    keeper.start_at = 0.0
    keeper.proceed()


@pytest.fixture
def keeper(tmp_path: Path) -> DaemonKeeper:
    return DaemonKeeper(str(tmp_path), str(tmp_path))


def test_one_that_is_begun_ahead_and_dies_unseen_is_started_when_it_is_asked_for(keeper: DaemonKeeper) -> None:
    keeper.begin()
    assert keeper.pid is not None
    os.kill(keeper.pid, signal.SIGKILL)
    os.waitpid(keeper.pid, 0)
    keeper.settle()
    assert keeper.pid is None
    asker = Asker(keeper)
    for _ in range(3):
        assert not asker.told()
        fail(keeper)
        start_again(keeper)
    assert "error" in asker.told()[0]
    fail(keeper)
    asker.close()


def test_a_start_from_before_the_question_is_no_answer(keeper: DaemonKeeper) -> None:
    first = Asker(keeper)
    for _ in range(2):
        fail(keeper)
        start_again(keeper)
        assert not first.told()
    late = Asker(keeper)  # while the third start is under way
    fail(keeper)
    (refusal,) = first.told()
    assert refusal["n"] == 7
    assert refusal["error"]["code"] == "DAEMON_UNREACHABLE"
    for _ in range(3):
        assert not late.told()
        assert not keeper.hopeless
        start_again(keeper)
        fail(keeper)
    assert [each["error"]["code"] for each in late.told()] == ["DAEMON_UNREACHABLE"]
    assert not first.told()
    assert keeper.hopeless
    first.close()
    late.close()
