"""No descriptor left for the daemon or the keeper, for a while, under three clients."""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress

from faults.clients import at_work
from faults.stage import Stage


def run(stage: Stage) -> None:
    stage.start("listener")
    with at_work(stage, 3):
        while stage.done < stage.limit:
            what = stage.chance.choice(["daemon", "keeper", "template"])
            target = stage.role(what)
            if target is None:
                time.sleep(0.05)
                continue
            with suppress(ProcessLookupError, FileNotFoundError):
                usual = resource.prlimit(target[0], resource.RLIMIT_NOFILE)
                used = max(map(int, os.listdir(f"/proc/{target[0]}/fd"))) + 1
                resource.prlimit(target[0], resource.RLIMIT_NOFILE, (min(used, usual[0]), usual[1]))
                stage.inject(f"{what} out of descriptors", f"{target} {used}")
                time.sleep(stage.chance.uniform(0.3, 1.5))
                resource.prlimit(target[0], resource.RLIMIT_NOFILE, usual)
    stage.check()
    stage.end_all()
    stage.check()
