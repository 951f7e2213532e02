"""The rekindle tools when the daemon is killed at any step: everything is there once, and the answer is the same."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.engine import Engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mcp_client import outside
from tests.support.mortality import deaths
from tests.support.places import GOLDEN


def rows(engine: Engine, table: str) -> list[dict[str, Any]]:
    db = sqlite3.connect(engine.home.database)
    db.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in db.execute(f"SELECT * FROM {table}")]
    finally:
        db.close()


@EVERY_STEP
def test_a_hand_off_is_whole_and_once(mortal: Engine, every: int) -> None:
    """Each by a caller that was never heard of, so that a session begins on the way."""
    for death in deaths(mortal, every):
        project = f"p{death.number}"
        words: dict[str, Any] = {"checkpoint": f"at {death.number}", "open_loops": ["a", "b"], "warnings": ["c"]}
        with outside(mortal, tools="rekindle") as (client, _):
            death.arm()
            kept = client.call("end_session", **words, project=project)
            assert kept["stored"] == {"checkpoint": 1, "open_loop": 2, "warning": 1}
            found = [row for row in rows(mortal, "records") if row["project"] == project]
            assert sorted(row["content"] for row in found) == ["a", f"at {death.number}", "b", "c"]
            assert {row["session"] for row in found} == {kept["session_id"]}
            assert client.call("end_session", **words, project=project) == kept
        assert [row["session"] for row in rows(mortal, "handoffs") if row["project"] == project] == [kept["session_id"]]
    begun = [row for row in rows(mortal, "sessions") if row["driver"] == "logical"]
    assert len(begun) == len(rows(mortal, "handoffs"))


@EVERY_STEP
def test_a_capture_is_taken_once(mortal: Engine, tmp_path: Path, every: int) -> None:
    """Of a conversation that goes on all the while, so that a second look would see another."""
    path = tmp_path / "transcript.jsonl"
    shutil.copy(GOLDEN / "claude" / "finished" / "transcript.jsonl", path)
    said = next(line for line in path.read_text().splitlines() if "Use whole cents" in line)
    with outside(mortal, tools="rekindle") as (client, _), going_on(path, said):
        client.call("boot_report")
        taken: list[str] = []
        for death in deaths(mortal, every, least=2):
            death.arm()
            taken.append(client.call("capture_now", transcript_path=str(path))["capture_id"])
            assert sorted(row["id"] for row in rows(mortal, "captures")) == sorted(taken)
            assert "Use whole cents" in client.call("read_capture", id=taken[-1], mode="summary")["text"]


@contextmanager
def going_on(path: Path, said: str) -> Generator[None]:
    """More is said every moment."""
    over = threading.Event()

    def talk() -> None:
        number = 0
        while not over.wait(0.01):
            number += 1
            with path.open("a") as file:
                file.write(said.replace("please", f"please, {number}") + "\n")

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
