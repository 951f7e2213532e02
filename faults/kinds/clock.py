"""The wall clock jumps, or the machine sleeps, as the daemon sees it: nothing ends for it, and what was said last counts."""

from __future__ import annotations

import time

from faults.clients import at_work
from faults.stage import Stage
from tests.support.clockwork import FOLDER, Clockwork

ENVIRONMENT = {"PYTHONPATH": FOLDER, "LAMPLIGHTER_PATROL": "0.2s"}
_STEPS = (-86400.0, -7200.0, -60.0, -1.0, 1.0, 60.0, 7200.0, 86400.0, 30 * 86400.0)


def run(stage: Stage) -> None:
    clock = Clockwork(stage.engine.folder)
    with at_work(stage, 3):
        while stage.done < stage.limit:
            seconds = stage.chance.choice(_STEPS)
            if seconds > 0 and stage.chance.random() < 0.3:
                clock.suspend(seconds)
                stage.inject("the machine sleeps", f"{seconds:.0f} s")
            else:
                clock.jump(seconds)
                stage.inject("the wall clock is set", f"by {seconds:.0f} s")
            time.sleep(stage.chance.uniform(0.1, 0.6))
            if stage.chance.random() < 0.3 and (daemon := stage.role("daemon")):
                stage.step(f"the daemon is killed {daemon}")
                stage.engine.kill(daemon)
    stage.check()
    stage.end_all()
    stage.check()
