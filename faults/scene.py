"""One scene, in a process of its own: `python -m faults.scene`, told by JSON on standard input what to do and where to report.

Whatever becomes of it, the campaign that started it ends all that it began, by its token.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from faults.stage import Stage
from tests.support.disk import make_room
from tests.support.engine import Engine

_BOUNDS = {"LAMPLIGHTER_LOG_LIMIT": str(16 << 20)}


def main() -> None:
    told: dict[str, Any] = json.load(sys.stdin)
    report = Path(told["report"])
    kind = importlib.import_module(f"faults.kinds.{told['kind']}")
    environment = {**_BOUNDS, **getattr(kind, "ENVIRONMENT", {})}
    if "PYTHONPATH" in environment and os.environ.get("PYTHONPATH"):
        environment["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
    if not told["cgroup"]:
        environment["LAMPLIGHTER_CGROUP"] = "off"
    engine = Engine(**environment)
    (report / "home").write_text(str(engine.folder))
    with _placed(engine, told["kind"] == "disk"), open(report / "steps", "a", encoding="utf-8") as steps:
        stage = Stage(
            engine, told["token"], random.Random(told["seed"]), steps, told["faults"], told["number"], told["plant"]
        )
        failure = ""
        try:
            stage.calls.ask("get_status")
            kind.run(stage)
        except Exception:
            failure = traceback.format_exc()
            stage.step(failure)
        finally:
            with suppress(OSError):
                make_room(engine)
            stage.close()
        _write(report, stage, failure)
        if not stage.violations and not failure:
            stage.remove()
        elif told["kind"] == "disk":
            shutil.copytree(
                engine.folder, report / "home-kept", ignore=lambda folder, names: _sockets(str(folder), names)
            )


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not (Path(folder) / name).is_file() and not (Path(folder) / name).is_dir()]


@contextmanager
def _placed(engine: Engine, small: bool) -> Generator[None]:
    """On a small disk of its own where that is what is filled."""
    if not small:
        yield
        return
    command = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "lamplighter-faults", str(engine.folder)]
    subprocess.run(command, check=True)
    try:
        engine.home.make()
        yield
    finally:
        subprocess.run(["umount", "-l", str(engine.folder)], check=True)
        shutil.rmtree(engine.folder, ignore_errors=True)


def _write(report: Path, stage: Stage, failure: str) -> None:
    document = {
        "counted": stage.counted,
        "violations": [dataclasses.asdict(one) for one in stage.violations],
        "skipped": stage.skipped,
        "refusals": stage.ledger.refusals,
        "failure": failure,
    }
    fresh = report / "outcome.new"
    fresh.write_text(json.dumps(document))
    fresh.rename(report / "outcome")


if __name__ == "__main__":
    main()
