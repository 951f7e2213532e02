"""A daemon of today speaks to holders of before: shims live for weeks, and a keeper is upgraded in place.

Each archive is the holder as it was, with only what is needed to run it: when version N of the wire was settled (`wire_N`),
and as a release had it (`0.1.0`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lamplighter.holder import boot
from lamplighter.holder.keeper import code_version
from lamplighter.holder.wire import Channel
from tests.support.aged import aged_engine, messages, start_as_then
from tests.support.engine import Engine
from tests.support.processes import wait_until

ARCHIVES = sorted(Path(__file__).parent.glob("*.tar.xz"))


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def aged(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, int]]:
    """An engine whose keeper is of another time, and the keeper's pid."""
    with aged_engine(request.param) as made:
        yield made


def test_a_daemon_of_today_speaks_to_a_shim_of_then(aged: tuple[Engine, int]) -> None:
    made, keeper = aged
    session = start_as_then(made, "old-1", ["/bin/cat"])
    assert wait_until(lambda: made.show(session)["state"] == "running")  # once its shim has greeted the daemon
    assert made.show(session)["name"] == "old-1"
    made.call("send_input", session=session, text="still understood")
    made.call("wait_session", session=session, until="text=understood\r\nstill understood", timeout="120s")
    assert made.call("read_output", session=session)["text"] == "still understood\n" * 2
    # Its keeper became one of today, in place, and holds it still.
    assert made.keeper()[0] == keeper
    sock = boot.connect(made.home.keeper_socket)
    assert sock is not None
    channel = Channel(sock)
    assert messages(channel)[0]["code"] == code_version()
    channel.close()
    assert made.start("cat", name="new")["state"] == "running"
    ended = made.call("end_session", session=session)
    assert (ended["state"], ended["how"], ended["certificate"]["survivors"]) == ("ended", "asked", [])


def test_a_shim_of_then_that_is_lost_is_replaced_by_one_of_today(aged: tuple[Engine, int]) -> None:
    made, _ = aged
    session = start_as_then(made, "old-2", ["/bin/cat"])
    assert wait_until(lambda: made.show(session)["state"] == "running")
    made.kill(made.shim(session))
    assert wait_until(lambda: made.show(session)["holder_lost"])
    made.call("send_input", session=session, text="hello")
    made.call("wait_session", session=session, until="text=hello\r\nhello", timeout="120s")
    assert made.call("kill_session", session=session, force=True)["certificate"]["guarantee"] == "best_effort"
