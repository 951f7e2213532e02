"""KILL to the daemon, the keeper, its template and shims, while six clients work."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

from faults.clients import at_work
from faults.stage import Stage

_NEAR_SECONDS = 5.0  # a shim and a keeper lost within this have lost a session: nobody held it
_MOST_SHIMS = 3  # a session whose shims die again and again is given up


def run(stage: Stage) -> None:
    stage.tell("get_status")
    with at_work(stage):
        killer = Killer(stage)
        while stage.done < stage.limit:
            time.sleep(stage.chance.uniform(0.1, 0.7))
            killer.kill(stage.chance.choice(["daemon", "daemon", "keeper", "template", "shim", "shim"]))
    if stage.chance.random() < 0.3:
        keep_killing_while_it_ends(stage)
    stage.check()
    stage.end_all()
    stage.check()


class Killer:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.keeper_lost = -1e9
        self.shims_lost: dict[str, float] = {}

    def kill(self, what: str) -> None:
        held = None
        if what == "shim":
            with self.stage.ledger.lock:
                known = sorted(self.stage.ledger.sessions.values(), key=lambda each: each.id)
            living = [each for each in known if each.shims_lost < _MOST_SHIMS and self.stage.shim(each)]
            if not living:
                return
            held = self.stage.chance.choice(living)
            target = self.stage.shim(held)
            held.shims_lost += 1  # before the kill: whoever judges must know of it
        else:
            target = self.stage.role(what)
        if target is not None and self.stage.signal(target, signal.SIGKILL):
            self._note(what, held.id if held else None)
            self.stage.inject(f"{what} killed", f"{target} {held.id if held else ''}")

    def _note(self, what: str, session: str | None) -> None:
        now = time.monotonic()
        if session is not None:
            self.shims_lost[session] = now
            if now - self.keeper_lost < _NEAR_SECONDS:
                self.stage.ledger.sessions[session].may_be_lost = True
        if what == "keeper":
            self.keeper_lost = now
            for each, lost in self.shims_lost.items():
                if now - lost < _NEAR_SECONDS:
                    self.stage.ledger.sessions[each].may_be_lost = True


def keep_killing_while_it_ends(stage: Stage) -> None:
    """A polite end makes progress though the daemon dies again and again."""
    held = stage.start("sleeper", headless=False)
    if held is None:
        return
    held.end_asked = True
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(stage.engine.cli, "end", held.id, "--grace", "1s", timeout=90)
        while not asked.done() and time.monotonic() - began < 45:
            time.sleep(1.0)
            daemon = stage.role("daemon")
            if daemon is not None and not asked.done() and stage.signal(daemon, signal.SIGKILL):
                stage.inject("daemon killed during an end", held.id)
        took = time.monotonic() - began
        living = stage.facts().living.get(held.nonce)
        if took >= 45 and living:
            stage.violate(
                "an end makes progress",
                f"{held.id} lives {took:.0f} s after it was asked to end; daemons died meanwhile",
            )
