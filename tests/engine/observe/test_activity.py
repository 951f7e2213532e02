"""What is taken in look by look: between two rounds of the patrol, and when what was counted goes away."""

from __future__ import annotations

import sys

from lamplighter.domain.verdict import BUSY_CPU, Rest
from lamplighter.engine.observe.activity import ActivityTrack, restored
from lamplighter.engine.observe.foreground import ForegroundPrograms
from lamplighter.engine.observe.process_sampler import Measure
from lamplighter.holder import proc
from tests.support import players
from tests.support.clockwork import FOLDER, Clockwork
from tests.support.engine import engine
from tests.support.processes import wait_until


def test_a_spinner_is_known_while_it_turns() -> None:
    """It draws faster than any patrol goes round: at each look there is output that nobody has taken in yet."""
    with engine(PYTHONPATH=FOLDER, LAMPLIGHTER_PATROL="2s") as lit:
        clock = Clockwork(lit.folder)
        spins = lit.start(sys.executable, players.__file__, "spinner")["id"]
        loads = lit.start(sys.executable, players.__file__, "download")["id"]
        assert wait_until(lambda: lit.show(spins)["verdict"] == lit.show(loads)["verdict"] == "working")

        def later() -> str:
            clock.advance(700)
            return lit.show(spins)["verdict"]

        assert wait_until(lambda: later() == "stuck")
        for _ in range(5):
            assert lit.show(spins)["verdict"] == "stuck"
            assert lit.show(loads)["verdict"] == "working"


def _track(cpu: float) -> ActivityTrack:
    return ActivityTrack(seen_at=0.0, looked_at=0.0, busy_at=0.0, still_since=0.0, still_cpu=cpu)


def _measure(cpu: float) -> Measure:
    return Measure(processes=list[proc.Stat](), cpu=cpu, rate=0.0)


def test_cpu_that_leaves_with_a_process_is_no_stillness() -> None:
    """A job that nobody waits for ends, and its CPU is in no sum any more; what works on then is not still for that."""
    track = _track(1000.0)
    track.see(100.0, _measure(3.0), None)
    assert track.still_since == 100.0
    track.see(200.0, _measure(4.0), None)
    assert track.still_since == 200.0


def test_cpu_that_left_while_nobody_looked_counts_as_work() -> None:
    assert restored([10.0, 10.0, 1000.0], 90000.0, 3.0).busy_at == 90000.0
    assert restored([10.0, 10.0, 3.0], 90000.0, 5.0).busy_at == 90000.0
    assert restored([10.0, 10.0, 3.0], 90000.0, 3.0).busy_at == 10.0


def test_what_wants_to_run_and_gets_no_cpu_works() -> None:
    """Behind a spinner, on a machine so busy that it gets next to nothing. Runnable at one look may be chance."""
    front = ForegroundPrograms(Rest.OTHER, 5, "sh")
    starved, resting = (proc.Stat(6, [state, *[b"0"] * 49], b"cc") for state in (b"R", b"S"))
    track = _track(0.0)
    rates: list[float | None] = []
    busy: list[float] = []
    for now, seen in enumerate((resting, starved, resting, starved, starved, resting)):
        track.see(10.0 + 3 * now, Measure([seen], front=front, at=10.0 + 3 * now), None)
        rates.append(track.behind_rate)
        busy.append(track.busy_at)
    assert rates == [None, 0.0, 0.0, 0.0, BUSY_CPU, 0.0]
    assert busy == [0.0, 0.0, 0.0, 0.0, 22.0, 22.0]


def test_what_was_found_once_is_looked_for_again() -> None:
    """A program that was still starting at the first look must not be taken for that for a minute."""
    front = ForegroundPrograms(Rest.OTHER, 5, "sh")
    track = ActivityTrack(seen_at=0.0, looked_at=0.0, busy_at=0.0, still_since=0.0)
    for now in (1.0, 3.0):
        track.see(now, Measure(front=front, at=now, when=now), None)
        assert not track.is_front_known(now, Measure(), None)
    track.see(7.0, Measure(front=front, at=7.0, when=7.0), None)
    assert track.is_front_known(8.0, Measure(), None)
    assert not track.is_front_known(80.0, Measure(), None)
    track.see(9.0, Measure(front=ForegroundPrograms(Rest.INPUT, 5, "sh"), at=9.0, when=9.0), None)
    assert not track.is_front_known(9.0, Measure(), None)
