"""What a hand-off adds to an ending: sessions that leave when they are asked, in turn without words and with twenty records, over
a store that has many already. A fresh pair each time, in a folder that is in no repository.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from bench.lamps import Lamps, lamps
from bench.packet import PROJECT, fill
from bench.scale import Scale
from bench.table import Row, Sample, Target

_BOUND = 10.0


def measure(scale: Scale) -> Iterator[Row]:
    with lamps() as ours:
        session = ours.start("sleep", "600")["id"]
        ours.warm.call("hand_off", session=session, checkpoint="where the work stands", project=PROJECT)
        fill(ours, scale.records)
        bare: list[float] = []
        worded: list[float] = []
        for number in range(-1, scale.endings):  # the first pair loads what redaction needs, and does not count
            took = _ended(ours), _ended(ours, **_words(number))
            if number >= 0:
                bare.append(took[0])
                worded.append(took[1])
    added = [more - less for more, less in zip(worded, bare, strict=True)]
    yield Row("an ending of one that leaves when asked", Sample(bare, "ms"))
    yield Row(f"20 records on top of it, {scale.records:,} in the store", Sample(added, "ms"), target=Target(_BOUND))


def _ended(ours: Lamps, **words: Any) -> float:
    session = ours.start("cat")["id"]
    began = time.perf_counter()
    ours.warm.ask("end_session", session=session, **({"project": PROJECT, **words} if words else {}))
    ours.warm.message()
    return (time.perf_counter() - began) * 1000


def _words(number: int) -> dict[str, Any]:
    """Twenty texts of the usual length, none of which was there before."""
    tail = f"of the {number}th ending, because the parser of src/dates.py reads no zones and the fixtures have none"
    return {
        "checkpoint": f"where the work stands {tail}",
        "next_session_focus": f"where to resume {tail}",
        "relational_delta": f"what changed {tail}",
        "decisions": [f"decision {one} {tail}" for one in range(5)],
        "warnings": [f"warning {one} {tail}" for one in range(4)],
        "preferences": [f"preference {one} {tail}" for one in range(4)],
        "constraints": [f"constraint {one} {tail}" for one in range(4)],
    }
