"""Sessions whose agent has its tools run by a daemon that it shares with others: what an end reaches, names and spares."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import LampError
from lamplighter.holder import proc
from tests.support import shared_daemon
from tests.support.engine import Engine
from tests.support.fixtures import engine_for
from tests.support.processes import Process, touched, wait_until

pytestmark = pytest.mark.shared


@dataclass
class Agency:
    """An agent of which all share a daemon, in a home of its own; `tools` are what the daemon runs."""

    lit: Engine
    home: Path

    @property
    def program(self) -> list[str]:
        return [sys.executable, str(self.home / "codex")]

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "CODEX_HOME": str(self.home), "HOME": str(self.home)}

    def start(self, *words: str) -> str:
        started = self.lit.call(
            "start_session", command=[*self.program, *words], cwd=str(self.home), environment=self.environment
        )
        return started["id"]

    def at_work(self) -> tuple[str, str]:
        """A session and its conversation, for which the daemon runs a tool."""
        conversation = str(uuid.uuid4())
        session = self.start("resume", conversation)
        assert wait_until(lambda: self.tools(conversation)), self.lit.output(session)
        assert wait_until(lambda: self.lit.show(session)["conversation"])
        return session, conversation

    def tools(self, conversation: str) -> list[Process]:
        mark = f"CODEX_THREAD_ID={conversation}".encode()
        return [one for one in touched(str(self.home)) if mark in _environment(one.pid) and one.state not in "ZX"]

    def daemons(self) -> list[Process]:
        return [one for one in touched(str(self.home)) if "--managed-daemon" in one.cmdline]

    def found(self, pid: int) -> list[dict[str, Any]]:
        leaks = self.lit.call("scan_host")["leaks"]
        return [leak for leak in leaks if pid in {each["pid"] for each in leak["processes"]}]

    def asked(self) -> list[str]:
        file = self.home / "asked"
        return file.read_text().splitlines() if file.exists() else []

    def is_put_away(self, conversation: str) -> bool:
        return (self.home / f"archived-{conversation}").exists()

    def leave(self, session: str, conversation: str) -> dict[str, Any]:
        """The agent exits by itself; its certificate."""
        (self.home / f"leave-{conversation}").touch()
        assert wait_until(lambda: self.lit.show(session)["state"] == "ended")
        return self.lit.show(session)["ending"]["certificate"]

    def kill(self, session: str) -> dict[str, Any]:
        return self.lit.call("kill_session", session=session, grace="1s", force=True)["certificate"]


def _environment(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


@pytest.fixture
def agency(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agency]:
    home = tmp_path / f"mark-{uuid.uuid4().hex}"
    home.mkdir()
    shutil.copyfile(shared_daemon.__file__, home / "codex")
    try:
        with engine_for(request) as lit:
            made = Agency(lit, home)
            try:
                yield made
            finally:
                end(made.daemons())  # spared, as it should be
    finally:
        end(touched(str(home)))  # and what it ran for others


def end(processes: list[Process]) -> None:
    for one in processes:
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)


@pytest.fixture
def users(agency: Agency) -> Iterator[Process]:
    """A daemon of the user's own, in no session."""
    words = [*agency.program, "app-server", "--listen", "unix://", "--managed-daemon"]
    running = subprocess.Popen(words, env=agency.environment, start_new_session=True)
    try:
        assert wait_until(lambda: (agency.home / "sock").exists())
        (daemon,) = agency.daemons()
        yield daemon
    finally:
        running.kill()
        running.wait()


def test_a_conversation_in_the_users_daemon(agency: Agency, users: Process) -> None:
    """Its tool ends in the agent's own way; the daemon and what it runs for others stay; the certificate claims no more."""
    other, others = agency.at_work()
    session, conversation = agency.at_work()
    certificate = agency.kill(session)
    first = [f"archive {conversation}", f"unarchive {conversation}"]
    assert agency.asked() == [*first, *first]  # before anything is signalled, and once more where the end is recorded
    assert not agency.is_put_away(conversation)
    assert (agency.tools(conversation), certificate["survivors"]) == ([], [])
    assert certificate["guarantee"] == "best_effort"
    (spared,) = certificate["spared"]
    assert spared["pid"] == users.pid
    assert "was told to stop this conversation" in spared["why"]
    assert agency.tools(others)
    agency.kill(other)
    assert [one.pid for one in agency.daemons()] == [users.pid]


def test_a_daemon_that_does_not_listen(agency: Agency, users: Process) -> None:
    """What carries the conversation is ended all the same, and the certificate says that the daemon was not told."""
    session, conversation = agency.at_work()
    (agency.home / "deaf").touch()
    (tool,) = agency.tools(conversation)
    certificate = agency.kill(session)
    assert agency.tools(conversation) == []
    assert certificate["guarantee"] == "best_effort"
    assert tool.pid in {one["pid"] for one in certificate["processes"]}
    assert "could not be told" in certificate["spared"][0]["why"]


def test_what_a_daemon_runs_for_nobody_is_found(agency: Agency, users: Process) -> None:
    """The terminal is killed by somebody; while it was there, nothing was a leak."""
    conversation = str(uuid.uuid4())
    terminal = subprocess.Popen(
        [*agency.program, "resume", conversation], cwd=agency.home, env=agency.environment, stdout=subprocess.DEVNULL
    )
    assert wait_until(lambda: agency.tools(conversation))
    (tool,) = agency.tools(conversation)
    assert agency.found(tool.pid) == []
    terminal.kill()
    terminal.wait()
    assert wait_until(lambda: agency.found(tool.pid))  # once the daemon has noticed that its client is gone
    (leak,) = agency.found(tool.pid)
    assert (leak["certainty"], leak["agent"], leak["session"]) == ("likely", "codex", conversation)
    assert f"codex's daemon {users.pid} runs it" in leak["why"][0]
    os.kill(tool.pid, signal.SIGKILL)


def test_the_turn_is_stopped_before_the_terminal(agency: Agency, users: Process) -> None:
    """While the daemon is being told, nothing of the session was signalled yet."""
    session, conversation = agency.at_work()
    main = agency.lit.show(session)["pid"]
    (agency.home / "slow").touch()
    with ThreadPoolExecutor() as pool:
        killing = pool.submit(agency.kill, session)
        assert wait_until(lambda: agency.is_put_away(conversation))
        assert proc.start_of(main) is not None
        (agency.home / "slow").unlink()
        assert killing.result()["guarantee"] == "best_effort"


@pytest.mark.parametrize("stays", [True, False])
def test_a_daemon_killed_while_a_conversation_is_put_away(agency: Agency, users: Process, stays: bool) -> None:
    """The next one takes it back, also when the agent's own daemon is gone by then."""
    session, conversation = agency.at_work()
    (agency.home / "slow").touch()
    with ThreadPoolExecutor() as pool:
        killing = pool.submit(agency.kill, session)
        assert wait_until(lambda: agency.is_put_away(conversation))
        agency.lit.kill(agency.lit.daemon())
        if not stays:
            os.kill(users.pid, signal.SIGKILL)
        (agency.home / "slow").unlink()
        with suppress(LampError):
            killing.result()
    assert wait_until(lambda: agency.lit.show(session)["state"] == "ended")
    assert not agency.is_put_away(conversation)
    certificate = agency.lit.show(session)["ending"]["certificate"]
    assert certificate["guarantee"] == "best_effort"
    assert ["was told to stop" in one["why"] for one in certificate.get("spared", [])] == [True] * stays
    assert agency.tools(conversation) == []


def test_what_its_user_has_put_away_stays_so(agency: Agency, users: Process) -> None:
    session, conversation = agency.at_work()
    (agency.home / f"archived-{conversation}").touch()
    agency.kill(session)
    assert agency.is_put_away(conversation)


@pytest.mark.parametrize(
    "words", [("-c", 'projects./dev/null.trust_level="untrusted"'), ("--no-daemon",), ("exec", "it")]
)
def test_one_that_is_known_to_stay_apart_has_no_part_in_it(
    agency: Agency, users: Process, words: tuple[str, ...]
) -> None:
    session = agency.start(*words)
    assert wait_until(lambda: agency.lit.show(session)["state"] == "ended")
    certificate = agency.lit.show(session)["ending"]["certificate"]
    assert certificate["guarantee"] in ("kernel", "tree")
    assert (certificate["spared"], agency.asked()) == ([], [])


def test_a_daemon_that_a_session_started_is_spared_while_it_serves_others(agency: Agency) -> None:
    first, own = agency.at_work()
    second, others = agency.at_work()
    (daemon,) = agency.daemons()
    certificate = agency.kill(first)
    assert agency.tools(own) == []
    assert agency.tools(others)
    assert [one.pid for one in agency.daemons()] == [daemon.pid]
    assert certificate["guarantee"] == "best_effort"
    assert daemon.pid in {one["pid"] for one in certificate["spared"]}
    agency.kill(second)
    assert agency.tools(others) == []


def test_a_daemon_stays_when_the_session_that_started_it_exits(agency: Agency) -> None:
    first, own = agency.at_work()
    _, others = agency.at_work()
    (daemon,) = agency.daemons()
    certificate = agency.leave(first, own)
    assert [one.pid for one in agency.daemons()] == [daemon.pid]
    assert (agency.tools(own), len(agency.tools(others))) == ([], 1)
    assert certificate["guarantee"] == "best_effort"
    assert daemon.pid in {one["pid"] for one in certificate["spared"]}


def test_a_daemon_that_nobody_is_connected_to_is_not_spared(agency: Agency) -> None:
    """That another terminal of its agent is there says nothing: what counts is who is connected to it."""
    session, conversation = agency.at_work()
    (daemon,) = agency.daemons()
    words = [*agency.program, "resume", str(uuid.uuid4())]
    (agency.home / "sock").rename(agency.home / "sock-of-the-first")
    with subprocess.Popen(words, cwd=agency.home, env=agency.environment, stdout=subprocess.DEVNULL) as other:
        assert wait_until(lambda: agency.tools(words[-1]))
        (apart,) = [one for one in agency.daemons() if one.pid != daemon.pid]
        certificate = agency.kill(session)
        assert [one.pid for one in agency.daemons()] == [apart.pid]
        assert agency.tools(conversation) == []
        assert daemon.pid in {one["pid"] for one in certificate["processes"]}
        os.kill(apart.pid, signal.SIGKILL)
        for tool in agency.tools(words[-1]):
            os.kill(tool.pid, signal.SIGKILL)
        other.kill()


_POSES = """
import os, socket, time
if os.fork() == 0:
    os.setsid()
    listener, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listener.bind("own")
    listener.listen()
    os.unlink("own")
    client.bind("own")
    client.connect("others")
    open("posing", "w").write(str(os.getpid()))
time.sleep(600)
"""


def test_one_that_poses_as_a_daemon_is_not_spared(agency: Agency, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the words, a socket that it listens at, and by that name a connection to a server outside: that is no client."""
    monkeypatch.chdir(agency.home)
    with socket.socket(socket.AF_UNIX) as others:
        others.bind("others")
        others.listen()
        words = ["-c", _POSES, "codex", "app-server", "--listen", "unix://", "--managed-daemon"]
        session = agency.lit.start(sys.executable, *words, cwd=str(agency.home))["id"]
        posing = agency.home / "posing"
        assert wait_until(lambda: posing.exists() and posing.read_text())
        with others.accept()[0]:
            certificate = agency.kill(session)
    assert int(posing.read_text()) in {one["pid"] for one in certificate["processes"]}
    assert not certificate.get("spared")


@pytest.mark.parametrize(
    "words", [("-c", "features.any=true"), ("-c", "features.daemon_auto_start=true"), ("-c", "a=b")]
)
def test_settings_that_may_leave_it_in_the_users_daemon(agency: Agency, users: Process, words: tuple[str, ...]) -> None:
    session = agency.start(*words)
    assert wait_until(lambda: agency.lit.show(session)["state"] == "ended")
    certificate = agency.lit.show(session)["ending"]["certificate"]
    assert certificate["guarantee"] == "best_effort"
    assert [one["pid"] for one in certificate["spared"]] == [users.pid]


def test_a_daemon_that_serves_nobody_else_goes_with_its_session(agency: Agency) -> None:
    session, conversation = agency.at_work()
    certificate = agency.kill(session)
    assert (agency.daemons(), agency.tools(conversation)) == ([], [])
    assert certificate["guarantee"] in ("kernel", "tree")
