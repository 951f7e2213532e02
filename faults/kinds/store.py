"""The store's files deleted, emptied or corrupt, while the daemon runs or is down. One a scene: each needs a store of its own.

What cannot be there any more is judged by the issue's words: what was acknowledged is kept, or the loss is said; what lives is
seen again and can be killed; what is acknowledged from then on is kept.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from faults import outside
from faults.ledger import Held
from faults.stage import Stage

_KINDS = (
    "wal deleted, daemon running", "db corrupt, daemon down", "db deleted, daemon down", "shm deleted, daemon running",
    "db emptied, daemon down", "db deleted, daemon running", "db cut in half, daemon down", "wal deleted, daemon killed",
    "all three deleted, daemon running", "db corrupt, daemon killed", "many writes, daemon running",
)  # fmt: skip
_FILES = {"wal": ("-wal",), "shm": ("-shm",), "db": ("",), "all three": ("", "-wal", "-shm")}
_PAGE = 4096
_WRITES, _CONTENT = 24, "many writes " * 1000  # 12 MB and more in the log of writes, if it were never cut


def run(stage: Stage) -> None:
    stage.calls.patience = 40.0
    for kind in stage.turn(_KINDS)[:1]:
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
        stage.settle("the printer has ended", lambda: _printed(stage), 20)
        stage.check_log()
        if (daemon := stage.role("daemon")) is not None:
            stage.step("the daemon is killed and comes again")
            stage.engine.kill(daemon)
        stage.tell("get_status")
        _judge(stage, kind, after, told)
        _end(stage, kind, sessions)


def _printed(stage: Stage) -> bool:
    """Once it has ended, its row is written, and nothing is under way that the next KILL could take along."""
    facts = stage.facts_or_none()
    printers = [held for held in stage.ledger.sessions.values() if held.lines is not None]
    return facts is not None and all(facts.sessions.get(held.id, {}).get("state") == "ended" for held in printers)


def _end(stage: Stage, kind: str, sessions: list[Held | None]) -> None:
    for held in sessions:
        if held is None:
            stage.violate("a start exists once", f"before {kind}: refused or not answered")
        elif stage.kill(held) is None:
            stage.violate("a kill works in every case", f"{kind}: {held.id} cannot be killed")
        elif living := stage.facts().living.get(held.nonce):
            stage.violate("no process is left unnamed", f"{kind}: {held.id} was killed, and {living} live")


def _judge(stage: Stage, kind: str, after: dict[str, bool], told: dict[int, tuple[int, str, str]]) -> None:
    facts = stage.facts_or_none()
    if facts is None:
        stage.violate("the store can be read again", kind)
        return
    for said in stage.ledger.unanswered:
        stage.violate("every call is answered", f"{kind}: {said}")
    for content, acknowledged in after.items():
        if acknowledged and facts.records.get(content, 0) != 1:
            stage.violate("no record is lost or doubled", f"{kind}: {content!r}, acknowledged after it, is not there")
    for held in stage.ledger.sessions.values():
        state = facts.sessions.get(held.id, {}).get("state")
        if held.lines is None and state not in ("running", "starting"):
            stage.violate("what lives is seen again", f"{kind}: {held.id} runs, and the store says {state}")
        if held.lines is None and not facts.living.get(held.nonce):
            stage.violate("healthy sessions go on", f"{kind}: nobody ended {held.id}, and its processes are gone")
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
    """Whether `lamp doctor` finds fault with the store itself, or a call was refused for it."""
    if "STORE_LOST" in stage.ledger.refusals:
        return True
    told: dict[str, Any] = json.loads(stage.engine.cli("doctor", "--json", timeout=40).stdout)
    found = [check for check in told["checks"] if check["name"] == "store"]
    stage.step(f"doctor says of the store: {found}")
    return any(check["state"] == "bad" for check in found)


def _break(stage: Stage, kind: str) -> None:
    what, _, when = kind.partition(", ")
    if when == "daemon killed" and (keeper := stage.role("keeper")) and (daemon := stage.role("daemon")):
        with stage.stopped(keeper):  # or it starts the next one at once
            stage.signal(daemon, signal.SIGKILL)
            stage.settle("the daemon is gone", lambda: stage.role("daemon") is None)
            _damage(stage, what)
        return
    if when == "daemon down":
        stage.engine.cli("down", timeout=40)
        stage.settle("the daemon is down", lambda: stage.role("daemon") is None)
    _damage(stage, what)


def _damage(stage: Stage, what: str) -> None:
    """What is to be taken away must be there, or this is no fault."""
    file = Path(stage.engine.home.database)
    if what == "many writes":
        for _ in range(_WRITES):
            batch = [{"content": f"{_CONTENT}{stage.chance.getrandbits(48):012x}"} for _ in range(40)]
            stage.tell("store_records", records=batch, everywhere=True)
    elif what.endswith("deleted"):
        for suffix in _FILES[what.removesuffix(" deleted")]:
            Path(f"{file}{suffix}").unlink()
    elif what == "db emptied":
        os.truncate(file, 0)
    elif what == "db cut in half":
        os.truncate(file, file.stat().st_size // 2)
    else:
        with open(file, "r+b") as handle:
            for page in range(1, file.stat().st_size // _PAGE, 2):  # whole pages: it is no other valid store by chance
                handle.seek(page * _PAGE)
                handle.write(stage.chance.randbytes(_PAGE))
