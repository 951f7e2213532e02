"""Limits: the patrol warns, asks, ends, and names the limit; without any it only reports; time that did not pass ends nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import LampError
from lamplighter.holder import proc
from lamplighter.settings import load_settings
from tests.support import players
from tests.support.clockwork import FOLDER, Clockwork
from tests.support.engine import Engine, answer, engine, send
from tests.support.fixtures import cgroup_usable
from tests.support.processes import wait_until

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
Timed = tuple[Engine, Clockwork]
EATER = "import sys, time\nkept = [b'x' * (1 << 20) for _ in range({0})]\nprint('eaten', flush=True)\ntime.sleep(300)"


@contextmanager
def configured(text: str, **environment: str) -> Iterator[Timed]:
    with engine(**{"PYTHONPATH": FOLDER, "LAMPLIGHTER_PATROL": "0.05s", **environment}) as made:
        (made.folder / "config.toml").write_text(text)
        yield made, Clockwork(made.folder)


def actions(lit: Engine, session: str) -> list[str]:
    return [event["action"] for event in lit.events(session)]


def has_looked(lit: Engine, session: str, verdict: str) -> bool:
    return wait_until(lambda: lit.show(session)["verdict"] == verdict)


def rounds(lit: Engine) -> None:
    """The patrol has gone round at least twice with the clock as it is now: another session's warning says so."""
    name = f"witness-{len(lit.events())}"
    lit.start("cat", name=name, max_age="0.001s")
    assert wait_until(lambda: "warning" in actions(lit, name))
    lit.call("kill_session", session=name, force=True, grace="0s")


def ended(lit: Engine, session: str) -> dict[str, Any]:
    assert wait_until(lambda: lit.show(session)["state"] == "ended"), lit.show(session)
    return lit.show(session)["ending"]


def test_an_idle_session_is_warned_and_then_ended(timed: Timed) -> None:
    lit, clock = timed
    session = lit.start("bash", "--norc", idle_limit="10m")["id"]
    clock.advance(9 * MINUTE)
    assert has_looked(lit, session, "idle")
    rounds(lit)
    assert "warning" not in actions(lit, session)
    clock.advance(2 * MINUTE)
    assert wait_until(lambda: "warning" in actions(lit, session))
    shown = lit.show(session)
    assert shown["state"] == "running"
    assert shown["warnings"][0].startswith("idle limit of 10m passed: quiet for 11m")
    assert shown["limits"] == {"idle": 600.0, "age": None, "memory": None}
    clock.advance(31)
    ending = ended(lit, session)
    assert (ending["by"], ending["how"]) == ("patrol", "asked")
    assert ending["reason"].startswith("idle limit of 10m passed")
    assert ending["certificate"]["survivors"] == []
    told = actions(lit, session)
    assert [told.count(action) for action in ("warning", "end", "ended")] == [1, 1, 1]


def test_a_sign_of_life_takes_the_warning_back(timed: Timed) -> None:
    lit, clock = timed
    session = lit.start("bash", "--norc", idle_limit="10m")["id"]
    clock.advance(11 * MINUTE)
    assert wait_until(lambda: "warning" in actions(lit, session))
    lit.call("send_input", session=session, text="echo here")
    assert wait_until(lambda: "warning withdrawn" in actions(lit, session))
    clock.advance(31)
    rounds(lit)
    assert lit.show(session)["state"] == "running"
    assert lit.show(session)["warnings"] == []


def test_what_sleeps_or_waits_is_idle_and_what_computes_is_not(timed: Timed) -> None:
    lit, clock = timed
    sleeps = lit.start("sleep", "1000", idle_limit="10m")["id"]
    waits = lit.start("sh", "-c", "sleep 1000; true", idle_limit="10m")["id"]
    computes = lit.start("sh", "-c", "while :; do :; done", idle_limit="10m")["id"]
    for session in (sleeps, waits):
        assert has_looked(lit, session, "working")
    clock.advance(11 * MINUTE)
    for session in (sleeps, waits):
        assert wait_until(lambda session=session: "warning" in actions(lit, session)), lit.show(session)
        assert has_looked(lit, session, "working")
    clock.advance(31)
    for session in (sleeps, waits):
        assert ended(lit, session)["reason"].startswith("idle limit of 10m passed")
    for _ in range(3):
        clock.advance(5 * HOUR)
        rounds(lit)
    assert has_looked(lit, computes, "working")
    assert "warning" not in actions(lit, computes)


def test_a_warning_is_no_longer_than_its_limit_and_repeats_are_no_life() -> None:
    """The usual warning is a minute. What only draws counts as alive until it has repeated itself for ten."""
    draws = "import sys, time\nwhile True: print('\\r\\x1b[2K| thinking', end='', flush=True); time.sleep(0.2)"
    with configured("") as (lit, clock):
        sleeps = lit.start("sleep", "1000", idle_limit="10s")["id"]
        spins = lit.start(sys.executable, "-c", draws, idle_limit="10s")["id"]
        lit.call("wait_session", session=spins, until="text=thinking", since=0, timeout="120s")
        clock.advance(11)
        assert wait_until(lambda: "warning" in actions(lit, sleeps))
        clock.advance(11)
        assert ended(lit, sleeps)["reason"].startswith("idle limit of 10s passed")
        assert lit.show(spins)["state"] == "running"
        clock.advance(11 * MINUTE)
        assert wait_until(lambda: "warning" in actions(lit, spins)), lit.show(spins)
        clock.advance(11)
        assert ended(lit, spins)["reason"].startswith("idle limit of 10s passed: quiet for 11m")


def test_work_in_silence_is_not_idle_time_afterwards(timed: Timed) -> None:
    """For an hour it computes something that nobody sees; then it wants an answer, and has been idle since then only."""
    lit, clock = timed
    script = "import os, sys\nwhile not os.path.exists(sys.argv[1]): pass\nsys.stdin.readline()"
    flag = lit.folder / "enough"
    session = lit.start(sys.executable, "-c", script, str(flag), idle_limit="10m")["id"]
    for _ in range(4):
        clock.advance(15 * MINUTE)
        assert has_looked(lit, session, "working")
        rounds(lit)
    flag.touch()
    assert wait_until(lambda: _reads(lit, session))
    clock.advance(2 * MINUTE)
    assert has_looked(lit, session, "waiting")
    rounds(lit)
    assert lit.show(session)["warnings"] == []
    clock.advance(11 * MINUTE)
    assert wait_until(lambda: "warning" in actions(lit, session)), lit.show(session)
    assert actions(lit, session).count("warning") == 1


def _reads(lit: Engine, session: str) -> bool:
    with open(f"/proc/{lit.show(session)['pid']}/syscall") as file:
        return file.read().startswith(("0 0x0", "63 0x0"))


def test_a_little_cpu_at_a_prompt_is_no_work(timed: Timed) -> None:
    lit, clock = timed
    session = lit.start(sys.executable, players.__file__, "agent_that_ticks", idle_limit="10m")["id"]
    # A tick of the kernel's is 10 ms: until CPU is measured over two whole seconds, one of them looks like work.
    assert wait_until(lambda: lit.show(session)["quiet_for"] >= 4)
    clock.advance(11 * MINUTE)
    assert wait_until(lambda: "warning" in actions(lit, session)), lit.show(session)
    rounds(lit)
    clock.advance(31)
    assert ended(lit, session)["reason"].startswith("idle limit of 10m passed")
    assert "warning withdrawn" not in actions(lit, session)


def test_an_age_limit_ends_also_what_works(timed: Timed) -> None:
    lit, clock = timed
    session = lit.start("sh", "-c", "while :; do :; done", max_age="2h")["id"]
    clock.advance(2 * HOUR + 1)
    assert wait_until(lambda: "warning" in actions(lit, session))
    clock.advance(31)
    assert ended(lit, session)["reason"].startswith("age limit of 2h00m passed")


def test_time_that_did_not_pass_ends_nothing(timed: Timed) -> None:
    """The wall clock is set, to and fro; the machine sleeps for a night."""
    lit, clock = timed
    session = lit.start("bash", "--norc", idle_limit="10m", max_age="1h")["id"]
    clock.advance(MINUTE)
    assert has_looked(lit, session, "idle")
    for move in (lambda: clock.jump(10 * DAY), lambda: clock.jump(-20 * DAY), lambda: clock.suspend(12 * HOUR)):
        move()
        rounds(lit)
        shown = lit.show(session)
        assert (shown["state"], shown["warnings"]) == ("running", [])
        assert shown["quiet_for"] < 10 * MINUTE
    assert "warning" not in actions(lit, session)


def test_a_daemon_that_was_down_ends_nothing_that_worked_meanwhile(timed: Timed) -> None:
    lit, clock = timed
    script = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): pass\nsys.stdin.readline()"
    flag = lit.folder / "enough"
    started = lit.start(sys.executable, "-c", script, str(flag), idle_limit="10m")
    clock.advance(2 * MINUTE)
    rounds(lit)
    lit.kill(lit.daemon())
    before = cpu_of(started["pid"])
    assert wait_until(lambda: cpu_of(started["pid"]) > before + 1.0)
    clock.advance(20 * MINUTE)
    flag.touch()
    rounds(lit)
    shown = lit.show(started["id"])
    assert (shown["state"], shown["warnings"]) == ("running", []), shown["evidence"]


def cpu_of(pid: int) -> float:
    stat = proc.read_stat(pid)
    assert stat is not None
    return stat.cpu


def test_a_daemon_that_was_down_goes_on_counting(timed: Timed) -> None:
    """What was quiet before and after, with no CPU used in between, was quiet in between."""
    lit, clock = timed
    session = lit.start("bash", "--norc", idle_limit="1h")["id"]
    clock.advance(2 * MINUTE)
    assert has_looked(lit, session, "idle")
    clock.advance(2 * MINUTE)  # what was seen is written down every minute
    rounds(lit)
    lit.kill(lit.daemon())
    clock.advance(2 * HOUR)
    assert wait_until(lambda: "warning" in actions(lit, session)), lit.show(session)
    assert lit.show(session)["state"] == "running", "warned first, however long ago it passed"


@pytest.mark.parametrize("path", ["kernel", "tree"])
def test_a_tree_that_takes_too_much_memory_is_ended(path: str) -> None:
    """The tree's memory: no process of it is over the limit by itself. With a cgroup the kernel stops it there."""
    if path == "kernel" and not cgroup_usable():
        pytest.skip("no cgroup can be made here")
    with configured("", LAMPLIGHTER_WARNING="0", LAMPLIGHTER_CGROUP="off" if path == "tree" else "auto") as (lit, _):
        eaters = f'sh -c \'{sys.executable} -c "$EATER" & {sys.executable} -c "$EATER"; wait\''
        session = lit.start("sh", "-c", eaters, env={"EATER": EATER.format(80)}, max_memory="120M", headless=True)["id"]
        assert ended(lit, session)["reason"].startswith("memory limit of 120 MB passed")


def test_memory_that_is_shared_counts_once() -> None:
    """A tree that was forked from one big process is as big as that one."""
    script = """
import os, time
shared = bytearray(b"x") * (60 << 20)
for _ in range(4):
    if os.fork() == 0:
        time.sleep(300)
print("forked", flush=True)
time.sleep(300)
"""
    with configured("", LAMPLIGHTER_WARNING="0", LAMPLIGHTER_CGROUP="off") as (lit, _):
        session = lit.start(sys.executable, "-c", script, max_memory="150M", headless=True)["id"]
        lit.call("wait_session", session=session, until="text=forked", timeout="120s")
        assert wait_until(lambda: lit.show(session)["memory"] > 250_000_000)
        rounds(lit)
        assert (lit.show(session)["state"], lit.show(session)["warnings"]) == ("running", [])


def test_no_cgroup_is_left_of_a_memory_limit() -> None:
    """Neither of a session that ended, nor of one whose shim and keeper were killed with it, nor of the keeper."""
    if not cgroup_usable():
        pytest.skip("no cgroup can be made here")
    with configured("") as (lit, _):
        lit.call("get_status")
        name = f"lamplighter-{zlib.crc32(lit.home.run.encode()):08x}"
        ends = lit.start("cat", max_memory="100M", headless=True)["id"]
        lost = lit.start("cat", max_memory="100M", headless=True)["id"]
        lit.call("kill_session", session=ends, force=True, grace="0s")
        lit.kill(lit.keeper())
        lit.kill(lit.shim(lost))
        assert wait_until(lambda: lit.show(lost)["state"] == "ended")
        lit.start("cat", max_memory="100M", headless=True)
    found = subprocess.run(["find", "/sys/fs/cgroup", "-name", name], check=False, capture_output=True, text=True)
    assert found.stdout == ""


def test_memory_that_grows_between_two_looks_is_caught_by_the_kernel() -> None:
    if not cgroup_usable():
        pytest.skip("no cgroup can be made here")
    with configured("", LAMPLIGHTER_PATROL="1h") as (lit, _):
        started = lit.start(sys.executable, "-c", EATER.format(2000), max_memory="100M", headless=True)
        if not _has_memory_controller():
            pytest.skip("no memory controller here")
        ending = ended(lit, started["id"])
        assert ending["reason"].startswith("memory limit of 100 MB passed")
        assert "eaten" not in lit.output(started["id"])


def _has_memory_controller() -> bool:
    with open("/proc/cgroups") as file:
        return any(line.split()[0] == "memory" and line.split()[3] == "1" for line in file if not line.startswith("#"))


def test_within_the_limit_nothing_happens() -> None:
    with configured("", LAMPLIGHTER_WARNING="0") as (lit, _):
        session = lit.start(sys.executable, "-c", EATER.format(20), max_memory="200M", headless=True)["id"]
        lit.call("wait_session", session=session, until="text=eaten", timeout="120s")
        rounds(lit)
        assert lit.show(session)["state"] == "running"


def test_without_configuration_it_only_reports(timed: Timed) -> None:
    lit, clock = timed
    parent = lit.start("bash", "--norc", name="parent")["id"]
    child = lit.start("bash", "--norc", name="child", parent=parent)["id"]
    clock.advance(MINUTE)
    assert has_looked(lit, child, "idle")
    lit.call("kill_session", session=parent, force=True, grace="0s")
    for _ in range(3):
        clock.advance(30 * DAY)
        rounds(lit)
    shown = lit.show(child)
    assert (shown["state"], shown["verdict"]) == ("running", "orphaned")
    assert "the session that started it has ended" in shown["evidence"][0]
    assert "warning" not in actions(lit, child)


def test_orphans_are_ended_after_their_grace() -> None:
    with configured('orphan_grace = "15m"\nwarning = "30s"\n') as (lit, clock):
        parent = lit.start("bash", "--norc")["id"]
        kinds = {"task": "cat", "main": "cat", "system": "cat"}
        children = {kind: lit.start(command, parent=parent, kind=kind)["id"] for kind, command in kinds.items()}
        sleeps = lit.start("sh", "-c", "sleep 300; true", parent=parent)["id"]
        works = lit.start("sh", "-c", "while :; do :; done", parent=parent)["id"]
        lit.call("protect_session", session=lit.start("cat", name="safe", parent=parent)["id"])
        lit.call("kill_session", session=parent, force=True, grace="0s")
        clock.advance(MINUTE)
        assert has_looked(lit, children["task"], "orphaned")
        rounds(lit)
        clock.advance(16 * MINUTE)
        assert wait_until(lambda: "warning" in actions(lit, children["task"]))
        clock.advance(31)
        for session in (children["task"], sleeps):
            assert ended(lit, session)["reason"].startswith("orphan grace of 15m passed")
        rounds(lit)
        for session in (children["main"], children["system"], "safe", works):
            assert lit.show(session)["state"] == "running"


def test_kinds_have_defaults_and_a_start_comes_first() -> None:
    with configured('[limits.cron]\nmax_age = "2h"\nmax_memory = "1G"\n[limits.subagent]\nidle_limit = "30m"') as (
        lit,
        _,
    ):
        limits = lambda **given: lit.show(lit.start("cat", **given)["id"])["limits"]  # noqa: E731
        assert limits(kind="cron") == {"idle": None, "age": 7200.0, "memory": 1_000_000_000}
        assert limits(kind="cron", max_age="5m", max_memory="none") == {"idle": None, "age": 300.0, "memory": None}
        assert limits(kind="subagent")["idle"] == 1800.0
        assert limits() == {"idle": None, "age": None, "memory": None}


def test_sessions_at_once_and_the_dead_do_not_count() -> None:
    with configured("sessions_per_owner = 3") as (lit, _):
        first, *_ = [lit.start("cat")["id"] for _ in range(3)]
        with pytest.raises(LampError, match="allows 3 at once") as refused:
            lit.start("cat")
        assert refused.value.code == "TOO_MANY"
        for _ in range(5):
            lit.call("kill_session", session=first, force=True, grace="0s")
            first = lit.start("cat")["id"]
        assert len(lit.call("list_sessions")["sessions"]) == 3


def test_many_starts_at_once_do_not_pass_it_together() -> None:
    with configured("sessions_per_owner = 3") as (lit, _):
        parent = lit.start("cat")["id"]
        starting = [lit.connect() for _ in range(8)]
        for number, sock in enumerate(starting):
            arguments = {"command": ["cat"], "cwd": "/", "environment": {"PATH": os.environ["PATH"]}, "parent": parent}
            send(sock, "start_session", f"key-{number}", arguments)
        codes = [refusal(sock) for sock in starting]
        assert sorted(codes) == ["", "", *["TOO_MANY"] * 6]
        assert len(lit.call("list_sessions")["sessions"]) == 3


def refusal(sock: socket.socket) -> str:
    with sock:
        try:
            answer(sock)
        except LampError as error:
            return error.code.value
    return ""


@pytest.mark.shared
@pytest.mark.parametrize(
    ("option", "value"),
    [("idle_limit", "0"), ("idle_limit", "soon"), ("max_age", "-5m"), ("max_age", ""), ("max_memory", "5"),
     ("max_memory", "9" * 400), ("max_memory", "9999999T"), ("max_memory", "much"), ("max_memory", "-1G"), ("max_memory", "1e9")],
)  # fmt: skip
def test_a_limit_that_makes_no_sense_starts_nothing(lit: Engine, option: str, value: str) -> None:
    with pytest.raises(LampError) as refused:
        lit.start("cat", **{option: value})
    assert refused.value.code == "BAD_INPUT"
    assert refused.value.hint
    assert lit.call("list_sessions")["sessions"] == []


@pytest.mark.parametrize(
    "text",
    ["limits = 5", "[limits.nobody]\nmax_age = '1h'", "[limits.cron]\nmax_agee = '1h'", "[limits.cron]\nmax_age = 'x'",
     "sessions_per_owner = 0", "orphan_grace = 'x'", "[limits]\ncron = 3"],
)  # fmt: skip
def test_a_config_that_makes_no_sense_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(LampError) as refused:
        load_settings({"LAMPLIGHTER_HOME": str(tmp_path)})
    assert refused.value.code == "BAD_INPUT"
    assert any(
        name in refused.value.message for name in ("limits", "nobody", "max_age", "sessions_per_owner", "orphan_grace")
    )
    assert refused.value.hint


def test_with_a_config_that_makes_no_sense_the_command_says_so() -> None:
    with engine() as lit:
        (lit.folder / "config.toml").write_text("[limits.cron]\nmax_age = 'x'")
        said = lit.cli("ls")
        assert said.returncode == 3
        assert "BAD_INPUT" in said.stderr or "limit" in said.stderr, said.stderr
