"""KILL to the daemon, the keeper, its template and shims, while six clients work."""

from __future__ import annotations

import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from faults.clients import at_work
from faults.ledger import Held
from faults.stage import Stage
from tests.support.processes import marked, wait_until

_NEAR_SECONDS = 5.0  # a shim and a keeper lost within this have lost a session: nobody held it
_MOST_SHIMS = 3  # a session whose shims die again and again is given up
_EACH_ENDS = 3  # every so many scenes one with an end while the daemon keeps dying
_MOST_DEATHS = 30  # of daemons, each a second after it was up: what was asked to end must not outlive so many
_LIFE_SECONDS = 1.0


def run(stage: Stage) -> None:
    stage.tell("get_status")
    ends = stage.number % _EACH_ENDS == 0
    with at_work(stage):
        killer = Killer(stage)
        while stage.done < stage.limit - (1 if ends else 0):
            time.sleep(stage.chance.uniform(0.1, 0.7))
            killer.kill(stage.chance.choice(["daemon", "daemon", "keeper", "template", "shim", "shim"]))
    if ends:
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
        if what == "shim":
            self._kill_a_shim()
        elif (target := self.stage.role(what)) is not None and self.stage.signal(target, signal.SIGKILL):
            if what == "keeper":
                self._note_keeper()
            self.stage.inject(f"{what} killed", str(target))

    def _kill_a_shim(self) -> None:
        with self.stage.ledger.lock:
            known = sorted(self.stage.ledger.sessions.values(), key=lambda each: each.id)
        living = [each for each in known if each.shims_lost < _MOST_SHIMS and self.stage.shim(each)]
        if not living:
            return
        held = self.stage.chance.choice(living)
        target = self.stage.shim(held)
        heard = self.stage.witness(held)
        held.shims_lost += 1  # before the kill: whoever judges must know of it
        if target is None or not self.stage.signal(target, signal.SIGKILL):
            held.shims_lost -= 1
            return
        held.unheard |= set(held.sends) - set(heard)  # what was under way then may be lost, and nothing else
        self._note_shim(held)
        self.stage.inject("shim killed", f"{target} {held.id}")

    def _note_shim(self, held: Held) -> None:
        self.shims_lost[held.id] = now = time.monotonic()
        if now - self.keeper_lost < _NEAR_SECONDS:
            held.may_be_lost = True

    def _note_keeper(self) -> None:
        self.keeper_lost = now = time.monotonic()
        for each, lost in self.shims_lost.items():
            if now - lost < _NEAR_SECONDS:
                self.stage.ledger.sessions[each].may_be_lost = True


def keep_killing_while_it_ends(stage: Stage) -> None:
    """A polite end of what is deaf makes progress though each daemon dies young: its time counts from the first asking."""
    held = stage.start("deaf", headless=False)
    if held is None:
        return
    held.end_asked = True
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(stage.kill, held, "end_session", grace="1s")
        deaths = _kill_daemons(stage, held, asked)
        if deaths >= _MOST_DEATHS and marked(held.nonce):
            stage.violate("an end makes progress", f"{held.id} was asked to end and has outlived {deaths} daemons")
        stage.inject("daemons killed during an end", f"{held.id} {deaths}")


def _kill_daemons(stage: Stage, held: Held, asked: Future[dict[str, Any] | None]) -> int:
    """How many died, each a second after it could be spoken to, until the session is gone, or too many of them are."""
    deaths = 0
    while marked(held.nonce) and not asked.done() and deaths < _MOST_DEATHS:
        if stage.tell("get_status") is None:  # on a busy machine one may take longer to begin than it lives
            break
        wait_until(lambda: asked.done() or not marked(held.nonce), _LIFE_SECONDS)
        daemon = stage.role("daemon")
        if daemon is not None and not asked.done() and stage.signal(daemon, signal.SIGKILL):
            deaths += 1
    return deaths
