"""What real agents do is called by its name: every situation of the corpus, with the verdicts of the minute after it began.

At most three may be wrong after the minute. None may be wrong, at any look, in the direction that loses work (at rest while it
works) or, after the minute, in the one that answers a question (not seen as waiting). The table is printed and, with
LAMPLIGHTER_VERDICTS=FILE, written there, with the screens beside it. LAMPLIGHTER_VERDICTS_ONLY=claude,qwen
takes these agents alone.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS, Row
from tests.support.engine import Engine, engine
from tests.support.processes import touched
from tests.support.real_agents import EVERY
from tests.support.scripted_model import scripted
from tests.support.situations import SITUATIONS
from tests.support.staged import Stage

pytestmark = [pytest.mark.agents, pytest.mark.timeout(3600)]
SOON, LATE = 5.0, 60.0
REST = frozenset({"idle", "finished", "stuck", "orphaned", "leftovers"})
SIDE_BY_SIDE = 4 * (os.cpu_count() or 1)


@dataclass
class Found:
    """What was said of one row. `lost`: a look at which it was said to rest while it worked."""

    row: Row
    soon: str = "not reached"
    late: str = "not reached"
    evidence: str = ""
    lost: str = ""

    @property
    def right(self) -> bool:
        return self.late == self.row.verdict and self.row.says in self.evidence

    @property
    def harmful(self) -> bool:
        unseen = self.row.verdict == "waiting" and self.late != "waiting"
        return bool(self.lost) or unseen

    def __str__(self) -> str:
        marks = f"{'' if self.soon == self.row.verdict else '!'}{self.soon}", f"{'' if self.right else '!'}{self.late}"
        cells = (self.row.agent, self.row.situation, self.row.verdict, *marks, self.lost or self.evidence)
        return "".join(f"| {cell} " for cell in cells) + "|"


@pytest.fixture
def lit() -> Iterator[Engine]:
    with engine() as made:
        made.call("list_sessions")
        yield made


def test_every_situation_is_called_by_its_name(lit: Engine, tmp_path: Path) -> None:
    only = os.environ.get("LAMPLIGHTER_VERDICTS_ONLY")
    rows = [row for row in CORPUS if not only or row.agent in only.split(",")]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        found = [one.result() for one in [pool.submit(met, lit, row, tmp_path) for row in rows]]
    table = "\n".join(map(str, found))
    print(table)
    if place := os.environ.get("LAMPLIGHTER_VERDICTS"):
        Path(place).write_text(table)
    assert not [one for one in found if one.late == "not reached"], table
    wrong = [one for one in found if not one.right]
    assert not [one for one in found if one.harmful], table
    assert len(wrong) <= 3, table


def met(lit: Engine, row: Row, folder: Path) -> Found:
    """One agent brought into one situation, and looked at for a minute from then on."""
    found, mark = Found(row), f"mark-{uuid.uuid4().hex}"
    with scripted([]) as model:
        agent = EVERY[row.agent](folder / mark, model)
        assert agent.missing() is None, agent.missing()
        agent.accept()
        made = Stage(lit, agent, model, mark)
        try:
            watch(made, SITUATIONS[row.situation].reach(made), found)
        except AssertionError as error:
            found.evidence = f"not reached: {str(error)[:2000]}"
        finally:
            made.close()
    assert touched(mark) == [], row
    return found


def watch(made: Stage, session: str, found: Found) -> None:
    """One look after five seconds, as somebody takes it who comes by; then one every few seconds."""
    began, pause = time.monotonic(), threading.Event()
    for after in (SOON, *range(10, int(LATE), 10), LATE):
        pause.wait(max(0.0, began + after - time.monotonic()))
        shown = made.engine.show(session)
        found.late, found.evidence = shown["verdict"], "; ".join(shown["evidence"])
        found.soon = found.late if after == SOON else found.soon
        if found.row.verdict in ("working", "waiting") and found.late in REST:
            found.lost = found.lost or f"{found.late} after {after} s: {found.evidence}"
    if (place := os.environ.get("LAMPLIGHTER_VERDICTS")) and made.engine.show(session)["driver"] != "headless":
        shown = made.engine.call("read_output", session=session, mode="screen")
        name = f"{found.row.agent} {found.row.situation}.txt".replace(" ", "_")
        Path(place).with_name(name).write_text(f"{found}\n{shown.get('title')!r}\n{shown['text']}")
