"""A disk without a byte left: whatever fills it can still be ended, and what is acknowledged then is kept once there is room."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from lamplighter.holder.files import ROOM
from tests.support.disk import fill, make_room, small_disk
from tests.support.engine import Engine
from tests.support.escapees import BOMB_SIZE
from tests.support.processes import alive, marked, none_left, wait_until


@pytest.fixture
def small() -> Iterator[Engine]:
    with small_disk() as made:
        yield made


def rows(lit: Engine, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Straight from the store, past whatever the daemon would say."""
    with sqlite3.connect(f"file:{lit.home.database}?mode=ro", uri=True) as db:
        return db.execute(query, values).fetchall()


def kept(lit: Engine, session: str) -> bool:
    """Whether its end is in the store: once, with one certificate and one hand-off."""
    ended = rows(lit, "SELECT ending FROM sessions WHERE id = ? AND state = 'ended'", session)
    handed = rows(lit, "SELECT id FROM handoffs WHERE session = ?", session)
    events = rows(lit, "SELECT n FROM events WHERE session = ? AND action = 'ended'", session)
    return len(ended) == len(handed) == len(events) == 1 and ended[0][0] is not None


@pytest.mark.parametrize("operation", ["kill_session", "end_session"])
def test_an_ending_needs_no_room(small: Engine, operation: str) -> None:
    session = small.start("sleep", "300", headless=True)["id"]
    fill(small)
    with pytest.raises(LampError) as refused:
        small.start("cat")
    assert refused.value.code is Code.DISK_FULL
    force: dict[str, Any] = {"force": True} if operation == "kill_session" else {"checkpoint": "the disk is full"}
    ended = small.call(operation, session=session, grace="0s", **force)
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
    assert ended["handoff"] is not None
    assert small.show(session)["state"] == "ended"
    assert small.call("list_sessions")["sessions"] == []
    make_room(small)
    assert wait_until(lambda: kept(small, session))


def test_an_ending_on_a_full_disk_outlives_the_daemon(small: Engine) -> None:
    session = small.start("sleep", "300", headless=True)["id"]
    fill(small)
    key = "the-key-of-a-kill"
    ended = small.call("kill_session", key=key, session=session, force=True, grace="0s", reason="it fills the disk")
    assert ended["state"] == "ended"
    small.kill(small.daemon())
    make_room(small)
    again = small.call("kill_session", key=key, session=session, force=True, grace="0s", reason="it fills the disk")
    assert (again["certificate"], again["reason"]) == (ended["certificate"], "it fills the disk")
    assert wait_until(lambda: kept(small, session))


def test_many_endings_on_a_full_disk_are_all_kept(small: Engine) -> None:
    sessions = [small.start("sleep", "300", headless=True)["id"] for _ in range(8)]
    fill(small)
    for session in sessions:
        assert small.call("kill_session", session=session, force=True, grace="0s")["state"] == "ended"
    make_room(small)
    assert wait_until(lambda: all(kept(small, session) for session in sessions))


def test_down_with_all_ends_everything_on_a_full_disk(small: Engine) -> None:
    sessions = [small.start("sleep", "300", headless=True)["id"] for _ in range(3)]
    fill(small)
    went = small.call("stop_daemon", all=True, grace="0s")
    assert {row["state"] for row in went["ended"]} == {"ended"}
    assert went["alive"] == 0
    make_room(small)
    small.call("get_status")
    assert wait_until(lambda: all(kept(small, session) for session in sessions))


def test_a_plan_is_applied_on_a_full_disk(small: Engine) -> None:
    session = small.start("sleep", "300", headless=True)["id"]
    plan = small.call("cleanup_sessions", selection=session, force=True)
    fill(small)
    applied = small.call("cleanup_sessions", apply=plan["plan"], grace="0s")
    assert [row["outcome"] for row in applied["rows"]] == ["ended"]
    make_room(small)
    assert wait_until(lambda: kept(small, session))


def test_a_limit_ends_a_session_on_a_full_disk() -> None:
    with small_disk(LAMPLIGHTER_PATROL="0.2s", LAMPLIGHTER_WARNING="0.1s") as small:
        session = small.start("sleep", "300", headless=True, max_age="3s")["id"]
        fill(small)
        assert wait_until(lambda: small.show(session)["state"] == "ended")
        make_room(small)
        assert wait_until(lambda: kept(small, session))


def test_a_hand_off_is_kept_on_a_full_disk(small: Engine) -> None:
    session = small.start("sleep", "300", headless=True)["id"]
    fill(small)
    handed = small.call("hand_off", session=session, checkpoint="half of it is done")
    assert handed["stored"] == {"checkpoint": 1}
    make_room(small)
    assert wait_until(lambda: rows(small, "SELECT id FROM handoffs WHERE session = ?", session))
    assert rows(small, "SELECT content FROM records") == [("half of it is done",)]


def test_what_exits_by_itself_on_a_full_disk_has_its_end_recorded(small: Engine) -> None:
    session = small.start("sh", "-c", "read line", headless=True)["id"]
    fill(small)
    shim = small.shim(session)
    small.call("kill_session", session=session, force=True, grace="0s")
    assert wait_until(lambda: not alive(*shim)), "its shim waits for room"
    make_room(small)


def test_the_command_line_says_that_it_ended(small: Engine) -> None:
    session = small.start("sleep", "300", headless=True)["id"]
    fill(small)
    said = small.cli("kill", session, "--force", "--grace", "0s")
    assert said.returncode == 0, said.stderr
    make_room(small)


@pytest.mark.parametrize("lost", [False, True], ids=["daemon stays", "daemon lost"])
def test_a_certificate_larger_than_what_is_reserved_for_it(small: Engine, mark: str, lost: bool) -> None:
    """Three hundred processes: the shim cannot write its last file, and says it to the daemon, which keeps it."""
    session = small.escapees("bomb", mark=mark)["id"]
    assert wait_until(lambda: len(marked(mark)) >= BOMB_SIZE)
    shim = small.shim(session)
    fill(small)
    ended = small.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
    assert len(json.dumps(ended["certificate"])) > ROOM
    assert none_left(mark)
    assert wait_until(lambda: not alive(*shim)), "its shim waits for room"
    if lost:
        small.kill(small.daemon())
    assert small.show(session)["state"] == "ended"
    make_room(small)
    assert wait_until(lambda: kept(small, session))
    assert small.show(session)["ending"]["certificate"] == ended["certificate"]


@pytest.mark.parametrize("stopped", [True, False])
def test_a_daemon_that_starts_on_a_full_disk_ends_what_runs(small: Engine, stopped: bool) -> None:
    session = small.start("sleep", "300", headless=True)["id"]
    if stopped:
        small.call("stop_daemon")
        assert wait_until(lambda: not alive(*small.daemon()))
        fill(small)
    else:
        fill(small)
        small.kill(small.daemon())
    ended = small.call("kill_session", session=session, force=True, grace="0s")
    assert ended["state"] == "ended"
    make_room(small)
    assert wait_until(lambda: kept(small, session))
