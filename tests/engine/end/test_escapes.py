"""Ways out of a session that an ending must see: a process whose main thread has left, an older pid namespace, a tracer from
outside, tmux of its own, and a daemon that dies again and again while it asks."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.aged import aged_engine, start_as_then
from tests.support.engine import ESCAPEES, Engine
from tests.support.own_tmux import OwnTmux
from tests.support.places import ROOT
from tests.support.processes import alive, inspect, marked, none_left, wait_until

pytestmark = pytest.mark.shared

FROZEN = ROOT / "tests/upgrade/0.1.0.tar.xz"
STATUS_SURVIVORS = 8
CGROUPS = "/sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/unified/cgroup.procs"
PTRACE_SEIZE = 0x4206
# Traces what it is told to until its input ends, and never lets it go.
TRACER = f"""
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace({PTRACE_SEIZE}, int(sys.argv[1]), 0, 0) != 0:
    sys.exit(f"ptrace: {{ctypes.get_errno()}}")
print("traces", flush=True)
sys.stdin.read()
"""
# Takes a session's mark long after it was started: an exec changes the environment, and not the start.
MARKED_LATER = """
import os, sys
mark = sys.stdin.readline().strip()
os.execve("/bin/sh", ["sh", "-c", "echo up; exec sleep 300"], {**os.environ, "LAMPLIGHTER_SESSION": mark})
"""
FAKE_SERVER = """
import ctypes, os, subprocess, sys, time
if os.getsid(0) != os.getpid():
    os.setsid()
ctypes.CDLL(None).prctl(15, b"tmux: server", 0, 0, 0)
mark = f"/tmp/nothing,{os.getpid()},1"
subprocess.Popen(["sh", "-c", f"sleep 300; : {sys.argv[1]}"], env={**os.environ, "TMUX": mark})
print("up", flush=True)
time.sleep(300)
"""


def kill(made: Engine, session: str) -> dict[str, Any]:
    return made.call("kill_session", session=session, force=True, grace="0.5s")


# -- a process whose main thread has left


def test_one_without_its_main_thread_dies_with_a_lost_shim_too(both: Engine, mark: str) -> None:
    session = both.escapees("leaderless", mark=mark)["id"]
    both.kill(both.shim(session))
    assert wait_until(lambda: both.show(session)["holder_lost"])
    ended = kill(both, session)
    assert ended["state"] == "ended"
    assert none_left(mark)


@pytest.mark.parametrize("options", [(), ("--headless",)], ids=["terminal", "headless"])
def test_a_run_that_leaves_one_without_its_main_thread_returns(
    both: Engine, mark: str, options: tuple[str, ...]
) -> None:
    command = [sys.executable, ESCAPEES, "leaderless", "--mark", mark, "--exit", "3"]
    ran = both.cli("run", *options, "--", *command, timeout=240)
    assert ran.returncode == 3, ran.stderr
    assert none_left(mark)


# -- an older pid namespace


@contextmanager
def older_namespace(mark: str) -> Generator[int]:
    """A pid namespace that somebody outside made before: the pid of its init."""
    command = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", f"while :; do sleep 300; done; : {mark}"]
    with subprocess.Popen(command) as holder:
        try:
            found: list[int] = []

            def is_up() -> bool:
                found[:] = [one.pid for one in marked(mark) if one.pid != holder.pid]
                return bool(found)

            if not wait_until(is_up):
                pytest.skip("no pid namespace can be made here")
            yield found[0]
        finally:
            holder.kill()


def escape(init: int, mark: str, cgroup: str) -> list[str]:
    """Into that namespace, as an orphan there, and out of the cgroup where that can be done."""
    leave = f"for f in {cgroup}; do echo $$ > $f; done 2>/dev/null;" if cgroup else ""
    inner = f'setsid sh -c "sleep 300; : {mark}" >/dev/null 2>&1 </dev/null &'
    return ["sh", "-c", f"{leave} nsenter -t {init} -p sh -c '{inner}'; echo away; cat"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root enters a namespace without more ado")
@pytest.mark.parametrize("by_itself", [False, True], ids=["killed", "exits"])
def test_what_enters_an_older_namespace_is_found_by_its_mark(both: Engine, mark: str, by_itself: bool) -> None:
    outside = f"outside-{mark}"
    with older_namespace(outside) as init:
        inside = f"in-{mark}"
        session = both.start(*escape(init, inside, CGROUPS))["id"]
        both.call("wait_session", session=session, until="text=away", timeout="60s")
        assert wait_until(lambda: marked(inside))
        (escaped,) = [one for one in marked(inside) if "nsenter" not in " ".join(one.cmdline)][-1:]
        if by_itself:
            both.call("send_input", session=session, text="C-d", keys=True)
            both.call("wait_session", session=session, until="ended", timeout="120s")
        else:
            kill(both, session)
        assert none_left(inside)
        ending = both.show(session)["ending"]
        assert ending["certificate"]["guarantee"] == "best_effort"
        assert {"mark"} == {one.get("found") for one in ending["certificate"]["processes"] if one["pid"] == escaped.pid}
        assert inspect(init) is not None
    wait_until(lambda: none_left(outside))


def test_a_mark_on_what_is_older_is_named_and_not_ended(lit: Engine) -> None:
    """It cannot be the session's, whatever it says; and the ending claims less for it."""
    command = [sys.executable, "-c", MARKED_LATER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as bystander:
        try:
            session = lit.start("cat")["id"]
            assert bystander.stdin is not None
            assert bystander.stdout is not None
            bystander.stdin.write(f"{session}\n")
            bystander.stdin.flush()
            assert bystander.stdout.readline() == "up\n"
            certificate = kill(lit, session)["certificate"]
            assert bystander.poll() is None
        finally:
            bystander.kill()
    assert [(one["pid"], one["found"]) for one in certificate["spared"]] == [(bystander.pid, "mark")]
    assert "older" in certificate["spared"][0]["why"]
    assert certificate["guarantee"] == "best_effort"


# -- a tracer from outside


@contextmanager
def traced(pid: int) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", TRACER, str(pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tracer:
        try:
            assert tracer.stdout is not None
            if tracer.stdout.readline() != "traces\n":
                pytest.skip("this user may not trace here")
            yield tracer
        finally:
            tracer.kill()


def test_what_a_tracer_holds_is_named_until_it_lets_go(both: Engine, mark: str) -> None:
    session = both.escapees("deaf", mark=mark)
    (deaf,) = [one for one in session["report"]["escapees"] if one["name"] == "deaf"]
    with traced(deaf["pid"]) as tracer:
        ran = both.cli("kill", session["id"], "--force", "--grace", "0s", "--json", timeout=240)
        assert ran.returncode == STATUS_SURVIVORS, ran.stdout
        shown = both.show(session["id"])
        assert shown["state"] == "ending"
        assert [one["pid"] for one in shown["survivors"]] == [deaf["pid"]]
        assert str(tracer.pid) in shown["survivors"][0]["why"]
    both.call("wait_session", session=session["id"], until="ended", timeout="120s")
    assert both.show(session["id"])["ending"]["certificate"]["survivors"] == []


def test_a_main_process_that_a_tracer_holds_is_named_by_the_next_shim_too(both: Engine, mark: str) -> None:
    """A shim that took over from a lost one sees the command's end by a pidfd, which a tracer does not hold back."""
    session = both.start("sh", "-c", f"sleep 300; : {mark}", headless=True)["id"]
    main = both.show(session)["pid"]
    with traced(main) as tracer:
        both.kill(both.shim(session))
        assert wait_until(lambda: both.show(session)["holder_lost"])
        ended = kill(both, session)
        assert ended["state"] == "ending"
        assert [one["pid"] for one in ended["certificate"]["survivors"]] == [main]
        assert str(tracer.pid) in ended["certificate"]["survivors"][0]["why"]
    both.call("wait_session", session=session, until="ended", timeout="120s")
    certificate = both.show(session)["ending"]["certificate"]
    assert (certificate["survivors"], main in [one["pid"] for one in certificate["processes"]]) == ([], True)


# -- tmux inside a session


@pytest.fixture
def tmux() -> Iterator[OwnTmux]:
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux")
    made = OwnTmux()
    yield made
    made.close()


def with_tmux_of_two(made: Engine, tmux: OwnTmux, mark: str) -> str:
    """A session that has started a tmux server, in which somebody outside has made a session too."""
    outer: str = made.start("bash", "--norc", environment=tmux.environment)["id"]
    made.call("send_input", session=outer, text="tmux new-session -d -s own")
    assert wait_until(lambda: tmux.sessions() == ["own"])
    tmux.type("own", f"sh -c 'sleep 300; : {mark}'", "Enter")
    assert wait_until(lambda: not none_left(mark))
    tmux.ask("new-session", "-d", "-s", "mine", "exec cat")
    return outer


def test_tmux_sessions_of_its_own_go_with_it(both: Engine, tmux: OwnTmux, mark: str) -> None:
    outer = both.start("bash", "--norc", environment=tmux.environment)["id"]
    for name in ("one", "two"):
        both.call("send_input", session=outer, text=f"tmux new-session -d -s {name} 'sleep 300; : {mark}'")
    assert wait_until(lambda: tmux.sessions() == ["one", "two"])
    server = tmux.server()
    assert server is not None
    certificate = kill(both, outer)["certificate"]
    assert none_left(mark)
    assert not alive(*server)
    assert (certificate["spared"], certificate["survivors"], certificate["guarantee"]) == ([], [], both.guarantee)


def test_what_calls_itself_a_tmux_server_goes_with_it(both: Engine, mark: str) -> None:
    outer = both.start(sys.executable, "-c", FAKE_SERVER, mark, headless=True)["id"]
    both.call("wait_session", session=outer, until="text=up", timeout="60s")
    certificate = kill(both, outer)["certificate"]
    assert none_left(mark)
    assert (certificate["spared"], certificate["guarantee"]) == ([], both.guarantee)


def test_what_somebody_outside_is_attached_to_outlives_it(both: Engine, tmux: OwnTmux, mark: str) -> None:
    outer = with_tmux_of_two(both, tmux, mark)
    server = tmux.server()
    assert server is not None
    with tmux.attached("mine"):
        os.unlink(tmux.socket)  # a cleaner of temporary files was there: tmux makes it again when it is told to
        certificate = kill(both, outer)["certificate"]
        assert none_left(mark)
        assert alive(*server)
        assert tmux.sessions() == ["mine"]
        assert server[0] in {one["pid"] for one in certificate["spared"]}
        assert certificate["guarantee"] == both.guarantee


def test_what_somebody_was_attached_to_is_left_and_less_is_claimed(both: Engine, tmux: OwnTmux, mark: str) -> None:
    outer = with_tmux_of_two(both, tmux, mark)
    with tmux.attached("mine"):
        pass
    assert wait_until(lambda: tmux.say("#{session_attached}", "mine") == "0")
    certificate = kill(both, outer)["certificate"]
    assert none_left(mark)
    assert tmux.sessions() == ["mine"]
    assert certificate["guarantee"] == "best_effort"


# -- asking


@pytest.mark.alone
def test_asking_counts_from_the_first_asking(lit: Engine, mark: str) -> None:
    """However often the daemon dies meanwhile: what does not leave is ended all the same."""
    lit.environment["LAMPLIGHTER_ASK"] = "3s"
    stubborn = f"trap '' HUP; while :; do read line || sleep 0.05; done; : {mark}"
    session = lit.start("bash", "-c", stubborn, headless=True)["id"]
    asking = subprocess.Popen(
        [*lit.prefix, lit.python, "-m", "lamplighter.frontends.cli.main", "end", session, "--grace", "0s"],
        env=lit.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deaths, ended = 0, time.monotonic() + 120
    try:
        assert wait_until(lambda: lit.show(session)["state"] != "running")
        while lit.show(session)["state"] != "ended" and time.monotonic() < ended:
            lit.kill(lit.daemon())
            deaths += 1
            until = time.monotonic() + 1.0  # shorter than the time for asking
            wait_until(lambda until=until: time.monotonic() > until or lit.show(session)["state"] == "ended")
        assert lit.show(session)["state"] == "ended", f"{deaths} deaths of the daemon"
    finally:
        asking.kill()
        asking.wait()
    assert none_left(mark)


# -- a shim of 0.1.0


@pytest.mark.parametrize("driver", ["leaderless", "older-namespace"])
def test_a_shim_of_before_is_looked_after(mark: str, driver: str) -> None:
    """It knows of neither; the daemon does what it can, and claims less."""
    if driver == "older-namespace" and os.getuid() != 0:
        pytest.skip("only root enters a namespace without more ado")
    with aged_engine(FROZEN) as (made, _):
        if driver == "leaderless":
            command = [sys.executable, ESCAPEES, "leaderless", "--mark", mark]
            session = start_as_then(made, "old-1", command)
            made.call("wait_session", session=session, until="text=ready", timeout="60s")
            kill(made, session)
        else:
            with older_namespace(f"outside-{mark}") as init:
                session = start_as_then(made, "old-1", ["/bin/sh", *escape(init, f"in-{mark}", CGROUPS)[1:]])
                made.call("wait_session", session=session, until="text=away", timeout="60s")
                assert wait_until(lambda: marked(f"in-{mark}"))
                kill(made, session)
                assert none_left(f"in-{mark}")
        shown = made.show(session)
        assert shown["state"] == "ended"
        assert shown["ending"]["certificate"]["guarantee"] == "best_effort"
    assert wait_until(lambda: none_left(mark))


assert ctypes.sizeof(ctypes.c_void_p) == 8  # as the tracer's call takes it
