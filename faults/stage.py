"""What a kind of fault works with: an engine of its own, random numbers, a ledger, and the look from outside at the end."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from faults import outside
from faults.calls import Calls, UnansweredError
from faults.invariants import Violation, judge
from faults.ledger import Held, Ledger
from lamplighter.errors import Code, LampError
from tests.support import processes
from tests.support.engine import Engine
from tests.support.processes import alive, inspect, marked, wait_until

SETTLE = 60.0
_REST = "timeout 300 tail -n 0 -f {file}"  # with the token in its command line, and an end of its own
_LOG_BYTES = 8 << 20  # of the store's log of writes, which is cut at about half of it
_ENDINGS = ("kill_session", "end_session")
_ENDINGS_REFUSED = (Code.ENDED,)  # it was over before it was asked
_SCRIPTS = {
    "listener": 'stty -echo 2>/dev/null; echo run $$ >> {file}; while read line; do echo "$line" >> {file}; done',
    "printer": "echo run $$ >> {file}; i=0; while [ $i -lt {lines} ]; do i=$((i+1)); echo line $i; done; exit {code}",
    "sleeper": "echo run $$ >> {file}; setsid {rest} & exec {rest}",
    "deaf": "echo run $$ >> {file}; trap '' HUP INT TERM; exec tail -n 0 -f {file}",
}


@dataclass
class Stage:
    """One scene's. `inject` counts a fault; `violate` says that something did not hold."""

    engine: Engine
    token: str
    chance: random.Random
    steps: IO[str]
    limit: int  # faults
    number: int = 0  # of this kind's scenes; which faults it has, where each of a kind should have its turn
    plant: bool = False  # a violation of our own, to see that it is found
    ledger: Ledger = field(default_factory=Ledger)
    violations: list[Violation] = field(default_factory=list[Violation])
    counted: dict[str, int] = field(default_factory=dict[str, int])
    skipped: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.calls = Calls(self.engine)
        self.witnesses = self.engine.folder / "witnesses"
        if not self.witnesses.exists():
            self.witnesses.mkdir()
        self._began = time.monotonic()

    @property
    def done(self) -> int:
        return sum(self.counted.values())

    def step(self, said: str) -> None:
        self.steps.write(f"{time.monotonic() - self._began:8.3f} {said}\n")
        self.steps.flush()

    def inject(self, name: str, detail: str = "") -> None:
        with self.ledger.lock:
            self.counted[name] = self.counted.get(name, 0) + 1
        self.step(f"fault: {name} {detail}")

    def violate(self, rule: str, text: str) -> None:
        with self.ledger.lock:
            self.violations.append(Violation(rule, text))
        self.step(f"VIOLATION: {rule}: {text}")

    def turn(self, kinds: tuple[str, ...]) -> list[str]:
        """So many of them as this scene has faults; the scenes of a kind go on where the one before has stopped."""
        first = self.number * self.limit
        return [kinds[(first + each) % len(kinds)] for each in range(self.limit)]

    # -- acts of a client

    def start(self, purpose: str, client: int = 0, chance: random.Random | None = None, **given: Any) -> Held | None:
        """A session whose command writes down that it ran; None when that was not acknowledged."""
        chance = chance or self.chance
        nonce = f"{self.token}-{chance.getrandbits(48):012x}"
        lines, code = (chance.randrange(1, 2000), chance.randrange(256)) if purpose == "printer" else (None, 0)
        file = self.witnesses / nonce
        script = _SCRIPTS[purpose].format(file=file, rest=_REST.format(file=file), lines=lines, code=code)
        with self.ledger.lock:
            self.ledger.starts[nonce] = None
        given.setdefault("headless", chance.random() < 0.5)
        given.setdefault("cwd", "/")
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.engine.folder)}
        answer = self.tell("start_session", key=nonce, command=["sh", "-c", f"{script} # {nonce}"], name=nonce,
                           environment=environment, **given)  # fmt: skip
        if answer is None:
            return None
        self.step(f"client {client} started {purpose} {answer['id']} {nonce}")
        return self.ledger.hold(Held(answer["id"], nonce, client, purpose == "listener", lines=lines, code=code))

    def tell(self, operation: str, **arguments: Any) -> dict[str, Any] | None:
        """A call; None when it was refused or not answered, which the ledger then knows."""
        try:
            return self.calls.ask(operation, **arguments)
        except LampError as error:
            self.ledger.refuse(error.code.value)
            self.step(f"{operation} {arguments.get('session', '')} refused: {error.code} {error.message}")
            if error.code is Code.INTERNAL:
                self.violate("no call breaks the daemon's own code", f"{operation}: {error.message}")
            elif operation in _ENDINGS and error.code not in _ENDINGS_REFUSED:
                self.violate(
                    "a kill works in every case",
                    f"{operation} of {arguments['session']}: {error.code}: {error.message}",
                )
        except UnansweredError as error:
            with self.ledger.lock:
                self.ledger.unanswered.append(str(error))
            self.step(f"unanswered: {error}")
        return None

    def kill(self, held: Held, operation: str = "kill_session", **given: Any) -> dict[str, Any] | None:
        held.end_asked = True
        if operation == "kill_session":
            given.setdefault("force", True)
        given.setdefault("grace", "0s")
        answer = self.tell(operation, session=held.id, **given)
        if answer is not None:
            held.ended = answer
            self.step(f"{operation} {held.id}: {answer['state']}, survivors {answer['certificate']['survivors']}")
        return answer

    def remember(self, chance: random.Random | None = None) -> None:
        content = f"{self.token} {(chance or self.chance).getrandbits(48):012x}"
        with self.ledger.lock:
            self.ledger.records[content] = False
        if self.tell("store_records", records=[{"content": content}], everywhere=True) is not None:
            self.ledger.records[content] = True

    # -- processes, by our own look

    def role(self, name: str) -> tuple[int, int] | None:
        """The daemon or the keeper: by its name in /proc and this home in its environment, not by what a file says."""
        home = f"LAMPLIGHTER_HOME={self.engine.folder}".encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            with suppress(OSError):
                environment = Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
                words = Path(f"/proc/{entry}/cmdline").read_bytes()
                comm = Path(f"/proc/{entry}/comm").read_text().strip()
                is_it = (b"lamplighter.daemon" in words) if name == "daemon" else comm == f"lamp-{name}"
                if home in environment and is_it and (found := inspect(int(entry))):
                    return found.pid, found.start_ticks
        return None

    def shim(self, held: Held) -> tuple[int, int] | None:
        with suppress(OSError, ValueError, KeyError, TypeError, AssertionError):
            found = self.engine.shim(held.id)
            if alive(*found):
                return found
        return None

    def signal(self, process: tuple[int, int], number: signal.Signals) -> bool:
        with suppress(ProcessLookupError):
            if alive(*process):
                os.kill(process[0], number)
                return True
        return False

    @contextmanager
    def stopped(self, process: tuple[int, int]) -> Generator[None]:
        self.signal(process, signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(process, signal.SIGCONT)

    # -- the look at the end

    def settle(self, what: str, condition: Callable[[], object], patience: float = SETTLE) -> bool:
        met = wait_until(condition, patience)
        if not met:
            self.step(f"did not settle in {patience:.0f} s: {what}")
        return met

    def facts(self) -> outside.Facts:
        found = outside.read_store(self.engine.home.database)
        found.witnesses = {nonce: outside.read_witness(self.witnesses / nonce) for nonce in self.ledger.starts}
        for held in self.ledger.sessions.values():
            folder = self.engine.folder / "sessions" / held.id
            if folder.exists():
                found.outputs[held.id] = outside.read_log(folder)
        for process in marked(self.token):
            for nonce in self.ledger.starts:
                if any(nonce in word for word in process.cmdline):
                    found.living.setdefault(nonce, []).append((process.pid, process.start_ticks))
        return found

    def witness(self, held: Held) -> list[str]:
        """What its command wrote down: that it ran, and each line it has read."""
        return outside.read_witness(self.witnesses / held.nonce)

    def facts_or_none(self) -> outside.Facts | None:
        """None when the store cannot be read at all."""
        with suppress(sqlite3.Error):
            return self.facts()
        return None

    def check(self, *without: str) -> None:
        """Everything that was acknowledged is so, once what is under way is over."""
        self.tell("get_status")
        self.settle("what was started has begun, and what exits by itself has ended", self._exited)
        self.check_log()
        if self.plant:
            self._break_one()
        try:
            found = judge(self.ledger, self.facts(), without)
        except sqlite3.Error as error:
            self.violate("no record is lost or doubled", f"the store cannot be read: {error}")
            return
        for one in found:
            if one not in self.violations:
                self.violate(one.rule, one.text)

    def _break_one(self) -> None:
        """End a session that nobody asked to end, behind everybody's back."""
        for held in self.ledger.sessions.values():
            if not held.end_asked and held.lines is None:
                self.plant = False
                self.step(f"planted: {held.id} is ended by hand")
                processes.end_marked(held.nonce)
                return

    def check_log(self) -> None:
        with suppress(FileNotFoundError):
            size = Path(f"{self.engine.home.database}-wal").stat().st_size
            if size > _LOG_BYTES:
                self.violate("the log of writes is cut", f"it has {size} bytes")

    def _exited(self) -> bool:
        with suppress(sqlite3.Error):
            states = outside.read_store(self.engine.home.database).sessions
            waited = [
                held for held in self.ledger.sessions.values() if held.lines is not None or held.ended is not None
            ]
            begun = [held for held in self.ledger.sessions.values() if not held.end_asked]
            ended = all(states.get(held.id, {"state": "ended"})["state"] == "ended" for held in waited)
            return ended and all(self.witness(held) for held in begun)
        return True

    def end_all(self) -> None:
        """Every session is ended by its id, and once more all of it is judged."""
        for held in self.ledger.sessions.values():
            if not held.end_asked:
                self.kill(held)

    def close(self) -> None:
        """Down with everything; what is left then is somebody's fault."""
        with suppress(OSError, subprocess.TimeoutExpired):
            self.engine.cli("down", "--all", "--yes", timeout=SETTLE)
        if not wait_until(lambda: not self.left(), 30.0):
            self.violate("no process is left unnamed", f"after lamp down --all there are {self.left()[:5]}")

    def left(self) -> list[processes.Process]:
        found = {
            process.pid: process
            for word in (self.token, str(self.engine.folder))
            for process in processes.touched(word)
        }
        return [process for pid, process in found.items() if pid not in _family()]

    def remove(self) -> None:
        shutil.rmtree(self.engine.folder, ignore_errors=True)


def _family() -> set[int]:
    """This process, those above it, and what it started itself and has not ended yet."""
    found = {os.getpid(), os.getppid()}
    with suppress(OSError):
        found |= {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
    return found


def new_token() -> str:
    return f"faults-{uuid.uuid4().hex[:16]}"
