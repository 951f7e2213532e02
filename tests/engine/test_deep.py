"""Long, repeated and randomised: deaths under load, races, a thousand sessions, and any text at all.

The random numbers come from LAMPLIGHTER_TEST_SEED, which a failure prints.
"""

from __future__ import annotations

import itertools
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.errors import Code, LampError
from lamplighter.holder import boot
from tests.support.engine import Engine
from tests.support.escapees import ESCAPEES
from tests.support.processes import alive, inspect, marked, none_left, wait_until

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]

TEN = [name for name in ESCAPEES if name not in ("plain", "bomb")]
ROUNDS = 20


@pytest.mark.parametrize("names", [TEN, ["bomb"]], ids=["ten", "bomb"])
def test_a_kill_leaves_nothing_again_and_again(
    both: Engine, mark: str, chance: random.Random, names: list[str]
) -> None:
    for number in range(ROUNDS):
        session = both.escapees(*names, mark=mark, headless=chance.random() < 0.5)
        before = {
            (found["pid"], found["start_ticks"])
            for found in session["report"]["escapees"]
            if found["name"] not in ("hopper", "bomb")
        }
        assert before <= {(process.pid, process.start_ticks) for process in marked(mark)}
        grace = chance.choice(["0s", "0.05s", "0.3s"])
        ended = both.call("kill_session", session=session["id"], force=True, grace=grace)
        assert none_left(mark), (number, grace)
        certificate = ended["certificate"]
        assert (ended["state"], certificate["guarantee"], certificate["survivors"]) == ("ended", both.guarantee, [])
        assert before <= {(process["pid"], process["start_ticks"]) for process in certificate["processes"]}


def test_a_thousand_sessions(lit: Engine, mark: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        started = list(
            pool.map(lambda _: lit.start("sh", "-c", f"exec cat # {mark}", headless=True)["id"], range(1000))
        )
    assert len(set(started)) == 1000
    listed = lit.call("list_sessions", limit=10_000)["sessions"]
    assert {session["id"] for session in listed} == set(started)
    assert {session["state"] for session in listed} == {"running"}
    down = lit.cli("down", "--all", "--yes", timeout=300)
    assert down.returncode == 0, down.stderr
    assert none_left(mark)
    assert lit.call("list_sessions")["sessions"] == []
    ended = lit.call("list_sessions", all=True, limit=10_000)["sessions"]
    assert {session["id"] for session in ended} == set(started)
    assert {session["state"] for session in ended} == {"ended"}


def test_a_hundred_sessions_killed_at_random_moments_leave_a_hand_off_each(lit: Engine, chance: random.Random) -> None:
    """By KILL to the command, to all of its holders, or through us; the daemon dies every now and then, too."""
    sessions: list[str] = []
    for number in range(100):
        started = lit.start("sh", "-c", f"echo word {number}; exec sleep 300", headless=chance.random() < 0.5)
        sessions.append(started["id"])
        time.sleep(chance.random() / 50)
        way = chance.choice(["command", "kill", "holders", "daemon"])
        if way == "kill":
            lit.call("kill_session", session=started["id"], force=True, grace="0s")
            continue
        found = inspect(started["pid"])
        if way == "holders":
            lit.kill(lit.shim(started["id"]))
        if way == "daemon":
            lit.kill(lit.daemon())
        if found is not None:
            lit.kill((found.pid, found.start_ticks))
    for session in sessions:
        lit.call("wait_session", session=session, until="ended", timeout="120s")
    left = lit.call("list_handoffs", limit=1000)["handoffs"]
    assert sorted(one["session"] for one in left) == sorted(sessions)
    assert {one["source"] for one in left} == {"inferred"}


def test_short_sessions_at_once(both: Engine, chance: random.Random) -> None:
    """Some are over before their start is confirmed; each has its own exit status all the same."""
    codes = [chance.choice([0, 1, chance.randrange(2, 256)]) for _ in range(200)]

    def run(code: int) -> dict[str, Any]:
        command = {0: ("true",), 1: ("false",)}.get(code, ("sh", "-c", f"exit {code}"))
        session = both.start(*command, headless=code % 2 == 0)["id"]
        return both.call("wait_session", session=session, timeout="120s")

    with ThreadPoolExecutor(8) as pool:
        assert [waited["exit"] for waited in pool.map(run, codes)] == [{"code": code} for code in codes]
    ends = [
        event["session"] for event in both.call("list_events", limit=100_000)["events"] if event["action"] == "ended"
    ]
    assert len(ends) == len(set(ends)) == 200


def test_a_kill_during_a_start(both: Engine, mark: str, chance: random.Random) -> None:
    """By name, at any moment from before the session exists until after its start was answered."""
    for number in range(100):
        name = f"race-{number}"
        delay = chance.uniform(0, 0.02)
        with ThreadPoolExecutor(2) as pool:
            starting = pool.submit(both.start, "sh", "-c", f"setsid sleep 300 {mark} & exec sleep 300", name=name)
            killing = pool.submit(_kill_by_name, both, name, delay)
            ended = killing.result()
            answered = _outcome(starting.result)
        assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", []), (number, delay)
        assert none_left(mark), (number, delay)
        assert both.show(ended["id"])["state"] == "ended"
        if isinstance(answered, LampError):
            assert answered.code in (Code.START_FAILED, Code.ENDED), (
                answered.code,
                answered.message,
            )
        else:
            assert answered["id"] == ended["id"]
        actions = [event["action"] for event in both.events(ended["id"])]
        assert (actions.count("start"), actions.count("ended")) == (1, 1), actions


def _kill_by_name(lit: Engine, name: str, delay: float) -> dict[str, Any]:
    threading.Event().wait(delay)
    found: list[dict[str, Any]] = []

    def kill() -> bool:
        try:
            found.append(lit.call("kill_session", session=name, force=True, grace="0s"))
        except LampError as error:
            if error.code is not Code.NOT_FOUND:
                raise
        return bool(found)

    assert wait_until(kill)
    return found[0]


def _outcome(act: Callable[[], dict[str, Any]]) -> dict[str, Any] | LampError:
    try:
        return act()
    except LampError as error:
        return error


def test_many_callers_get_one_ending(both: Engine, mark: str, chance: random.Random) -> None:
    for _ in range(ROUNDS):
        session = both.escapees("deaf", "daemon", "setsid", mark=mark)["id"]
        calls = [("end_session", {}), ("end_session", {}), *[("kill_session", {"force": True})] * 3]
        chance.shuffle(calls)

        def ask(call: tuple[str, dict[str, Any]], session: str = session) -> dict[str, Any]:
            threading.Event().wait(chance.uniform(0, 0.02))
            return both.call(call[0], session=session, grace="0.1s", **call[1])

        with ThreadPoolExecutor(len(calls)) as pool:
            answers = list(pool.map(ask, calls))
        assert none_left(mark)
        assert [answer["state"] for answer in answers] == ["ended"] * len(calls)
        assert all(answer == answers[0] for answer in answers), answers
        assert [event["action"] for event in both.events(session)].count("ended") == 1


@pytest.mark.parametrize("headless", [False, True], ids=["terminal", "headless"])
def test_any_text_arrives_byte_for_byte(lit: Engine, headless: bool) -> None:
    target = lit.folder / "typed"
    script = f"stty raw -echo 2>/dev/null; echo on; exec cat > {target}"
    session = lit.start("sh", "-c", script, headless=headless)["id"]
    lit.call("wait_session", session=session, until="text=on", timeout="120s")
    typed = bytearray()

    @settings(max_examples=400, deadline=None, database=None)
    @given(st.text(min_size=1, max_size=2000), st.booleans())
    def arrives(text: str, enter: bool) -> None:
        typed.extend(text.encode())
        typed.extend((b"\n" if headless else b"\r") if enter else b"")
        sent = lit.call("send_input", session=session, text=text, enter=enter, key=uuid.uuid4().hex)
        assert sent["size"] == len(text.encode()) + enter
        assert wait_until(lambda: target.stat().st_size >= len(typed))
        assert target.read_bytes() == typed

    arrives()


# ── Deaths at random, under load ─────────────────────────────────────────────────────────────────────────────────────

CHAOS_SECONDS = 60.0
COUNTER = "stty -echo 2>/dev/null; echo on; i=0; while read n; do i=$((i+1)); echo line $i $n; done #"
TALKER = "import itertools, time\nfor n in itertools.count(1): print('line', n, flush=True); time.sleep(0.003)"
MOST_LOSSES = 4  # a session whose shims die again and again is given up, which is another case


@dataclass
class Talk:
    """One session and its client, who reads by cursor all that is printed."""

    session: str
    counts: bool  # it answers each line; else it talks by itself
    gathered: str = ""
    cursor: int = 0
    sent: int = 0
    losses: int = 0
    unanswered: list[int] = field(default_factory=list[int])
    errors: list[LampError] = field(default_factory=list[LampError])

    def read(self, lit: Engine) -> None:
        page = lit.call("read_output", session=self.session, mode="output", since=self.cursor, limit=1 << 20)
        self.gathered += page["text"]
        self.cursor = page["cursor"]

    def say(self, lit: Engine) -> None:
        """Another number, and its answer."""
        self.sent += 1
        before = len(self.gathered)
        try:
            lit.call("send_input", session=self.session, text=str(self.sent))
        except LampError as error:
            self.errors.append(error)

        def answered() -> bool:
            self.read(lit)
            return f" {self.sent}\n" in self.gathered[before:].replace("\r", "")

        if not wait_until(answered, 10):
            self.unanswered.append(self.sent)

    def live(self, lit: Engine, stop: threading.Event) -> None:
        while not stop.is_set():
            if self.counts:
                self.say(lit)
            else:
                self.read(lit)
                stop.wait(0.05)


class Killer:
    """KILLs a daemon, a keeper or a shim every moment; never a session's shim and its keeper at once, as then nobody
    holds it."""

    def __init__(self, lit: Engine, chance: random.Random, talks: list[Talk]) -> None:
        self.lit = lit
        self.chance = chance
        self.acp_prompts = talks
        self.killed: list[str] = []
        self.keepers = 0
        self.daemon_then = lit.daemon()

    def live(self, stop: threading.Event) -> None:
        while not stop.wait(self.chance.uniform(0.2, 1.0)):
            what = self.chance.choice(["daemon", "keeper", "shim"])
            getattr(self, f"_kill_{what}")()
            self.killed.append(what)

    def _kill_daemon(self) -> None:
        self.lit.kill(self.lit.daemon())

    def _kill_keeper(self) -> None:
        self._settle_keeper()
        for talk in self.acp_prompts:
            self._settle_shim(talk)
        self.keepers = self._count(None, "keeper lost")
        self.daemon_then = self.lit.daemon()
        self.lit.kill(self.lit.keeper())

    def _kill_shim(self) -> None:
        talk = self.chance.choice(self.acp_prompts)
        if talk.losses < MOST_LOSSES:
            self._settle_keeper()
            self._settle_shim(talk)
            talk.losses += 1
            self.lit.kill(self.lit.shim(talk.session))

    def _settle_keeper(self) -> None:
        """All are held by the keeper that is there now: the daemon that saw the last one go says so, a new one sees to it."""
        if "keeper" in self.killed:
            assert wait_until(
                lambda: (
                    alive(*self.lit.keeper())
                    and self.lit.call("get_status")
                    and (self._count(None, "keeper lost") > self.keepers or self.lit.daemon() != self.daemon_then)
                ),
                30,
            ), self._story()

    def _settle_shim(self, talk: Talk) -> None:
        assert wait_until(
            lambda: (
                self.lit.show(talk.session)["state"] == "ended"
                or (alive(*self.lit.shim(talk.session)) and self._count(talk.session, "holder lost") == talk.losses)
            ),
            30,
        ), f"{talk.session}: {self.lit.show(talk.session)}\n{self._story()}"

    def _story(self) -> str:
        """What a failure has to be judged by."""
        keeper = boot.connect(self.lit.home.keeper_socket)
        reached = keeper is not None
        if keeper is not None:
            keeper.close()
        logs = [(self.lit.folder / name).read_text()[-3000:] for name in ("daemon.log", "keeper.log")]
        return "\n".join(
            [
                f"killed {' '.join(self.killed)}",
                f"keeper {self.lit.keeper()} alive {alive(*self.lit.keeper())}, reached {reached}",
                f"daemon {self.lit.daemon()} alive {alive(*self.lit.daemon())}, then {self.daemon_then}",
                f"keepers lost before {self.keepers}, now {self._count(None, 'keeper lost')}",
                *logs,
            ]
        )

    def _count(self, session: str | None, action: str) -> int:
        events = self.lit.call("list_events", session=session, limit=100_000)["events"]
        return [event["action"] for event in events].count(action)


def test_chaos(both: Engine, mark: str, chance: random.Random) -> None:
    talks: list[Talk] = []
    for number in range(12):
        counts = number % 2 == 0
        command = ("sh", "-c", f"{COUNTER} {mark}") if counts else (sys.executable, "-c", TALKER, mark)
        session = both.start(*command, headless=number % 4 < 2)["id"]
        both.call("wait_session", session=session, until="text=on" if counts else "text=line 1", timeout="120s")
        talks.append(Talk(session, counts))
    killer, stop = Killer(both, chance, talks), threading.Event()
    with ThreadPoolExecutor(len(talks) + 1) as pool:
        jobs = [pool.submit(talk.live, both, stop) for talk in talks]
        jobs.append(pool.submit(killer.live, stop))
        end = time.monotonic() + CHAOS_SECONDS
        wait_until(lambda: any(job.done() for job in jobs) or time.monotonic() > end, CHAOS_SECONDS + 1)
        stop.set()
        for job in jobs:
            job.result()
    print(f"killed: {killer.killed}")
    for talk in talks:
        check_talk(both, talk)
    check_events(both, talks)
    for talk in talks:
        if both.show(talk.session)["state"] != "ended":
            ended = both.call("kill_session", session=talk.session, force=True, grace="0s")
            assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
    assert none_left(mark)
    check_events(both, talks, ended=True)


def check_talk(lit: Engine, talk: Talk) -> None:
    """It runs; what it printed is in the log once and in order, but for what a lost shim had read and not yet written, once for
    each loss; what was sent to it arrived at most once, and arrived unless its shim was lost on the way."""
    shown = lit.show(talk.session)
    assert shown["state"] == "running", shown
    assert inspect(shown["pid"]) is not None
    talk.read(lit)
    whole = Talk(talk.session, talk.counts)
    while len(whole.gathered) < len(talk.gathered):
        whole.read(lit)
    assert whole.gathered.startswith(talk.gathered)
    printed = [line.split() for line in talk.gathered.splitlines()[:-1] if line.startswith("line")]
    numbers = [int(line[1]) for line in printed]
    assert numbers == sorted(set(numbers)), "something is in the log twice, or not in order"
    breaks = sum(after != before + 1 for before, after in itertools.pairwise([0, *numbers]))
    assert breaks <= talk.losses, talk
    if talk.counts:
        heard = [int(line[2]) for line in printed]
        assert len(set(heard)) == len(heard), "something was typed twice"
        assert heard == sorted(heard)
        assert talk.losses or (not talk.unanswered and not talk.errors), talk
        assert len(talk.unanswered) <= talk.losses, talk


def check_events(lit: Engine, talks: list[Talk], ended: bool = False) -> None:
    events = lit.call("list_events", limit=100_000)["events"]
    assert [event["n"] for event in events] == list(range(1, len(events) + 1))
    for talk in talks:
        actions = [event["action"] for event in events if event["session"] == talk.session]
        assert [actions.count(action) for action in ("start", "started", "ended")] == [1, 1, int(ended)]
