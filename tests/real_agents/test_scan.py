"""Real agents outside any session of ours, killed with things running: what they left is found, certain, and ended."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from lamplighter.agents import recognise
from lamplighter.holder import proc
from lamplighter.holder.proc import words_of
from tests.support.engine import Engine, engine
from tests.support.model import Gate, Hang, Run, Say
from tests.support.processes import Process, alive, touched, wait_until
from tests.support.staged import PATIENCE

if TYPE_CHECKING:
    from tests.support.staged import Stage

pytestmark = pytest.mark.agents

LEAVING = """
bash -c 'exec -a {mark}-background sleep 600' &
setsid bash -c 'exec -a {mark}-setsid sleep 600' &
nohup bash -c 'exec -a {mark}-kept sleep 600' > {log} 2>&1 < /dev/null &
bash -c 'exec -a {mark}-tool sleep 600'
"""
JOBS = ("background", "setsid", "kept", "tool")


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    with engine() as made:
        yield made


def leave(stage: Stage) -> subprocess.Popen[bytes]:
    """A headless turn under way whose tool has left all of them, and goes on."""
    script = stage.agent.home / "leaving.sh"
    script.write_text(LEAVING.format(mark=stage.mark, log=stage.agent.home / "kept.log"))
    stage.model.script = [[Run(f"bash {script}"), Hang(Gate()), Say("never said")]]
    with (stage.agent.home / "said").open("w") as said:
        running = subprocess.Popen(
            stage.agent.headless("leave things"),
            cwd=stage.agent.project,
            env=stage.agent.environment(),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    assert wait_until(lambda: {*JOBS, "server"} <= roles(stage), PATIENCE), (roles(stage), stage.model.said)
    return running


def roles(stage: Stage) -> set[str]:
    words = " ".join(" ".join(process.cmdline) for process in touched(stage.mark))
    return {name for name in (*JOBS, "server") if f"{stage.mark}-{name}" in words}


def kill_agents(stage: Stage, name: str) -> None:
    """KILL to every process that is the agent itself, at once."""
    agents = [one for one in touched(stage.mark) if _is(one, name)]
    for one in agents:
        os.kill(one.pid, signal.SIGKILL)
    assert wait_until(lambda: not any(alive(one.pid, one.start_ticks) for one in agents), 30)


def _is(process: Process, name: str) -> bool:
    program = recognise(list(process.cmdline))
    return program is not None and program.name == name and "--managed-daemon" not in process.cmdline


def mine(lit: Engine, stage: Stage) -> list[dict[str, Any]]:
    pids = {process.pid for process in touched(stage.mark)}
    leaks = lit.call("scan_host")["leaks"]
    home = str(stage.agent.home)
    return [
        leak
        for leak in leaks
        if pids & {each["pid"] for each in leak["processes"]} or any(home in file["path"] for file in leak["files"])
    ]


def others(name: str) -> list[int]:
    return [pid for pid in proc.all_pids() if (program := recognise(words_of(pid))) and program.name == name]


def unsaid(lit: Engine, stage: Stage) -> list[str]:
    """What is left and not found. Pipes are closed when the last thread is gone, a moment after the process seems to be."""
    said = {each["pid"] for leak in mine(lit, stage) for each in leak["processes"]}
    return [" ".join(one.cmdline) for one in touched(stage.mark) if one.pid not in said]


def test_what_a_killed_agent_leaves_is_certain_and_ended(stage: Callable[..., Stage], lit: Engine) -> None:
    staged = stage(lit)
    staged.agent.serve("stubborn", staged.stubborn("mcp"))
    running = leave(staged)
    assert mine(lit, staged) == [], "while it lives nothing is a leak"
    kill_agents(staged, staged.agent.name)
    running.wait()
    assert wait_until(lambda: not any(_is(one, staged.agent.name) for one in touched(staged.mark)), 30)
    assert wait_until(lambda: not unsaid(lit, staged), 30), unsaid(lit, staged)
    leaks = mine(lit, staged)
    said = {each["pid"]: leak["certainty"] for leak in leaks for each in leak["processes"]}
    likely = {one.cmdline[0] for one in touched(staged.mark) if said[one.pid] == "likely"}
    # With another of its kind alive on this machine it cannot be told which one they are of, unless the agent says so itself.
    if staged.agent.name != "gemini" or not others(staged.agent.name):
        # Codex's servers have no mark: only its name says of one that it is a server.
        server = {staged.stubborn()[0]} if staged.agent.name == "codex" else set[str]()
        assert likely == {f"{staged.mark}-kept", *server}, leaks
    ids = ",".join(leak["id"] for leak in leaks)
    plan = lit.call("cleanup_sessions", leaks=True, selection=ids, grace="1s")["plan"]
    rows = lit.call("cleanup_sessions", apply=plan)["rows"]
    assert {row["outcome"] for row in rows} == {"ended"}
    assert touched(staged.mark) == []
    assert mine(lit, staged) == []


def test_the_daemon_that_codex_leaves(stage: Callable[..., Stage], lit: Engine) -> None:
    """It is in use while its terminal lives, and a leak when that is gone."""
    staged = stage(lit)
    if staged.agent.name != "codex":
        pytest.skip("only Codex leaves one")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(staged.agent.project)
        words = staged.agent.terminal()
        os.execvpe(words[0], words, staged.agent.environment())
    try:
        assert wait_until(lambda: daemons(staged), PATIENCE)
        assert mine(lit, staged) == []
        kill_agents(staged, "codex")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    assert wait_until(lambda: mine(lit, staged), 60)
    (leak,) = mine(lit, staged)
    assert (leak["certainty"], leak["processes"][0]["kind"]) == ("certain", "agent daemon")
    plan = lit.call("cleanup_sessions", leaks=True, selection=leak["id"], grace="1s")["plan"]
    lit.call("cleanup_sessions", apply=plan)
    assert wait_until(lambda: touched(staged.mark) == []), touched(staged.mark)


def daemons(stage: Stage) -> list[Process]:
    return [one for one in touched(stage.mark) if "--managed-daemon" in one.cmdline]
