"""No session ends without a hand-off: what is handed over is stored with the intent, once; without words, one is inferred."""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mortality import deaths
from tests.support.places import GOLDEN
from tests.support.processes import inspect, wait_until

pytestmark = pytest.mark.shared

EVERYTHING: dict[str, Any] = {
    "checkpoint": "the parser reads all but dates",
    "decisions": ["dates stay strings, because zones are not given"],
    "open_loops": ["who owns the fixtures?", "dates with two digits"],
    "preferences": ["short commit messages"],
    "constraints": ["never touch the vendored lexer"],
    "warnings": ["the tests need a clock of their own"],
    "relational_delta": "we agreed to ask before renaming",
    "next_session_focus": "dates",
    "reason": "end of the day",
    "epitaph": "it read, and was read",
    "succession_policy": "successor_allowed",
}


def rows(lit: Engine, table: str) -> list[dict[str, Any]]:
    """Straight from the store, past whatever the daemon would say."""
    with closing(sqlite3.connect(f"file:{lit.home.database}?mode=ro", uri=True)) as db, db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(f"SELECT * FROM {table}")]


def test_an_end_stores_what_is_handed_over_before_it_signals(lit: Engine) -> None:
    started = lit.start("sleep", "300")
    ended = lit.call("end_session", session=started["id"], **EVERYTHING)
    assert ended["state"] == "ended"
    handoff = ended["handoff"]
    assert handoff["source"] == "end_session"
    assert handoff["stored"] == {
        "checkpoint": 1, "next_session_focus": 1, "relational_delta": 1, "constraint": 1,
        "open_loop": 2, "warning": 1, "decision": 1, "preference": 1,
    }  # fmt: skip
    assert handoff["stored_count"] == 9
    assert handoff["epitaph"] == EVERYTHING["epitaph"]
    actions = [event["action"] for event in lit.events(started["id"])]
    assert actions.index("handed off") < actions.index("end") < actions.index("ended")
    assert [row["source"] for row in rows(lit, "handoffs")] == ["end_session"]


def test_the_same_ending_asked_twice_stores_once_and_answers_the_same(lit: Engine) -> None:
    started = lit.start("sleep", "300")
    first = lit.call("end_session", session=started["id"], **EVERYTHING)
    again = lit.call("end_session", session=started["id"], **EVERYTHING)
    assert again == first
    assert len(rows(lit, "handoffs")) == 1
    assert len(rows(lit, "records")) == 9


def test_other_words_after_the_end_are_kept_too(lit: Engine) -> None:
    started = lit.start("sleep", "300")
    lit.call("end_session", session=started["id"], checkpoint="first")
    later = lit.call("end_session", session=started["id"], checkpoint="second")
    assert later["handoff"]["records"]
    found = {row["content"]: row["state"] for row in rows(lit, "records")}
    assert found == {"first": "superseded", "second": "active"}


def test_a_hand_off_ends_nothing(lit: Engine) -> None:
    started = lit.start("sleep", "300")
    stored = lit.call("hand_off", session=started["id"], **EVERYTHING)
    assert stored["source"] == "operator"
    assert lit.call("hand_off", session=started["id"], **EVERYTHING)["id"] == stored["id"]
    assert lit.show(started["id"])["state"] == "running"


def test_nothing_to_hand_off_is_an_error(lit: Engine) -> None:
    started = lit.start("sleep", "300")
    with pytest.raises(LampError) as caught:
        lit.call("hand_off", session=started["id"], checkpoint="   ", reason="because")
    assert caught.value.code is Code.BAD_INPUT
    with pytest.raises(LampError) as caught:
        lit.call("hand_off", checkpoint="whose?")
    assert caught.value.code is Code.BAD_INPUT


def test_loops_are_resolved_dropped_and_carried(lit: Engine) -> None:
    first = lit.start("sleep", "300", name="first")
    lit.call("end_session", session="first", open_loops=["a", "b", "c"])
    loops = {row["content"]: row["id"] for row in rows(lit, "records") if row["type"] == "open_loop"}
    lit.start("sleep", "300", name="second")
    second = lit.call(
        "end_session", session="second", checkpoint="x", resolved_loops=[loops["a"]], dropped_loops=[loops["b"]]
    )["handoff"]
    assert (second["resolved"], second["dropped"], second["carried"]) == ([loops["a"]], [loops["b"]], [loops["c"]])
    listed = lit.call("list_records", all=True, state="all")["records"]
    found = {row["content"]: (row["state"], row["closed_why"], row["carried"]) for row in listed}
    assert found["a"] == ("resolved", "resolved", 0)
    assert found["b"] == ("resolved", "dropped", 0)
    assert found["c"] == ("active", None, 1)
    # The same session handing off twice has carried it once.
    lit.start("sleep", "300", name="third")
    lit.call("hand_off", session="third", checkpoint="y")
    lit.call("end_session", session="third", checkpoint="z")
    listed = lit.call("list_records", all=True)["records"]
    assert next(row["carried"] for row in listed if row["content"] == "c") == 2
    assert first["id"]


def test_a_loop_that_is_not_there_changes_nothing(lit: Engine) -> None:
    started = lit.start("sleep", "300")
    with pytest.raises(LampError) as caught:
        lit.call("end_session", session=started["id"], checkpoint="x", resolved_loops=["rnothing"])
    assert caught.value.code is Code.NOT_FOUND
    assert lit.show(started["id"])["state"] == "running"
    assert rows(lit, "records") == rows(lit, "handoffs") == []


def test_private_passages_are_never_stored(lit: Engine) -> None:
    started = lit.start("sleep", "300")
    stored = lit.call(
        "hand_off",
        session=started["id"],
        checkpoint="the door <private>code 4711</private> is open",
        warnings=["<private>all of it</private>"],
        reason="<private>mine</private>",
    )
    assert stored["withheld"] == 3
    assert stored["stored"] == {"checkpoint": 1}
    lit.call("stop_daemon")
    for file in lit.folder.glob("*.db*"):
        assert b"4711" not in file.read_bytes()


@pytest.mark.parametrize("how", ["exits", "killed", "ended", "dies"])
def test_a_session_without_words_leaves_an_inferred_one(lit: Engine, how: str) -> None:
    command = "echo last words; exec sleep 300" if how != "exits" else "echo last words"
    started = lit.start("sh", "-c", command, headless=True)
    if how == "killed":
        lit.call("wait_session", session=started["id"], until="text=last words", timeout="120s")
        lit.call("kill_session", session=started["id"], force=True, grace="0s")
    elif how == "ended":
        lit.call("wait_session", session=started["id"], until="text=last words", timeout="120s")
        lit.call("end_session", session=started["id"])
    elif how == "dies":
        lit.call("wait_session", session=started["id"], until="text=last words", timeout="120s")
        lit.kill(lit.shim(started["id"]))
        lit.kill(lit.keeper())
        lit.call("kill_session", session=started["id"], force=True, grace="0s")
    lit.call("wait_session", session=started["id"], until="ended", timeout="120s")
    (handoff,) = rows(lit, "handoffs")
    assert handoff["source"] == "inferred"
    found = rows(lit, "records")
    assert found
    assert {row["type"] for row in found} == {"note"}
    assert {row["source"] for row in found} == {"inferred"}


def test_two_at_once_with_the_same_words_store_once(lit: Engine) -> None:
    from concurrent.futures import ThreadPoolExecutor

    started = lit.start("sleep", "300")
    with ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit(lit.call, "end_session", key=uuid.uuid4().hex, session=started["id"], **EVERYTHING)
            for _ in range(8)
        ]
        answers = [one.result() for one in asked]
    assert len({answer["handoff"]["id"] for answer in answers}) == 1
    assert len(rows(lit, "handoffs")) == 1
    assert len(rows(lit, "records")) == 9


@EVERY_STEP
def test_an_ending_with_a_hand_off_survives_death_at_every_step(mortal: Engine, every: int) -> None:
    """Whatever the step, the words are there once, and before the session was signalled; and the answer is the same."""
    for death in deaths(mortal, every):
        session = mortal.start("sleep", "300", name=f"job-{death.number}")["id"]
        words: dict[str, Any] = {"checkpoint": f"at {death.number}", "open_loops": [f"loop {death.number}"]}
        death.arm()
        ended = mortal.call("end_session", key=uuid.uuid4().hex, session=session, grace="0.1s", **words)
        assert ended["state"] == "ended"
        assert ended["handoff"]["stored"] == {"checkpoint": 1, "open_loop": 1}
        assert ended["summary"]["how"]
        mine = [row for row in rows(mortal, "records") if row["session"] == session]
        assert sorted(row["content"] for row in mine) == [f"at {death.number}", f"loop {death.number}"]
        assert [row["source"] for row in rows(mortal, "handoffs") if row["session"] == session] == ["end_session"]
        actions = [event["action"] for event in mortal.events(session)]
        assert [actions.count(action) for action in ("end", "handed off", "ended")] == [1, 1, 1]


@EVERY_STEP
def test_what_dies_in_a_crash_leaves_an_inferred_hand_off(mortal: Engine, every: int) -> None:
    for death in deaths(mortal, every):
        session = mortal.start("sh", "-c", "echo so far; exec sleep 300", headless=True)["id"]
        mortal.call("wait_session", session=session, until="text=so far", timeout="120s")
        death.arm()
        mortal.call("kill_session", key=uuid.uuid4().hex, session=session, force=True, grace="0s")
        found = [row for row in rows(mortal, "records") if row["session"] == session]
        assert [row["type"] for row in found] == ["note"] * len(found)
        assert any("so far" in row["content"] for row in found)
        assert [row["source"] for row in rows(mortal, "handoffs") if row["session"] == session] == ["inferred"]


def test_an_agent_that_is_killed_leaves_what_its_transcript_says(lit: Engine, tmp_path: Path) -> None:
    """A program called claude that keeps its conversation where that one does; its own process is killed, and nobody asked."""
    kept = GOLDEN / "claude" / "killed" / "transcript.jsonl"
    program = tmp_path / "claude"
    script = 'mkdir -p "$1"; sed "s#/w/shop#$PWD#g" "$2" > "$1/11111111-2222-4333-8444-555555555555.jsonl"'
    program.write_text(f"#!/bin/sh\n{script}\necho up; exec sleep 300\n")
    program.chmod(0o755)
    folder = lit.folder / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(tmp_path))
    started = lit.start(str(program), str(folder), str(kept), cwd=str(tmp_path), headless=True)
    lit.call("wait_session", session=started["id"], until="text=up", timeout="120s")
    shown = lit.show(started["id"])
    found = inspect(shown["pid"])
    assert found is not None
    lit.kill((found.pid, found.start_ticks))
    lit.call("wait_session", session=started["id"], until="ended", timeout="120s")
    expected = json.loads((GOLDEN / "claude" / "killed" / "expected.json").read_text())
    contents = [row["content"] for row in rows(lit, "records") if row["session"] == started["id"]]
    assert any(text.startswith("Last request:") and expected["last_request"][:40] in text for text in contents)
    assert any(text.startswith("Open to-dos:") for text in contents)
    handoff = lit.show(started["id"])["handoff"]
    assert any(basis.startswith("transcript") for basis in handoff["basis"])


def test_one_that_passes_a_limit_leaves_why(timed: tuple[Engine, Clockwork]) -> None:
    lit, clock = timed
    session = lit.start("sleep", "300", max_age="1h")["id"]
    clock.advance(3700)
    assert wait_until(lambda: "warning" in [event["action"] for event in lit.events(session)])
    clock.advance(60)
    assert wait_until(lambda: lit.show(session)["state"] == "ended")
    assert lit.show(session)["handoff"]["source"] == "inferred"
    contents = [row["content"] for row in rows(lit, "records") if row["session"] == session]
    assert any("How it ended:" in text and "1h" in text for text in contents), contents
