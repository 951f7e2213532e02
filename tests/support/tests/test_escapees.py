"""The escapees are what they are called, outlive what they should, and can all be found and ended by their token."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.support import escapees, processes
from tests.support.places import ROOT

RESTING = tuple(name for name in escapees.ESCAPEES if name not in ("hopper", "bomb"))
OUTSIDE_GROUP = {"background", "setsid", "setsid-scrubbed", "daemon", "daemon-scrubbed"}
OUTSIDE_SESSION = OUTSIDE_GROUP - {"background"}
ORPHANED = {"orphan", "daemon", "daemon-scrubbed"}
SCRUBBED = {"setsid-scrubbed", "daemon-scrubbed"}


@dataclass
class Launched:
    """A run of the program, in a session of its own, and what it said of itself."""

    main: subprocess.Popen[str]
    token: str
    report: dict[str, list[dict[str, int | str]]]

    def pid(self, name: str) -> int:
        return next(int(entry["pid"]) for entry in self.report["escapees"] if entry["name"] == name)

    def living(self) -> set[str]:
        """The names of those that live where they were reported."""
        entries = self.report["escapees"]
        return {str(e["name"]) for e in entries if processes.alive(int(e["pid"]), int(e["start_ticks"]))}

    def found(self) -> list[processes.Process]:
        """Those that a scan finds, without the main process."""
        return [process for process in processes.marked(self.token) if process.pid != self.main.pid]


Launch = Callable[..., Launched]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Start the program; end everything that carries its token afterwards, and see that nothing is left."""
    launched: list[Launched] = []
    tokens: list[str] = []

    def start(*arguments: str, program: tuple[str, ...] = (escapees.__file__,)) -> Launched:
        token, report = f"escapee-{uuid.uuid4().hex}", tmp_path / f"{len(tokens)}.json"
        tokens.append(token)
        command = [sys.executable, *program, *arguments, "--mark", token, "--report", str(report)]
        main = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, "MARKER": token}
        )
        assert main.stdout is not None
        assert main.stdout.readline() == "ready\n"
        run = Launched(main, token, json.loads(report.read_text()))
        launched.append(run)
        return run

    yield start
    survivors = [process for token in tokens for process in processes.end_marked(token)]
    for run in launched:
        run.main.communicate(timeout=200)
    assert survivors == []


def ignored_signals(pid: int) -> set[int]:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn:"))
    mask = int(line.split()[1], 16)
    return {number for number in range(1, 32) if mask >> (number - 1) & 1}


def environment(pid: int) -> bytes:
    """What it was started with, by its newest thread: the main one may have left."""
    newest = max(os.listdir(f"/proc/{pid}/task"), key=int)
    return Path(f"/proc/{pid}/task/{newest}/environ").read_bytes()


@pytest.mark.parametrize("name", RESTING)
def test_each_is_what_it_is_called(launch: Launch, name: str) -> None:
    run = launch(name)
    pid, main = run.pid(name), run.main.pid
    process = processes.inspect(pid)
    assert process is not None
    assert [found.pid for found in run.found()] == [pid]
    assert (process.state == "T") == (name == "stopped")
    assert (os.getpgid(pid) != main) == (name in OUTSIDE_GROUP)
    assert (os.getsid(pid) != main) == (name in OUTSIDE_SESSION)
    assert (psutil.Process(pid).ppid() != main) == (name in ORPHANED)
    assert (environment(pid) == b"") == (name in SCRUBBED)
    assert (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z") == (name == "leaderless")
    ignores = ignored_signals(pid)
    assert (signal.SIGHUP in ignores) == (name in {"nohup", "deaf", "leaderless"})
    assert ({signal.SIGTERM, signal.SIGINT} <= ignores) == (name in {"deaf", "leaderless"})
    if name.startswith("daemon"):
        assert {os.readlink(f"/proc/{pid}/fd/{number}") for number in range(3)} == {"/dev/null"}


def test_all_outlive_the_main_process(launch: Launch) -> None:
    run = launch(*RESTING)
    run.main.terminate()
    assert run.main.wait(timeout=200) == -signal.SIGTERM
    assert run.living() == set(RESTING)


def test_a_group_kill_misses_those_outside_the_group(launch: Launch) -> None:
    run = launch(*RESTING)
    os.killpg(run.main.pid, signal.SIGTERM)
    os.killpg(run.main.pid, signal.SIGKILL)
    run.main.wait(timeout=200)
    assert processes.wait_until(lambda: run.living() == OUTSIDE_GROUP), run.living()


def test_a_hangup_misses_those_that_ignore_it(launch: Launch) -> None:
    names = [name for name in RESTING if name != "stopped"]
    run = launch(*names)
    os.killpg(run.main.pid, signal.SIGHUP)
    run.main.wait(timeout=200)
    assert processes.wait_until(lambda: run.living() == OUTSIDE_GROUP | {"nohup", "deaf", "leaderless"}), run.living()


def test_a_session_scan_misses_those_outside_the_session(launch: Launch) -> None:
    run = launch(*RESTING)
    for process in run.found():
        if os.getsid(process.pid) == run.main.pid:
            os.kill(process.pid, signal.SIGKILL)
    assert processes.wait_until(lambda: run.living() == OUTSIDE_SESSION), run.living()


def test_a_walk_over_children_misses_orphans(launch: Launch) -> None:
    run = launch(*RESTING)
    for child in psutil.Process(run.main.pid).children(recursive=True):
        child.kill()
    assert processes.wait_until(lambda: run.living() == ORPHANED), run.living()


def test_an_environment_marker_misses_the_scrubbed(launch: Launch) -> None:
    run = launch(*RESTING)
    for process in run.found():
        if f"MARKER={run.token}".encode() in environment(process.pid):
            os.kill(process.pid, signal.SIGKILL)
    assert processes.wait_until(lambda: run.living() == SCRUBBED), run.living()


def test_the_hopper_moves_on_and_outlives_a_group_kill(launch: Launch) -> None:
    run = launch("hopper")
    os.killpg(run.main.pid, signal.SIGKILL)
    run.main.wait(timeout=200)
    places: set[int] = set()

    def hopped() -> bool:
        places.update(process.pid for process in run.found())
        return len(places) >= 5

    assert processes.wait_until(hopped)
    assert all(not processes.alive(int(e["pid"]), int(e["start_ticks"])) for e in run.report["escapees"])


def test_the_bomb_is_full_and_fills_up_again(launch: Launch) -> None:
    run = launch("bomb")
    assert len(run.found()) == escapees.BOMB_SIZE
    for process in run.found()[:100]:
        os.kill(process.pid, signal.SIGKILL)
    assert processes.wait_until(lambda: len(run.found()) == escapees.BOMB_SIZE)
    assert all({signal.SIGTERM, signal.SIGHUP} <= ignored_signals(process.pid) for process in run.found()[:5])


def test_all_at_once_are_found_and_ended_by_their_token(launch: Launch) -> None:
    run = launch("all")
    assert {str(entry["name"]) for entry in run.report["escapees"]} == set(escapees.ESCAPEES)
    assert processes.end_marked(run.token) == []
    assert run.living() == set()


def test_exit_leaves_the_escapees_behind(launch: Launch) -> None:
    run = launch("daemon", "setsid", "--exit", "7")
    assert run.main.wait(timeout=200) == 7
    assert run.living() == {"daemon", "setsid"}


def test_they_end_by_themselves_even_when_stopped(launch: Launch) -> None:
    run = launch("stopped", "deaf", "daemon-scrubbed", "hopper", "--lifetime", "4")
    assert run.living() >= {"stopped", "deaf"}
    assert processes.wait_until(lambda: processes.none_left(run.token))


def test_it_runs_as_a_module_too(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    run = launch("plain", "setsid-scrubbed", program=("-m", "tests.support.escapees"))
    assert run.living() == {"plain", "setsid-scrubbed"}


def test_an_unknown_name_is_refused() -> None:
    done = subprocess.run([sys.executable, escapees.__file__, "nobody"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "name one or more of plain, nohup" in done.stderr
