"""Folders that vanish: a session's own, the one it works in, the one of all sockets of shims. A kill works all the same."""

from __future__ import annotations

import shutil
from pathlib import Path

from faults.stage import Stage

_KINDS = (
    "a session's folder",
    "a session's folder, and the daemon restarts",
    "the folder it works in",
    "the folder of shims' sockets",
)


def run(stage: Stage) -> None:
    stage.calls.patience = 40.0
    for kind in stage.turn(_KINDS):
        work = stage.engine.folder / f"work-{stage.chance.getrandbits(32):08x}"
        work.mkdir()
        steady, held = stage.start("sleeper"), stage.start("sleeper", cwd=str(work))
        if held is None or steady is None:
            stage.violate("a start exists once", f"before {kind}: refused or not answered")
            return
        if kind.startswith("a session"):
            shutil.rmtree(stage.engine.folder / "sessions" / held.id)
        elif "works" in kind:
            work.rmdir()
        else:
            shutil.rmtree(Path(stage.engine.home.run) / "s")
        stage.inject(f"{kind}: deleted" if "restarts" not in kind else kind, held.id)
        if "restarts" in kind and (daemon := stage.role("daemon")):
            stage.engine.kill(daemon)
        stage.tell("list_sessions")
        stage.kill(held, stage.chance.choice(["kill_session", "end_session"]))
        stage.check()
        if stage.violations:
            return
    stage.end_all()
    stage.check()
