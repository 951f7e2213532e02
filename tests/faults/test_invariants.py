"""Each rule of the campaign sees a violation that is planted, and is silent where everything holds."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from faults import outside
from faults.invariants import judge
from faults.ledger import Held, Ledger
from faults.outside import Facts, Output
from faults.plan import plan

LINES = b"".join(b"line %d\n" % number for number in range(1, 4))


def sound() -> tuple[Ledger, Facts]:
    """One that runs, one that was ended, one that printed and exited; a record."""
    ledger = Ledger(records={"known": True}, events={1: ("a", "start")})
    ledger.hold(Held("a", "na", 0, sends={"word": True}))
    certificate = {"guarantee": "tree", "processes": [], "survivors": [{"pid": 7, "start_ticks": 70}]}
    ledger.hold(
        Held("b", "nb", 0, end_asked=True, said=["point"], ended={"state": "ended", "certificate": certificate})
    )
    ledger.hold(Held("c", "nc", 0, lines=3))
    ledger.starts["never"] = None
    over = {"state": "ended", "ending": {"certificate": certificate}}
    facts = Facts(
        sessions={"a": {"state": "running", "ending": None}, "b": dict(over), "c": dict(over)},
        keys={"na": 1, "nb": 1, "nc": 1},
        events=[(1, "a", "start"), (2, "b", "ended"), (3, "c", "ended")],
        records={"known": 1},
        handoffs=[("b", "end_session", "the point of it"), ("c", "inferred", "{}")],
        witnesses={"na": ["run 1", "word"], "nb": ["run 2"], "nc": ["run 3"]},
        outputs={"c": Output(LINES, 0, 0)},
        living={"na": [(1, 10)], "nb": [(7, 70)]},
    )
    return ledger, facts


def test_nothing_is_said_of_what_holds() -> None:
    assert judge(*sound()) == []


def lose_both(ledger: Ledger, facts: Facts) -> None:
    facts.witnesses["na"].remove("word")
    ledger.sessions["a"].shims_lost = 1


PLANTED: dict[str, tuple[str, Callable[[Ledger, Facts], Any]]] = {
    "a command that ran twice": ("no command runs twice", lambda ledger, facts: facts.witnesses["na"].append("run 9")),
    "one that ran though nobody was told": (
        "no command runs twice", lambda ledger, facts: facts.witnesses.update(never=["run 1", "run 2"])),
    "one that never ran": ("a start exists once", lambda ledger, facts: facts.witnesses["nb"].clear()),
    "two sessions of one key": ("a start exists once", lambda ledger, facts: facts.keys.update(na=2)),
    "a start that is gone": ("a start exists once", lambda ledger, facts: facts.sessions.pop("a")),
    "an input twice": ("an input arrives once", lambda ledger, facts: facts.witnesses["na"].append("word")),
    "an input lost": ("an input arrives once", lambda ledger, facts: facts.witnesses["na"].remove("word")),
    "an input lost, and a shim at another time": ("an input arrives once", lambda ledger, facts: lose_both(ledger, facts)),
    "two ends": ("one end a session", lambda ledger, facts: facts.events.append((4, "b", "ended"))),
    "an end taken back": ("one certificate an end", lambda ledger, facts: facts.sessions["b"].update(state="running")),
    "no certificate": ("one certificate an end", lambda ledger, facts: facts.sessions["c"].update(ending={})),
    "no hand-off": ("one hand-off an end", lambda ledger, facts: facts.handoffs.pop()),
    "a hand-off twice": ("one hand-off an end", lambda ledger, facts: facts.handoffs.append(facts.handoffs[0])),
    "two inferred": ("one hand-off an end", lambda ledger, facts: facts.handoffs.append(facts.handoffs[1])),
    "a record lost": ("no record is lost or doubled", lambda ledger, facts: facts.records.clear()),
    "a record twice": ("no record is lost or doubled", lambda ledger, facts: facts.records.update(known=2)),
    "an event missing": ("events without gaps", lambda ledger, facts: facts.events.pop(1)),
    "another event than was told": ("events without gaps", lambda ledger, facts: ledger.events.update({2: ("a", "start")})),
    "a healthy session gone": ("healthy sessions go on", lambda ledger, facts: facts.living.pop("na")),
    "a healthy session ending": ("healthy sessions go on", lambda ledger, facts: facts.sessions["a"].update(state="ending")),
    "a process left": ("no process is left unnamed", lambda ledger, facts: facts.living["nb"].append((8, 80))),
    "the pid named, and another start": ("no process is left unnamed", lambda ledger, facts: facts.living.update(nb=[(7, 71)])),
    "a line missing": (
        "output is complete", lambda ledger, facts: facts.outputs.update(c=Output(LINES.replace(b"line 2\n", b""), 0, 0))),
    "a line twice": ("output is complete", lambda ledger, facts: facts.outputs.update(c=Output(LINES + LINES, 0, 0))),
    "a jump in the log": ("output is complete", lambda ledger, facts: facts.outputs.update(c=Output(LINES, 0, 1))),
    "a call without an answer": ("every call is answered", lambda ledger, facts: ledger.unanswered.append("kill")),
}  # fmt: skip


def test_what_was_under_way_when_a_shim_was_lost_may_be_missing() -> None:
    ledger, facts = sound()
    facts.witnesses["na"].remove("word")
    ledger.sessions["a"].unheard.add("word")
    assert judge(ledger, facts) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_seen(name: str) -> None:
    rule, plant = PLANTED[name]
    ledger, facts = sound()
    plant(ledger, facts)
    assert rule in {found.rule for found in judge(ledger, facts)}


def test_a_log_is_read_with_its_gaps_and_jumps(tmp_path: Path) -> None:
    header = struct.Struct("<BBHIQd")
    gap = json.dumps({"lost": 5, "why": "disk full"}).encode()
    frames = [(1, 0, b"abc"), (4, 3, gap), (1, 8, b"de"), (1, 12, b"f")]
    whole = b"".join(header.pack(kind, 1, 0, len(said), at, 0.0) + said for kind, at, said in frames)
    (tmp_path / f"log-{0:020d}-0001").write_bytes(whole + whole[:10])
    assert outside.read_log(tmp_path) == Output(b"abcdef", 5, 1)


def test_a_kinds_scenes_do_not_depend_on_the_others() -> None:
    whole = plan(7, 1000, [], ["root", "ordinary"])
    assert sum(scene.faults for scene in whole) == 1000
    alone = plan(7, 1000, ["store"], ["root", "ordinary"])
    key = attrgetter("number")
    assert sorted(alone, key=key) == sorted((scene for scene in whole if scene.kind == "store"), key=key)
    assert {scene.user for scene in whole} == {"root", "ordinary"}
    assert {scene.user for scene in plan(7, 1000, [], ["ordinary"])} == {"ordinary"}
