"""Sockets and pid files that vanish or are forged, as a cleaner of files or a session does it: nothing that lives is harmed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from faults import forger
from faults.ledger import Held
from faults.stage import Stage
from tests.support.processes import wait_until

_KINDS = (
    "daemon.sock", "keeper.sock", "shims' sockets", "daemon.pid", "keeper.pid", "daemon.pid forged", "all of run",
    "daemon forged from inside", "keeper forged from inside", "run and the daemon",
)  # fmt: skip
_REFUSED = {"FORBIDDEN", "UNSUPPORTED"}


def run(stage: Stage) -> None:
    stage.calls.patience = 40.0
    for kind in stage.turn(_KINDS):
        sleeper, heard = stage.start("sleeper"), stage.start("listener", headless=True)
        if sleeper is None or heard is None:
            stage.violate("a start exists once", f"before {kind}: refused or not answered")
            return
        stage.remember()
        _strike(stage, kind, heard)
        stage.tell("list_sessions")
        stage.remember()
        listening, text = heard, f"after {kind.replace(' ', '-')}"
        heard.sends[text] = stage.tell("send_input", session=heard.id, text=text) is not None
        stage.settle("it has read", lambda: text in stage.witness(listening), 20)  # noqa: B023
        stage.start("printer")
        daemons = _daemons(stage)
        if len(daemons) > 1:
            stage.violate("one daemon a store", f"after {kind}: {daemons}")
        stage.check()
        if stage.violations:
            return  # what follows would be judged by what is broken already
    stage.end_all()
    stage.check()


def _strike(stage: Stage, kind: str, other: Held) -> None:
    run = Path(stage.engine.home.run)
    if kind.endswith("from inside"):
        _forge(stage, kind.split()[0], other)
    elif kind == "daemon.pid forged":
        (run / "daemon.pid").write_text("1 1\n")
    elif kind.startswith(("run", "all")):
        shutil.rmtree(run)
    elif kind.startswith("shims"):
        paths = list((run / "s").glob("*.sock"))
        assert paths, "no shim has a socket that could be taken away"
        for path in paths:
            path.unlink()
    else:
        (run / kind).unlink()  # it must be there, or this is no fault
    if kind == "run and the daemon" and (daemon := stage.role("daemon")):
        stage.engine.kill(daemon)
    stage.inject(kind if "forged" in kind else f"{kind} gone")


def _forge(stage: Stage, role: str, other: Held) -> None:
    """A process inside a session says that it is the daemon, and asks another session's shim, and the keeper, to obey."""
    home = stage.engine.home
    for door in (home.shim_socket(other.id), home.keeper_socket):
        answer = stage.engine.folder / f"forged-{stage.chance.getrandbits(32):08x}"
        command = [stage.engine.python, "-I", "-S", forger.__file__, home.run, home.state, role, door, str(answer)]
        if stage.tell("start_session", command=command, cwd="/", environment={}, headless=True) is None:
            return
        assert wait_until(answer.exists, 60), "the forger has said nothing"
        said = json.loads(answer.read_text())
        stage.step(f"forged {role} at {door}: {said}")
        obeyed = [one for one in said if one.get("error", {}).get("code") not in _REFUSED]
        if obeyed or "forged" in stage.witness(other):
            stage.violate("a holder obeys the daemon alone", f"a forged {role} asked {door} and was told {obeyed}")


def _daemons(stage: Stage) -> list[int]:
    """Every daemon of this home, by /proc."""
    return [process.pid for process in stage.left() if "lamplighter.daemon" in process.cmdline]
