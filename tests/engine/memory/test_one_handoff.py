"""An inferred hand-off, and then one that is said for the same ended session: one hand-off, the inferred one as its evidence."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lamplighter.store import handoffs
from lamplighter.store.migrations import MIGRATIONS, migrate
from tests.support.engine import Engine

pytestmark = pytest.mark.shared


def killed(lit: Engine, tmp_path: Path, name: str) -> str:
    session = lit.start("sh", "-c", "echo all that it printed; cat", name=name, cwd=str(tmp_path))["id"]
    lit.call("kill_session", session=session, force=True, grace="0s")
    assert lit.show(session)["handoff"]["source"] == "inferred"
    return session


def of(lit: Engine, session: str) -> list[dict[str, Any]]:
    return [one for one in lit.call("list_handoffs", limit=1000)["handoffs"] if one["session"] == session]


@pytest.mark.parametrize("operation", ["hand_off", "end_session"])
def test_what_is_said_after_the_end_is_on_top(lit: Engine, tmp_path: Path, operation: str) -> None:
    session = killed(lit, tmp_path, f"late-{operation}")
    (inferred,) = of(lit, session)
    for _ in range(2):  # twice the same is once
        lit.call(operation, session=session, checkpoint="the mill turns")
    (one,) = of(lit, session)
    assert (one["source"] != "inferred", one["id"] != inferred["id"]) == (True, True)
    shown = lit.show(session)["handoff"]
    assert shown["summary"] == "Checkpoint: the mill turns"
    assert [each["id"] for each in shown["evidence"]] == [inferred["id"]]
    assert shown["evidence"][0]["records"]
    (generation,) = lit.call("get_lineage", session=session)["generations"]
    assert (generation["handoff"], generation["inferred"]) == ("Checkpoint: the mill turns", False)
    packet = lit.call("load_handoff", session=session, preview=True)
    assert not packet["before"]["inferred"]
    assert packet["text"].index("the mill turns") < packet["text"].index("all that it printed")


def test_the_same_key_and_many_at_once_leave_one(lit: Engine, tmp_path: Path) -> None:
    session = lit.start("cat", name="busy", cwd=str(tmp_path))["id"]

    def say(number: int) -> None:
        if number == 3:
            lit.call("kill_session", session=session, force=True, grace="0s")
        lit.call("hand_off", session=session, checkpoint="said while it dies", key=f"same-{session}")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(say, range(6)))
    lit.call("hand_off", session=session, checkpoint="said when it is over")
    left = of(lit, session)
    assert [one["source"] for one in left if one["source"] == "inferred"] == []
    assert lit.show(session)["handoff"]["summary"] == "Checkpoint: said when it is over"


def test_an_export_has_both_and_its_import_one(lit: Engine, tmp_path: Path) -> None:
    session = killed(lit, tmp_path, "moved")
    lit.call("hand_off", session=session, checkpoint="carried over")
    exported = lit.cli("export")
    assert exported.returncode == 0, exported.stderr
    (tmp_path / "all.jsonl").write_text(exported.stdout)
    assert (
        len([line for line in exported.stdout.splitlines() if f'"session": "{session}"' in line and '"digest"' in line])
        == 2
    )
    again = lit.cli("import", str(tmp_path / "all.jsonl"))
    assert again.returncode == 0, again.stderr
    assert len(of(lit, session)) == 1


def test_a_store_that_has_two_keeps_both_as_one(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    db.row_factory = sqlite3.Row
    before = next(number for number, script in enumerate(MIGRATIONS) if "evidence_of" in script)
    for number, script in enumerate(MIGRATIONS[:before], start=1):
        db.executescript(f"BEGIN; {script}; PRAGMA user_version = {number}; COMMIT;")
    rows = [
        ("h1", "late", "inferred", False), ("h2", "late", "agent", False),
        ("h3", "early", "agent", False), ("h4", "early", "inferred", True),
        ("h5", "end", "end_session", True), ("h6", "end", "inferred", True), ("h7", "alone", "inferred", True),
    ]  # fmt: skip
    empty: dict[str, Any] = {"project": None, "at": 1.0, "by": "x", "digest": "", "policy": None}
    lists: dict[str, Any] = {name: [] for name in ("basis", "records", "resolved", "dropped", "carried")}
    for identifier, session, source, ending in rows:
        document = {**empty, **lists, "id": identifier, "session": session, "source": source, "ending": ending}
        values = (identifier, session, None, 1.0, source, None, identifier, json.dumps(document))
        db.execute("INSERT INTO handoffs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    migrate(db)
    found = {session: handoffs.of_session(db, session) for session in ("late", "early", "end", "alone")}
    tops = {session: [(one.id, [each.id for each in one.evidence]) for one in left] for session, left in found.items()}
    assert tops == {
        "late": [("h2", ["h1"])],
        "early": [("h3", []), ("h4", [])],  # said in passing, long before it was killed: two things that were left
        "end": [("h5", ["h6"])],
        "alone": [("h7", [])],
    }
    assert db.execute("SELECT count(*) FROM handoffs").fetchone()[0] == len(rows)
    db.close()
