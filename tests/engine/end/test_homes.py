"""Two homes on one machine. Ids are each home's own, made of the time in milliseconds: two sessions that start at the same moment
have the same one, and an ending in one home must know the other's by something else."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lamplighter.domain.name import make_id
from lamplighter.engine.start.birth_check import was_born
from tests.support.engine import Engine, engine
from tests.support.processes import alive, inspect, wait_until
from tests.support.tmux import tmux_of


@pytest.fixture
def neighbour() -> Iterator[Engine]:
    with engine() as made:
        yield made


def go_on_from(made: Engine, identifier: str) -> None:
    """The next session of this engine gets the id that follows."""
    made.call("get_status")
    made.call("stop_daemon", all=True)
    with closing(sqlite3.connect(made.home.database)) as db, db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('last_id', ?)", (identifier,))


def at_the_same_moment(*engines: Engine) -> None:
    ahead = make_id(time.time() + 3600, "")
    for made in engines:
        go_on_from(made, ahead)


def sleeper(made: Engine) -> tuple[str, tuple[int, int]]:
    """A session, and its process."""
    session = made.start("sleep", "300", headless=True)["id"]
    main = inspect(made.show(session)["pid"])
    assert main is not None
    return session, (main.pid, main.start_ticks)


def end(made: Engine, session: str) -> None:
    ended = made.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])


@pytest.mark.parametrize("loses", [False, True], ids=["held", "shim-lost"])
def test_an_ending_leaves_the_same_id_of_another_home_alone(both: Engine, neighbour: Engine, loses: bool) -> None:
    at_the_same_moment(both, neighbour)
    session, _ = sleeper(both)
    same, main = sleeper(neighbour)
    assert same == session
    if loses:
        both.kill(both.shim(session))
        assert wait_until(lambda: both.show(session)["holder_lost"])
    end(both, session)
    assert alive(*main)
    assert neighbour.show(session)["state"] == "running"


def test_the_end_of_an_adopted_one_leaves_the_same_id_of_another_home_alone(lit: Engine, neighbour: Engine) -> None:
    at_the_same_moment(lit, neighbour)
    with tmux_of(lit) as tmux:
        tmux.new("work", "exec sleep 300")
        session = lit.call("adopt_session", target="tmux:work")["id"]
        same, main = sleeper(neighbour)
        assert same == session
        end(lit, session)
        assert alive(*main)
    assert neighbour.show(session)["state"] == "running"


def test_a_birth_that_came_to_nothing_leaves_the_same_id_of_another_home_alone(
    neighbour: Engine, tmp_path: Path
) -> None:
    session, main = sleeper(neighbour)
    (tmp_path / "birth.json").touch()
    assert not asyncio.run(was_born(str(tmp_path), session, str(tmp_path)))
    assert alive(*main)
