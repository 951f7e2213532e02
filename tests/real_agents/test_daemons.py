"""Daemons that agents share: what we start has none, and where somebody's is shared an ending says what it reaches.

What lives is found in /proc, by the home folder that all of it carries.
"""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from tests.support.engine import Engine, engine
from tests.support.model import Gate, Hang, Say
from tests.support.processes import Process, alive, touched, wait_until
from tests.support.staged import JOBS, PATIENCE

if TYPE_CHECKING:
    from tests.support.staged import Stage

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    with engine() as made:
        yield made


@pytest.fixture
def codex(stage: Callable[..., Stage], lit: Engine, request: pytest.FixtureRequest) -> Stage:
    if "codex" not in request.node.name:
        pytest.skip("only Codex shares one by itself")
    return stage(lit)


@contextmanager
def outside(stage: Stage) -> Generator[int]:
    """The agent in a terminal that is nobody's session, at its prompt; all of it is killed afterwards."""
    before = {(one.pid, one.start_ticks) for one in touched(stage.mark)}
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(stage.agent.project)
        words = stage.agent.terminal()
        os.execvpe(words[0], words, stage.agent.environment())
    reader = Thread(target=_answer, args=(terminal,), daemon=True)
    reader.start()
    try:
        assert wait_until(lambda: daemons(stage), PATIENCE)
        yield pid
    finally:
        for one in touched(stage.mark):
            if (one.pid, one.start_ticks) not in before:
                with suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        reader.join(30)
        os.close(terminal)


def _answer(terminal: int) -> None:
    """As a terminal does: takes what is drawn, and says where the cursor is."""
    with suppress(OSError):
        while select.select([terminal], [], [], 60)[0]:
            drawn = os.read(terminal, 1 << 16)
            if not drawn:
                return
            if b"\x1b[6n" in drawn:
                os.write(terminal, b"\x1b[1;1R")


def daemons(stage: Stage) -> list[Process]:
    return [one for one in touched(stage.mark) if {"--managed-daemon", "--listen"} <= set(one.cmdline)]


def jobs(stage: Stage) -> list[Process]:
    """Of what a turn leaves and runs, and the servers that it was given."""
    return [one for one in stage.left() if any(f"{stage.mark}-{job}" in word for job in JOBS for word in one.cmdline)]


def at_work(stage: Stage, **arguments: object) -> str:
    """A session in a terminal whose turn has left jobs and runs a tool."""
    stage.model.script = [[*stage.jobs(), Hang(Gate()), Say("never said")]]
    session = stage.terminal("leave things", **arguments)
    wanted = stage.expected() - {"server"}
    assert wait_until(lambda: stage.roles() >= wanted, PATIENCE), (stage.roles(), stage.told(session))
    return session


def test_what_we_start_is_no_part_of_the_users_daemon(codex: Stage, lit: Engine) -> None:
    """A codex of the user's runs beside it: neither its daemon nor its terminal is touched, and nothing of ours is left."""
    with outside(codex):
        (daemon,) = daemons(codex)
        session = at_work(codex)
        told = lit.call("kill_session", session=session, grace="1s", force=True)
        assert jobs(codex) == []
        assert told["certificate"]["guarantee"] == lit.show(session)["guarantee"]
        assert len(told["certificate"]["processes"]) > 2
        assert alive(daemon.pid, daemon.start_ticks)


def test_two_that_we_start_have_nothing_in_common(codex: Stage, lit: Engine) -> None:
    """The first never has a turn: its end touches nothing of the second, and it is in no conversation."""
    first = codex.terminal()
    assert codex.shows(first, codex.agent.prompts[0]), codex.told(
        first
    )  # two that are first in a home make its database at once
    second = at_work(codex)
    assert wait_until(lambda: lit.show(second)["conversation"], PATIENCE)
    assert lit.show(first)["conversation"] is None
    before = {(one.pid, one.start_ticks) for one in jobs(codex)}
    told = lit.call("end_session", session=first, grace="1s")
    assert (told["state"], daemons(codex)) == ("ended", [])
    assert before <= {(one.pid, one.start_ticks) for one in jobs(codex)}
    ended = lit.show(first)
    assert ended["conversation"] is None
    assert not ended["tokens"]


def plainly_at_work(stage: Stage) -> str:
    """As `at_work`, by a command line of the user's own, which is run as it is."""
    stage.model.script = [[*stage.jobs(), Hang(Gate()), Say("never said")]]
    command = [*stage.agent.program(), "leave things"]
    session = stage.terminal(None, agent=None, model=None, command=command)
    wanted = stage.expected() - {"server"}
    assert wait_until(lambda: stage.roles() >= wanted, PATIENCE), (stage.roles(), stage.told(session))
    return session


@pytest.mark.parametrize("act", ["end", "kill"])
def test_a_conversation_in_the_users_daemon_is_stopped_there(codex: Stage, lit: Engine, act: str) -> None:
    """The words were given as they are, so the user's daemon runs its tools: they end, and the daemon stays."""
    with outside(codex):
        (daemon,) = daemons(codex)
        session = plainly_at_work(codex)
        assert wait_until(lambda: lit.show(session)["conversation"], PATIENCE)
        if act == "kill":
            told = lit.call("kill_session", session=session, grace="1s", force=True)
        else:
            told = lit.call("end_session", session=session, grace="1s")
        certificate = told["certificate"]
        assert jobs(codex) == [], told
        assert certificate["guarantee"] == "best_effort"
        assert daemon.pid in {one["pid"] for one in certificate["spared"]}, certificate
        assert "was told to stop this conversation" in certificate["spared"][0]["why"]
        assert alive(daemon.pid, daemon.start_ticks)
        resumed = codex.terminal(resume=lit.show(session)["conversation"]["id"])
        assert codex.shows(resumed, "leave things"), codex.told(resumed)


@pytest.fixture
def claude(stage: Callable[..., Stage], lit: Engine, request: pytest.FixtureRequest) -> Iterator[Stage]:
    if "claude" not in request.node.name:
        pytest.skip("only Claude Code has jobs in its daemon")
    made = stage(lit)
    try:
        yield made
    finally:
        asked(made, "daemon", "stop", "--any")
        assert wait_until(lambda: not touched(made.mark), PATIENCE)  # its last hosts go some seconds later


def asked(stage: Stage, *words: str) -> str:
    """What the agent's own program prints."""
    return subprocess.run(
        [*stage.agent.program(), *words],
        cwd=stage.agent.project,
        env=stage.agent.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


def test_a_job_in_the_daemon_is_stopped_there(claude: Stage, lit: Engine) -> None:
    """A worker that is killed is started anew by its daemon, and runs its command again; one that was stopped is not."""
    claude.model.script = [[*claude.jobs(), Hang(Gate()), Say("never said")]]
    asked(claude, "--bg", "leave things")
    wanted = claude.expected() - {"server"}
    assert wait_until(lambda: claude.roles() >= wanted, PATIENCE), claude.roles()
    (job,) = json.loads(asked(claude, "agents", "--json"))
    session = lit.call("adopt_session", target=str(job["pid"]))["id"]
    assert wait_until(lambda: (lit.show(session)["conversation"] or {}).get("id") == job["sessionId"], PATIENCE)
    certificate = lit.call("kill_session", session=session, grace="1s", force=True)["certificate"]
    assert jobs(claude) == []
    assert "was told to stop this conversation" in certificate["spared"][0]["why"]
    (ended,) = json.loads(asked(claude, "agents", "--json", "--all"))
    assert (ended["id"], ended["state"], ended.get("pid")) == (job["id"], "stopped", None)
