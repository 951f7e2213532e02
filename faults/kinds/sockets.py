"""Sockets and pid files that vanish or are replaced, as a cleaner of temporary files does it: nothing that lives is harmed."""

from __future__ import annotations

import shutil
from pathlib import Path

from faults.stage import Stage

_KINDS = ("daemon.sock", "keeper.sock", "shims' sockets", "daemon.pid", "keeper.pid", "daemon.pid forged", "all of run")


def run(stage: Stage) -> None:
    stage.calls.patience = 40.0
    kinds = list(_KINDS)
    stage.chance.shuffle(kinds)
    for kind in kinds[: stage.limit]:
        before = [stage.start("sleeper"), stage.start("listener", headless=True)]
        stage.remember()
        _take_away(stage, kind)
        stage.inject(f"{kind} gone" if "forged" not in kind else kind)
        if stage.chance.random() < 0.3 and (daemon := stage.role("daemon")):
            stage.step(f"and the daemon is killed {daemon}")
            stage.engine.kill(daemon)
        stage.tell("list_sessions")
        stage.remember()
        if (heard := before[1]) is not None:
            text = f"after {kind.replace(' ', '-')}"
            heard.sends[text] = stage.tell("send_input", session=heard.id, text=text) is not None
            nonce = heard.nonce
            stage.settle("it has read", lambda: text in stage.facts().witnesses[nonce], 20)  # noqa: B023
        stage.start("printer")
        daemons = _daemons(stage)
        if len(daemons) > 1:
            stage.violate("one daemon a store", f"after {kind}: {daemons}")
        stage.check()
        if stage.violations:
            return  # what follows would be judged by what is broken already
    stage.end_all()
    stage.check()


def _take_away(stage: Stage, kind: str) -> None:
    run = Path(stage.engine.home.run)
    if kind == "all of run":
        shutil.rmtree(run)
    elif kind == "shims' sockets":
        for path in (run / "s").iterdir():
            path.unlink()
    elif kind == "daemon.pid forged":
        (run / "daemon.pid").write_text("1 1\n")
    else:
        (run / kind).unlink(missing_ok=True)


def _daemons(stage: Stage) -> list[int]:
    """Every daemon of this home, by /proc."""
    return [process.pid for process in stage.left() if "lamplighter.daemon" in process.cmdline]
