"""SIGSTOP to the daemon, the keeper or a shim for a while, under calls: afterwards everything has happened once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from faults.clients import at_work
from faults.stage import Stage


def run(stage: Stage) -> None:
    steady = stage.start("listener")
    with at_work(stage, 3):
        while stage.done < stage.limit:
            what = stage.chance.choice(["daemon", "keeper", "shim", "shim while it is killed"])
            if what.startswith("shim"):
                _stop_a_shim(stage, kill=what != "shim")
                continue
            target = stage.role(what)
            if target is not None:
                with stage.stopped(target):
                    stage.inject(f"{what} stopped", str(target))
                    time.sleep(stage.chance.uniform(0.2, 1.5))
    if steady is not None:
        steady.sends["after"] = stage.tell("send_input", session=steady.id, text="after") is not None
        stage.settle("what was sent has arrived", lambda: "after" in stage.witness(steady), 20)
    stage.check()
    stage.end_all()
    stage.check()


def _stop_a_shim(stage: Stage, kill: bool) -> None:
    held = stage.start("sleeper")
    shim = stage.shim(held) if held else None
    if held is None or shim is None:
        return
    with ThreadPoolExecutor(1) as pool:
        with stage.stopped(shim):
            stage.inject("shim stopped while it is killed" if kill else "shim stopped", held.id)
            asked = pool.submit(stage.kill, held) if kill else None
            time.sleep(stage.chance.uniform(0.2, 1.5))
        if asked is not None:
            asked.result()
