"""Endings, hand-offs and succession when much goes wrong at once: disks that hang, clocks that jump, races, words of any kind."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine

_FORCE_DETACH = 1 | 2


@contextmanager
def hanging(folder: Path) -> Generator[None]:
    """A file system over the folder whose server never answers, as that of a host which is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        server = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"no file system can be made to hang here: {error}")
    try:
        options = f"fd={server},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        if libc.mount(b"hang", bytes(folder), b"fuse", 0, options.encode()):
            pytest.skip(f"no file system can be mounted here: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            libc.umount2(bytes(folder), _FORCE_DETACH)
    finally:
        os.close(server)


def test_sessions_whose_folder_hangs_end_all_the_same_and_keep_nobody_waiting(lit: Engine, tmp_path: Path) -> None:
    """More of them than the daemon has threads to share: each would keep one for good."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\nexec sleep 300\n")
    program.chmod(0o755)
    folder = tmp_path / "away"
    places = [folder / str(number) for number in range(12)]
    for place in places:
        place.mkdir(parents=True)
    sessions = [lit.start(str(program), cwd=str(place), headless=True)["id"] for place in places]
    other = lit.start("sleep", "300", headless=True)["id"]
    lit.call("get_status")  # there is a connection to be had without a fork

    def end(numbered: tuple[int, str]) -> dict[str, Any]:
        number, session = numbered
        words = {"checkpoint": "half of src/a.py is done"} if number % 2 else {}
        return lit.call("end_session", session=session, grace="0s", **words)

    with hanging(folder), ThreadPoolExecutor(12) as pool:
        ended = list(pool.map(end, enumerate(sessions)))
        assert lit.call("end_session", session=other, checkpoint="elsewhere", grace="0s")["state"] == "ended"
    assert {one["state"] for one in ended} == {"ended"}
    assert [one["handoff"]["source"] for one in ended] == ["inferred", "end_session"] * 6


def rows(lit: Engine, table: str) -> list[dict[str, Any]]:
    """Straight from the store, past whatever the daemon would say."""
    with closing(sqlite3.connect(f"file:{lit.home.database}?mode=ro", uri=True)) as db, db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(f"SELECT * FROM {table}")]


def test_words_that_come_while_it_dies_are_in_its_account(lit: Engine) -> None:
    """A kill, and two endings with other words, at once: whoever is first, nothing is inferred beside what was said."""
    for number in range(8):
        session = lit.start("sh", "-c", "trap '' TERM; sleep 300", headless=True)["id"]
        with ThreadPoolExecutor(3) as pool:
            killed = pool.submit(lit.call, "kill_session", session=session, force=True, grace="0.05s")
            said = [
                pool.submit(lit.call, "end_session", session=session, grace="0.05s", checkpoint=f"{word} {number}")
                for word in ("one", "other")
            ]
            ends = [one.result() for one in (killed, *said)]
        assert {end["state"] for end in ends} == {"ended"}
        sources = [row["source"] for row in rows(lit, "handoffs") if row["session"] == session]
        assert sources.count("end_session") == 2
        assert "inferred" not in sources[1:], "it was inferred although somebody had said something by then"
        summary = ends[0]["summary"]
        assert summary["inferred"] == ("inferred" in sources)
        assert ("checkpoint" in summary["stored"]) == ("inferred" not in sources)


def test_an_end_is_recorded_though_its_account_cannot_be_kept(lit: Engine) -> None:
    """A fault of any kind in what is written with it."""
    session = lit.start("sleep", "300", headless=True)["id"]
    with closing(sqlite3.connect(lit.home.database, timeout=200)) as db, db:
        db.execute("CREATE TRIGGER refuse BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'no'); END")
    ended = lit.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["handoff"]) == ("ended", None)
    with closing(sqlite3.connect(lit.home.database, timeout=200)) as db, db:
        db.execute("DROP TRIGGER refuse")
    assert lit.call("end_session", session=session, checkpoint="said later")["handoff"]["stored"] == {"checkpoint": 1}


def test_what_was_said_last_counts_whatever_the_clock_says(timed: tuple[Engine, Clockwork]) -> None:
    lit, clock = timed
    session = lit.start("sleep", "300")["id"]
    lit.call("hand_off", session=session, checkpoint="first", succession_policy="successor_required")
    clock.jump(-7200)
    lit.kill(lit.daemon())
    lit.call("hand_off", session=session, checkpoint="second", succession_policy="closed_without_successor")
    assert lit.call("list_handoffs", waiting=True)["handoffs"] == []
    ended = lit.call("end_session", session=session, grace="0s")
    assert ended["handoff"]["summary"] == "Checkpoint: second"
    with pytest.raises(LampError) as refused:
        lit.start("sleep", "300", from_session=session)
    assert refused.value.code is Code.NO_SUCCESSOR
    clock.jump(-86400)
    after = lit.start("sleep", "300")["id"]
    lit.call("end_session", session=after, checkpoint="third", grace="0s")
    third = lit.start("sleep", "300", from_session="last")["id"]
    assert lit.show(third)["predecessor"] == after


def test_half_a_character_is_bad_input_and_changes_nothing(lit: Engine) -> None:
    session = lit.start("sleep", "300")["id"]
    half = "half \ud800 of one"
    asked: list[dict[str, Any]] = [
        {"decisions": ["whole", half]},
        {"open_loops": [half]},
        {"resolved_loops": [half]},
        {"checkpoint": half},
        {"checkpoint": "whole", "project": half},
    ]
    for words in asked:
        for operation in ("hand_off", "end_session"):
            with pytest.raises(LampError) as refused:
                lit.call(operation, session=session, **words)
            assert refused.value.code is Code.BAD_INPUT
    assert lit.show(session)["state"] == "running"
    assert rows(lit, "records") == rows(lit, "handoffs") == []


def test_a_line_of_many_generations_shows_the_one_that_was_asked_for(lit: Engine) -> None:
    session = lit.start("true", headless=True)["id"]
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    with closing(sqlite3.connect(lit.home.database, timeout=200)) as db, db:
        db.row_factory = sqlite3.Row
        row = dict(db.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone())
        before = None
        for number in range(1200):
            row.update(id=f"z{number:07}", name=f"g{number}", key=f"key {number}", predecessor=before)
            names = ", ".join(row)
            db.execute(f"INSERT INTO sessions ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
            before = row["id"]
    found = lit.call("get_lineage", session="z0001199")
    assert [one["id"] for one in found["generations"] if one["asked"]] == ["z0001199"]
    assert found["cut"]
    drawn = lit.cli("lineage", "z0001199").stdout.splitlines()
    assert "z0001199" in drawn[-2]
    assert "longer" in drawn[-1]
    assert max(map(len, drawn)) < 200
    assert not lit.call("get_lineage", session=session)["cut"]
