"""`lamp run`: streams byte by byte, signals, the command's own exit status, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.processes import none_left, wait_until

pytestmark = pytest.mark.shared

RUN = [sys.executable, "-m", "lamplighter.frontends.cli.main", "run"]


def run(lit: Engine, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    given: dict[str, Any] = {"env": lit.environment, "timeout": 200, "capture_output": True}
    if "input" not in options:
        given["stdin"] = subprocess.DEVNULL
    return subprocess.run([*RUN, *words], check=False, **{**given, **options})


@pytest.fixture
def popen(lit: Engine) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """`lamp run` in the background, gone with the test."""
    with ExitStack() as stack:

        def make(*words: str, **options: Any) -> subprocess.Popen[bytes]:
            given: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            process = subprocess.Popen([*RUN, *words], env=lit.environment, **{**given, **options})
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield make


def test_streams_are_apart_and_the_status_is_the_commands_own(lit: Engine) -> None:
    done = run(lit, "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 3)


def test_bytes_stay_bytes_both_ways(lit: Engine) -> None:
    data = os.urandom(3_000_000) + b"\x04\x03\x00\xff\r\n"
    done = run(lit, "--", "cat", input=data)
    assert done.stdout == data
    assert done.returncode == 0


def test_input_that_ends_is_told(lit: Engine) -> None:
    assert run(lit, "--", "wc", "-c", input=b"").stdout.strip() == b"0"


def test_the_shortest_command_loses_nothing(lit: Engine) -> None:
    for _ in range(5):
        done = run(lit, "--", "echo", "x")
        assert (done.stdout, done.returncode) == (b"x\n", 0)


def test_death_by_a_signal(lit: Engine) -> None:
    assert run(lit, "--", "sh", "-c", "kill -KILL $$").returncode == 137


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"])
def test_signals_are_passed_on(popen: Callable[..., Any], name: str) -> None:
    script = f"trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
    process = popen("--", "bash", "-c", script)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.Signals[f"SIG{name}"])
    out, _ = process.communicate(timeout=200)
    assert (out, process.returncode) == (f"got {name}\n".encode(), 9)


def test_what_was_left_behind_is_ended_and_reported(lit: Engine, mark: str) -> None:
    script = f"(exec -a {mark} sleep 300) & (exec -a {mark} setsid sleep 300) & exit 4"
    done = run(lit, "--json", "--", "bash", "-c", script)
    assert done.returncode == 4
    said = done.stderr.decode().splitlines()
    assert said[0].startswith("lamp: ended 2 processes that bash left behind: ")
    report = json.loads(said[-1])
    assert report["exit"] == {"code": 4}
    assert report["certificate"]["survivors"] == []
    assert none_left(mark)


def test_it_says_nothing_when_nothing_was_left(lit: Engine) -> None:
    assert run(lit, "--", "true").stderr == b""


def test_what_is_kept_goes_on(lit: Engine) -> None:
    done = run(lit, "--keep-children", "--name", "kept", "--", "sh", "-c", "sleep 300 & echo started")
    assert (done.stdout, done.returncode) == (b"started\n", 0)
    assert lit.show("kept")["state"] == "running"


def test_a_reader_that_leaves_ends_it(popen: Callable[..., Any], mark: str) -> None:
    process = popen("--name", "many", "--", "bash", "-c", f"exec -a {mark} yes", stdin=subprocess.DEVNULL)
    process.stdout.read(2)
    process.stdout.close()
    assert process.wait(200) == 141
    assert process.stderr.read() == b""
    assert wait_until(lambda: none_left(mark))


def test_a_client_that_dies_ends_it(popen: Callable[..., Any], mark: str) -> None:
    process = popen("--", "bash", "-c", f"echo ready; exec -a {mark} sleep 300")
    assert process.stdout.readline() == b"ready\n"
    process.kill()
    process.communicate(timeout=200)
    assert wait_until(lambda: none_left(mark))


@pytest.mark.alone
def test_the_daemon_may_die_meanwhile(lit: Engine, popen: Callable[..., Any]) -> None:
    process = popen("--", "sh", "-c", "echo a; read x; echo $x; exit 5")
    assert process.stdout.readline() == b"a\n"
    lit.kill(lit.daemon())
    out, _ = process.communicate(b"b\n", timeout=200)
    assert (out, process.returncode) == (b"b\n", 5)


@pytest.mark.alone
def test_the_holder_may_die_meanwhile(lit: Engine, popen: Callable[..., Any]) -> None:
    """Its standard input is lost with the holder, which held the only end of it; output and exit are not."""
    go = lit.folder / "go"
    process = popen(
        "--name", "held", "--", "sh", "-c", f"echo a; until [ -e {go} ]; do sleep 0.02; done; echo b; exit 5"
    )
    assert process.stdout.readline() == b"a\n"
    session = lit.show("held")
    lit.kill(lit.shim(session["id"]))
    assert wait_until(lambda: lit.show(session["id"])["holder_lost"])
    go.touch()
    out, err = process.communicate(timeout=200)
    assert process.returncode == 5
    assert out == b"b\n"
    assert err == b"" or b"came from the log" in err


def test_a_slow_reader_slows_the_command_and_misses_nothing(lit: Engine, popen: Callable[..., Any]) -> None:
    process = popen("--", "seq", "2000000", stdin=subprocess.DEVNULL)
    assert wait_until(lambda: lit.call("list_sessions")["sessions"] != [])
    data = process.stdout.read()
    assert data == b"".join(b"%d\n" % n for n in range(1, 2_000_001))
    assert process.wait(200) == 0


@pytest.mark.parametrize("words", [("--timeout", "1s"), ("--max-age", "1s"), ("--json", "--timeout", "1s")])
def test_a_limit_on_time_is_kept_without_a_warning_and_told(lit: Engine, words: tuple[str, ...], mark: str) -> None:
    """The patrol would look every ten seconds, and warn a minute before it ends anything."""
    done = run(lit, *words, "--", "bash", "-c", f"trap 'exit 0' TERM; (exec -a {mark} sleep 300) & echo out; wait")
    assert (done.returncode, done.stdout) == (124, b"out\n")
    said = done.stderr.decode().splitlines()
    assert said[0].startswith("lamp: ended bash: age limit of 1s passed: ")
    assert none_left(mark)
    if "--json" in words:
        report = json.loads(said[-1])
        assert (report["limit"], report["exit"]) == ("age", {"code": 0})
        assert lit.show(report["id"])["ending"]["by"] == "patrol"
        assert "warning" not in [event["action"] for event in lit.events(report["id"])]


def test_a_limit_on_idleness_ends_what_sleeps_and_is_told(lit: Engine) -> None:
    done = run(lit, "--idle-limit", "1s", "--", "sleep", "1000")
    assert (done.returncode, done.stdout) == (124, b"")
    said = done.stderr.decode().splitlines()
    assert len(said) == 1
    assert said[0].startswith("lamp: ended sleep: idle limit of 1s passed: quiet for ")


@pytest.mark.parametrize("does", ["print('tick', flush=True); time.sleep(0.05)", "sum(range(10_000))"])
def test_a_limit_on_idleness_leaves_alone_what_prints_or_computes(
    lit: Engine, popen: Callable[..., Any], does: str
) -> None:
    """It goes on while one that sleeps, begun after it under the same limit, is ended; and ends as itself."""
    go = lit.folder / "go"
    program = f"import os, time\nwhile not os.path.exists({str(go)!r}): {does}\nraise SystemExit(5)"
    name = f"busy-{len(does)}"
    words = ["--name", name, "--idle-limit", "2s", "--", sys.executable, "-c", program]
    process = popen(*words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert wait_until(lambda: [row for row in lit.call("list_sessions")["sessions"] if row["name"] == name])
    assert run(lit, "--idle-limit", "2s", "--", "sleep", "1000").returncode == 124
    assert process.poll() is None
    go.touch()
    assert process.wait() == 5
    assert process.stderr.read() == b""


def test_a_limit_on_memory_has_its_own_status_and_is_told(lit: Engine) -> None:
    eater = "kept = [b'x' * (1 << 20) for _ in range(200)]; import time; time.sleep(300)"
    done = run(lit, "--max-memory", "100M", "--", sys.executable, "-c", eater)
    assert done.returncode == 125
    assert b": memory limit of 100 MB passed" in done.stderr.splitlines()[0]


def test_what_ends_in_time_has_its_own_status(lit: Engine) -> None:
    done = run(lit, "--timeout", "10min", "--max-memory", "2G", "--", "sh", "-c", "exit 5")
    assert (done.returncode, done.stderr) == (5, b"")
    assert run(lit, "--timeout", "10min", "--", "sh", "-c", "kill -TERM $$").returncode == 143


def test_no_such_program(lit: Engine) -> None:
    done = run(lit, "--json", "--", "/no/such/program")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "NO_SUCH_PROGRAM"


def test_on_a_terminal_it_has_a_terminal(person: Callable[..., Any]) -> None:
    someone = person(
        "run",
        "--",
        "sh",
        "-c",
        "stty size; test -t 0 && test -t 1 && echo terminal; read x; echo got $x; exit 6",
        rows=30,
        cols=99,
    )
    someone.until("30 99")
    someone.until("terminal")
    someone.type("abc\r")
    someone.until("got abc")
    assert someone.finish() == 6
    assert someone.terminal_is_as_before()
    assert b"\x1b" not in someone.seen, "plain output stays plain"


def test_on_a_terminal_no_key_detaches(person: Callable[..., Any]) -> None:
    someone = person(
        "run", "--", "bash", "-c", "trap 'echo quit; exit 8' QUIT; echo ready; while :; do sleep 0.05; done"
    )
    someone.until("ready")
    someone.type("\x1c")
    someone.until("quit")
    assert someone.finish() == 8


def test_a_program_that_dies_on_the_alternate_screen_leaves_a_usable_terminal(person: Callable[..., Any]) -> None:
    someone = person("run", "--", "sh", "-c", "printf '\\033[?1049h\\033[?1000hup'; kill -KILL $$")
    assert someone.finish() == 137
    assert someone.seen.index(b"\x1b[?1049l") > someone.seen.index(b"\x1b[?1049h")
    assert b"\x1b[?1000l" in someone.seen
    assert someone.terminal_is_as_before()
