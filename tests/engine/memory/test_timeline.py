"""What the page sums up: projects with what is kept about each, sessions as stretches of time, packets only looked at."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support.engine import Engine

pytestmark = pytest.mark.shared


def spans(lit: Engine, before: timedelta, after: timedelta, **more: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    return lit.call("list_spans", since=(now - before).isoformat(), until=(now + after).isoformat(), **more)


def test_projects_are_listed_with_what_is_kept_about_each(lit: Engine) -> None:
    assert lit.call("list_projects")["projects"] == []
    loop = {"content": "dates", "type": "open_loop"}
    first = lit.call("store_records", project="shop", records=[{"content": "a"}, {"content": "b"}, loop])
    lit.call("store_records", project="mill", records=[{"content": "c"}])
    lit.call("store_records", everywhere=True, records=[{"content": "d", "type": "constraint"}])
    lit.call("update_record", action="resolve", records=[first["records"][0]["id"]])
    lit.call("update_record", action="forget", records=[first["records"][1]["id"]])
    found = {one["id"]: one for one in lit.call("list_projects")["projects"]}
    assert list(found) == [None, "mill", "shop"], "the last changed first"
    assert found["shop"]["types"] == {"open_loop": 1}
    assert (found["shop"]["records"], found["shop"]["closed"]) == (1, 1), "what is forgotten is not counted"
    assert found[None]["types"] == {"constraint": 1}


def test_what_was_only_inferred_is_counted_apart(lit: Engine) -> None:
    session = lit.start("sh", "-c", "echo the last words", name="before", project="shop")["id"]
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    (found,) = [one for one in lit.call("list_projects")["projects"] if one["id"] == "shop"]
    assert found["inferred"]
    assert found["handoffs"] == 1
    assert found["records"] == 0


def test_sessions_are_listed_by_the_time_they_lived_in(lit: Engine) -> None:
    gone = lit.start("sleep", "300", name="gone", project="shop")["id"]
    lit.call("kill_session", session=gone, force=True)
    there = lit.start("sleep", "300", name="there")["id"]
    found = spans(lit, timedelta(hours=1), timedelta(hours=1))
    first, second = found["spans"]
    assert (first["id"], first["project"], first["state"]) == (gone, "shop", "ended")
    assert first["how"] == lit.show(gone)["how"]
    assert first["ended_at"] == lit.show(gone)["ended_at"]
    assert (second["id"], second["ended_at"], second["how"]) == (there, None, None)
    assert second["memory"] > 0
    assert found["first_at"] == first["started_at"]
    assert spans(lit, timedelta(hours=2), timedelta(hours=-1))["spans"] == [], "not before they began"
    assert spans(lit, timedelta(hours=-1), timedelta(hours=2))["spans"] == [], "nobody knows who will live"


def test_of_too_many_the_last_are_listed(lit: Engine) -> None:
    for number in range(3):
        session = lit.start("true", name=f"short-{number}")["id"]
        lit.call("wait_session", session=session, until="ended", timeout="120s")
    found = spans(lit, timedelta(hours=1), timedelta(hours=1), limit=2)
    assert [one["name"] for one in found["spans"]] == ["short-1", "short-2"]
    assert found["left_out"] == 1


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("yesterday", "2026-01-01"),
        ("2026-01-02", "2026-01-01"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01", "2027-01-01"),
    ],
)
def test_what_is_no_stretch_of_time_is_refused(lit: Engine, since: str, until: str) -> None:
    with pytest.raises(LampError) as caught:
        lit.call("list_spans", since=since, until=until)
    assert caught.value.code is Code.BAD_INPUT


def test_a_packet_that_is_only_looked_at_was_delivered_to_nobody(lit: Engine) -> None:
    lit.call("store_records", project="shop", records=[{"content": "never push", "type": "constraint"}])

    def receipts() -> int:
        with closing(sqlite3.connect(lit.home.database)) as db, db:
            return int(db.execute("SELECT count(*) FROM receipts").fetchone()[0])

    looked = lit.call("load_handoff", project="shop", preview=True)
    assert "never push" in looked["text"]
    assert not looked["receipt_kept"]
    assert receipts() == 0
    assert lit.call("load_handoff", project="shop")["receipt_kept"]
    assert receipts() == 1
