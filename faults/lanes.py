"""Runs scenes, a few at a time, each in a process of its own with a limit; ends whatever a scene left, by its token."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.plan import Scene
from faults.stage import new_token
from tests.support.ordinary import UID, find_python
from tests.support.processes import alive, end_marked, touched

ROOT = Path(__file__).resolve().parents[1]
_BASE_SECONDS, _FAULT_SECONDS = 240.0, 12.0
_BECOME = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]


@dataclass
class Outcome:
    """What came of a scene. `kept` is where its engine and its steps can be looked at, when something did not hold."""

    scene: Scene
    seconds: float
    counted: dict[str, int] = field(default_factory=dict[str, int])
    violations: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    refusals: dict[str, int] = field(default_factory=dict[str, int])
    failure: str = ""
    kept: str = ""


class Lanes:
    def __init__(self, number: int, *, plant: bool = False) -> None:
        self.number = number
        self.plant = plant
        self.folder = Path(tempfile.mkdtemp(prefix="faults-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.python = {"root": sys.executable, "ordinary": sys.executable}
        if os.getuid() == 0:
            self.python["ordinary"] = find_python() or ""
        self._tokens: dict[str, Path] = {}
        self._players: list[subprocess.Popen[bytes]] = []
        self._stopping = False

    @property
    def users(self) -> list[str]:
        """Root can be somebody else; nobody else can."""
        if os.getuid() != 0:
            return ["ordinary"]
        return ["root", "ordinary"] if self.python["ordinary"] else ["root"]

    def run(self, scenes: list[Scene]) -> Iterator[Outcome]:
        with ThreadPoolExecutor(self.number) as pool:
            jobs = [pool.submit(self._one, scene) for scene in scenes]
            try:
                for job in as_completed(jobs):
                    if (outcome := job.result()) is not None:
                        yield outcome
            except BaseException:
                self._stopping = (
                    True  # no scene begins any more; those that are under way are ended, and their threads with them
                )
                for player in list(self._players):
                    player.kill()
                raise

    def close(self) -> None:
        """Nothing that a scene began outlives the campaign. What is kept for a look stays."""
        for token, report in list(self._tokens.items()):
            _sweep(token, report)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _one(self, scene: Scene) -> Outcome | None:
        if self._stopping:
            return None
        token = new_token()
        report = self.folder / f"{scene.kind}-{scene.number}"
        report.mkdir()
        if os.getuid() == 0 and scene.user == "ordinary":
            os.chown(report, UID, UID)
        self._tokens[token] = report
        began = time.monotonic()
        outcome = Outcome(scene, 0.0)
        late = self._play(scene, token, report)
        left = _sweep(token, report)
        self._tokens.pop(token)
        outcome.seconds = time.monotonic() - began
        self._fill(outcome, report, late, left)
        return outcome

    def _play(self, scene: Scene, token: str, report: Path) -> bool:
        """Whether it had to be ended for taking too long."""
        become = _BECOME if os.getuid() == 0 and scene.user == "ordinary" else []
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), *(one for one in sys.path if one.endswith("-packages"))])
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": "/tmp"}
        if become:
            environment["HOME"] = str(report)
        told = json.dumps({**dataclasses.asdict(scene), "token": token, "report": str(report), "plant": self.plant})
        with open(report / "said", "wb") as said:
            player = subprocess.Popen(
                [*become, self.python[scene.user], "-m", "faults.scene"],
                stdin=subprocess.PIPE, stdout=said, stderr=said, env=environment, cwd="/", start_new_session=True,
            )  # fmt: skip
            self._players.append(player)
            try:
                player.communicate(told.encode(), _BASE_SECONDS + _FAULT_SECONDS * scene.faults)
            except subprocess.TimeoutExpired:
                player.kill()
                player.wait()
                return True
            finally:
                self._players.remove(player)
        return False

    def _fill(self, outcome: Outcome, report: Path, late: bool, left: list[str]) -> None:
        document: dict[str, Any] = {}
        with suppress(FileNotFoundError):
            document = json.loads((report / "outcome").read_text())
        for name, value in document.items():
            setattr(outcome, name, value)
        if late:
            outcome.violations.append(
                {"rule": "every call is answered", "text": "the scene did not come to its end in time"}
            )
        elif not document:
            outcome.failure = (report / "said").read_text()[-2000:]
        if left and not outcome.violations and not outcome.failure:
            outcome.violations.append(
                {"rule": "no process is left unnamed", "text": f"left after the scene: {left[:5]}"}
            )
        if outcome.violations or outcome.failure:
            outcome.kept = str(report)
        else:
            shutil.rmtree(report)


def _sweep(token: str, report: Path) -> list[str]:
    """End whatever carries the token, or was started with the scene's home; what had to be ended."""
    words = [token]
    with suppress(FileNotFoundError):
        words.append((report / "home").read_text())
    left: list[str] = []
    end_marked(token, 20)
    for _ in range(20):
        found = [process for word in words for process in touched(word)]
        if not found:
            break
        for process in found:
            left.append(f"{process.pid} {' '.join(process.cmdline)[:80]}")
            with suppress(ProcessLookupError):
                if alive(process.pid, process.start_ticks):
                    os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.05)
    for word in words[1:]:
        mounted = subprocess.run(["mountpoint", "-q", word], check=False).returncode == 0
        if mounted:
            subprocess.run(["umount", "-l", word], check=False)
    return left
