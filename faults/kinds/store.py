"""The store's files deleted, emptied or corrupt, while the daemon runs or is down. One a scene: each needs a store of its own.

What cannot be there any more is judged by the issue's words: what was acknowledged is kept, or the loss is said; what lives is
seen again and can be killed; what is acknowledged from then on is kept.
"""

from __future__ import annotations

import os
from pathlib import Path

from faults import outside
from faults.stage import Stage

_KINDS = (
    "wal deleted, daemon running", "db deleted, daemon running", "shm deleted, daemon running", "wal deleted, daemon down",
    "db deleted, daemon down", "db emptied, daemon down", "db corrupt, daemon down", "db cut in half, daemon down",
)  # fmt: skip
_HARMLESS = ("shm deleted, daemon running",)


def run(stage: Stage) -> None:
    stage.calls.patience = 40.0
    kind = stage.chance.choice(_KINDS)
    sessions = [stage.start("sleeper"), stage.start("sleeper"), stage.start("listener")]
    for _ in range(3):
        stage.remember()
    before = dict(stage.ledger.records)
    told = {event[0]: event for event in outside.read_store(stage.engine.home.database).events}
    _break(stage, kind)
    stage.inject(kind)
    stage.remember()
    stage.start("printer")
    after = {content: known for content, known in stage.ledger.records.items() if content not in before}
    if (daemon := stage.role("daemon")) is not None:
        stage.step("the daemon is killed and comes again")
        stage.engine.kill(daemon)
    stage.tell("get_status")
    _judge(stage, kind, after, told)
    for held in sessions:
        if held is not None:
            answer = stage.kill(held)
            if answer is None and stage.facts_or_none() is not None:
                stage.violate("a kill works in every case", f"{kind}: {held.id} cannot be killed")


def _judge(stage: Stage, kind: str, after: dict[str, bool], told: dict[int, tuple[int, str, str]]) -> None:
    facts = stage.facts_or_none()
    if facts is None:
        stage.violate("the store can be read again", kind)
        return
    for content, acknowledged in after.items():
        if acknowledged and facts.records.get(content, 0) != 1:
            stage.violate("no record is lost or doubled", f"{kind}: {content!r}, acknowledged after it, is not there")
    for held in stage.ledger.sessions.values():
        if held.lines is None and held.id not in facts.sessions:
            stage.violate("what lives is seen again", f"{kind}: {held.id} runs, and the store knows nothing of it")
    lost = [content for content, known in stage.ledger.records.items() if known and not facts.records.get(content)]
    if lost and not _said(stage):
        stage.violate(
            "a loss is said", f"{kind}: {len(lost)} acknowledged records are gone, and lamp doctor says nothing of it"
        )
    again = [event for event in facts.events if event[0] in told and told[event[0]] != event]
    if again:
        stage.violate(
            "events without gaps", f"{kind}: numbers are given a second time, {again[0]} was {told[again[0][0]]}"
        )


def _said(stage: Stage) -> bool:
    """Whether `lamp doctor` finds fault with the store, by its exit status or its words."""
    told = stage.engine.cli("doctor", timeout=40)
    words = (told.stdout + told.stderr).lower()
    return told.returncode != 0 or any(word in words for word in ("lost", "restored", "epoch", "missing", "replaced"))


def _break(stage: Stage, kind: str) -> None:
    what, _, when = kind.partition(", ")
    if when == "daemon down":
        stage.engine.cli("down", timeout=40)
        stage.settle("the daemon is down", lambda: stage.role("daemon") is None)
    file = Path(stage.engine.home.database)
    if what.endswith("deleted"):
        name = {"wal": "lamplighter.db-wal", "shm": "lamplighter.db-shm", "db": "lamplighter.db"}[what.split()[0]]
        file.with_name(name).unlink(missing_ok=True)
    elif what == "db emptied":
        os.truncate(file, 0)
    elif what == "db cut in half":
        os.truncate(file, file.stat().st_size // 2)
    else:
        with open(file, "r+b") as handle:
            for _ in range(20):
                handle.seek(stage.chance.randrange(file.stat().st_size))
                handle.write(stage.chance.randbytes(512))
