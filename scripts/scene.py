"""A day of two projects, for pictures: real sessions with plain commands, some of them ended, with what they handed over.

Goes by a clock of its own, so that a day is over in seconds. Knows the engine's operations; knows nothing of the page.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.support import asker
from tests.support.clockwork import FOLDER, Clockwork
from tests.support.engine import Engine, engine
from tests.support.processes import wait_until

HOURS = 3600.0
_DAY = 10 * HOURS
_QUIET = "exec sleep 86400"
_BUSY = (
    "while :; do printf '\\033[2m%s\\033[0m indexed part %d\\n' \"$(date +%H:%M:%S)\" $((n = n + 1)); sleep 0.5; done"
)
_TESTS = r"""
printf '\033[1mtests/api\033[0m\n'
for name in login refresh logout upload 'upload of 0 bytes' search; do printf '  \033[32mpassed\033[0m  %s\n' "$name"; done
printf '  \033[31mFAILED\033[0m  search with umlauts: expected \033[32m"Zürich"\033[0m, got \033[31m"Z?rich"\033[0m\n'
printf '\n\033[1;31m1 failed\033[0m, \033[32m6 passed\033[0m in 3.1 s\n\n'
"""
_REVIEW = r"""
printf '\033[1mReviewing docs/\033[0m  14 files\n\n'
printf '  \033[32m✓\033[0m install.md      every command runs\n  \033[32m✓\033[0m sessions.md     no dead link\n'
printf '  \033[33m!\033[0m limits.md       says 30 m, the setting says 45 m\n'
printf '  \033[32m✓\033[0m names.md        Zürich and naïve are as wide as they are\n'
while :; do printf '\r  \033[36m…\033[0m handoff.md      reading, %d s' $((n = n + 1)); sleep 1; done
"""
_PROGRESS = "while :; do printf '\\033[32m.\\033[0m'; sleep 0.3; done"
_ASKS = "printf '4 changes since yesterday.\\nDeploy them to staging? [y/N] '; read answer"


class Scene:
    """What was started, by name."""

    def __init__(self, made: Engine) -> None:
        self.engine = made
        self.clock = Clockwork(made.folder)
        self.sessions: dict[str, str] = {}

    def start(self, name: str, script: str, project: str, *, command: str = "", **more: Any) -> str:
        """As `command`, or a program of that name: how it is made is nothing for a picture."""
        called, *words = (command or name.replace(":", "-")).split()
        program = self.engine.folder / "bin" / name.replace(":", "-") / called
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        environment = {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(self.engine.folder)}
        given: dict[str, Any] = {"idle_limit": "none", "max_age": "none", "rows": 30, "cols": 100, **more}
        folder = str(self.engine.folder / project)
        made = self.engine.start(called, *words, name=name, cwd=folder, environment=environment, **given)
        self.sessions[name] = made["id"]
        return made["id"]

    def runs_through(self, name: str, script: str, project: str, hours: float, **more: Any) -> None:
        """A session that ends by itself after a while."""
        gate = self.engine.folder / f"gate-{name.replace(':', '-')}"
        identifier = self.start(name, f"until [ -e {gate} ]; do sleep 0.05; done; {script}", project, **more)
        self.clock.advance(hours * HOURS)
        gate.touch()
        self.engine.call("wait_session", session=identifier, until="ended", timeout="60s")
        self._has_ended(name)

    def end(self, name: str, **words: Any) -> None:
        self.engine.call("end_session", session=self.sessions[name], grace="1s", **words)
        self._has_ended(name)

    def kill(self, name: str, reason: str) -> None:
        self.engine.call("kill_session", session=self.sessions[name], force=True, grace="0s", reason=reason)
        self._has_ended(name)

    def _has_ended(self, name: str) -> None:
        """When, by the scene's clock: those who held it go by the machine's."""
        with closing(sqlite3.connect(self.engine.home.database, timeout=30)) as db, db:
            change = "UPDATE sessions SET ended_at = :at, ending = json_set(ending, '$.at', :at) WHERE id = :id"
            db.execute(change, {"at": self.clock.now(), "id": self.sessions[name]})

    def request(self, by: str, project: str, operation: str, **arguments: Any) -> None:
        """A session asks for what it may not do, and waits."""
        answer = self.engine.folder / f"answer-{by}"
        words = [
            sys.executable,
            asker.__file__,
            self.engine.home.run,
            str(answer),
            "plain",
            operation,
            json.dumps(arguments),
        ]
        script = f"{shlex.join(words)} & {_PROGRESS}"
        self.start(by, script, project, command="pytest tests/api", parent=self.sessions["harbour"], kind="subagent")
        assert wait_until(answer.exists, 60)

    def judged(self) -> bool:
        """Whether every verdict is there: a look at each session has to be followed by another."""
        rows = self.engine.call("list_sessions")["sessions"]
        return all(row["verdict"] != "unknown" for row in rows)


@contextmanager
def played() -> Generator[Scene]:
    """The scene at its end; all of it is gone afterwards."""
    with engine(LAMPLIGHTER_HTTP_PORT="0", LAMPLIGHTER_PATROL="1s", PYTHONPATH=FOLDER, TZ=zone()) as made:
        scene = Scene(made)
        for project in ("harbour", "handbook"):
            _repository(made.folder / project)
        scene.clock.jump(-_DAY)
        _night(scene)
        _morning(scene)
        _now(scene)
        assert wait_until(scene.judged, 60)
        yield scene


def zone() -> str:
    """Where it is five in the afternoon now: what lasted ten hours was one day there."""
    ahead = 17 - time.gmtime().tm_hour
    return f"Etc/GMT{(24 - ahead) if ahead > 14 else -ahead:+d}"  # by its name it counts westward


def _orphans(scene: Scene) -> None:
    """What was started by a session that is gone."""
    sprint = scene.start("sprint", _QUIET, "handbook", command="make handbook", kind="subagent")
    scene.start(
        "link-check",
        "sleep 86400 & sleep 86400 & wait",
        "handbook",
        command="linkcheck --all docs",
        parent=sprint,
        kind="subagent",
    )
    scene.start("spelling", _QUIET, "handbook", command="codespell docs", parent=sprint, kind="subagent")
    scene.kill("sprint", reason="it was done")


def _night(scene: Scene) -> None:
    scene.runs_through(
        "nightly:backup", "echo 'backup: 1,204 files, 3.1 GB'", "harbour", 0.6, command="backup --to vault", kind="cron"
    )
    scene.runs_through(
        "nightly:links", "echo 'dead link: limits.md'; exit 1", "handbook", 0.4, command="linkcheck docs", kind="cron"
    )


def _morning(scene: Scene) -> None:
    scene.start("harbour-design", _QUIET, "harbour", command="design docs/upload.md", kind="main")
    scene.start("spike", _QUIET, "harbour", command="npm run spike", label=["try"])
    scene.clock.advance(1.5 * HOURS)
    scene.kill("spike", reason="a dead end")
    scene.start("style", _QUIET, "handbook", command="vale docs")
    scene.clock.advance(1.5 * HOURS)
    scene.end(
        "harbour-design",
        checkpoint="The upload protocol is settled and in docs/upload.md; the server speaks it, the client does not yet.",
        decisions=["Chunks of 4 MiB, because the proxy buffers more than that", "Checksums per chunk, not per file"],
        open_loops=["Who owns the fixtures for slow networks?", "Resume after a change of address"],
        constraints=["The old endpoint stays until March"],
        warnings=["The staging proxy drops idle connections after 55 s"],
        next_session_focus="the client: begin with src/upload/client.ts",
        epitaph="Settled what had been open for a month.",
    )
    scene.end("style", checkpoint="Chapters 1 to 6 follow the style guide.", preferences=["Short sentences, no jargon"])
    scene.clock.advance(0.5 * HOURS)


def _now(scene: Scene) -> None:
    _orphans(scene)
    scene.start(
        "harbour",
        f"{_TESTS}\n{_QUIET}",
        "harbour",
        command="npm test -- --watch",
        kind="main",
        from_session=scene.sessions["harbour-design"],
    )
    scene.start("preview", _QUIET, "handbook", command="mkdocs serve", label=["server"], protect=True)
    scene.clock.advance(2 * HOURS)
    parent = {"parent": scene.sessions["harbour"], "kind": "subagent"}
    scene.start("docs-review", _REVIEW, "harbour", command="review docs", **parent)
    fixtures = scene.start("upload-client", f"{_TESTS}\n{_QUIET}", "harbour", command="npm run dev", **parent)
    scene.start(
        "slow-network-fixtures",
        "sleep 86400 & sleep 86400 & wait",
        "harbour",
        command="make fixtures",
        parent=fixtures,
        kind="subagent",
    )
    scene.clock.advance(2.5 * HOURS)
    scene.start("search-index", _BUSY, "handbook", command="index --watch docs")
    scene.start("deploy", _ASKS, "harbour", command="make deploy", label=["staging"])
    scene.clock.advance(0.9 * HOURS)
    scene.engine.call(
        "store_records",
        project="handbook",
        records=[
            {
                "content": "limits.md says 30 minutes, the setting says 45",
                "type": "warning",
                "files": ["docs/limits.md"],
            },
            {"content": "Every command in the handbook is run by the nightly job", "type": "decision"},
            {"content": "Is there a glossary?", "type": "open_loop"},
        ],
        folder=str(scene.engine.folder / "handbook"),
    )
    # Near the end: what is asked for is forgotten after ten minutes.
    scene.request("api-tests", "harbour", "end_session", session=scene.sessions["preview"], reason="it holds port 8080")
    scene.clock.advance(0.1 * HOURS)  # now it is as late as it is


def _repository(folder: Path) -> None:
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "main", str(folder)], check=True)
