"""Six clients at work at once: each starts, talks to, hands off and ends sessions of its own, with a key for every call."""

from __future__ import annotations

import random
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from faults.ledger import Held
from faults.stage import Stage

CLIENTS = 6
_MOST_SESSIONS = 3
_PAUSE = 0.05


class Client:
    def __init__(self, stage: Stage, number: int, seed: int) -> None:
        self.stage = stage
        self.number = number
        self.chance = random.Random(f"{seed} {number}")
        self.own: list[Held] = []

    def live(self, stop: threading.Event) -> None:
        while not stop.is_set():
            act = self.chance.choice(
                ["start", "start", "run", "send", "send", "remember", "hand_off", "end", "kill", "cleanup", "look"]
            )
            getattr(self, f"_{act}")()
            stop.wait(_PAUSE)

    def _start(self) -> None:
        if len(self.own) < _MOST_SESSIONS:
            made = self.stage.start(self.chance.choice(["listener", "sleeper", "listener"]), self.number, self.chance)
            if made is not None:
                self.own.append(made)

    def _run(self) -> None:
        self.stage.start("printer", self.number, self.chance)

    def _send(self) -> None:
        if listening := [held for held in self.own if held.listens]:
            held = self.chance.choice(listening)
            text = f"word{self.chance.getrandbits(48):012x}"
            held.sends[text] = False
            held.sends[text] = self.stage.tell("send_input", session=held.id, text=text) is not None

    def _remember(self) -> None:
        self.stage.remember(self.chance)

    def _hand_off(self) -> None:
        if self.own:
            held = self.chance.choice(self.own)
            word = f"checkpoint {self.chance.getrandbits(48):012x}"
            if self.stage.tell("hand_off", session=held.id, checkpoint=word) is not None:
                held.said.append(word)

    def _end(self) -> None:
        self._leave("end_session")

    def _kill(self) -> None:
        self._leave("kill_session")

    def _leave(self, operation: str) -> None:
        if self.own:
            held = self.own.pop(self.chance.randrange(len(self.own)))
            self.stage.kill(held, operation, grace=self.chance.choice(["0s", "0.1s"]))

    def _cleanup(self) -> None:
        """A plan for one session by its name, and its apply."""
        if not self.own or self.chance.random() < 0.5:
            return
        held = self.own.pop(self.chance.randrange(len(self.own)))
        held.end_asked = True
        plan = self.stage.tell("cleanup_sessions", selection=held.nonce, force=True)
        if plan is not None and plan.get("plan"):
            self.stage.tell("cleanup_sessions", apply=plan["plan"])

    def _look(self) -> None:
        listed = self.stage.tell("list_events", limit=50)
        for event in (listed or {}).get("events", []):
            with self.stage.ledger.lock:
                self.stage.ledger.events[event["n"]] = (event["session"] or "", event["action"])


@contextmanager
def at_work(stage: Stage, number: int = CLIENTS) -> Generator[list[Client]]:
    """While entered they work; what one of them raises is raised at the end."""
    stop = threading.Event()
    seed = stage.chance.getrandbits(48)
    made = [Client(stage, each, seed) for each in range(number)]
    with ThreadPoolExecutor(number) as pool:
        jobs = [pool.submit(client.live, stop) for client in made]
        try:
            yield made
        finally:
            stop.set()
        for job in jobs:
            job.result()
