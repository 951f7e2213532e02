"""`python -m faults [--seed N] [--faults M] [--only KIND] [--write]`: attack, judge from outside, print the table."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from bench import machine
from faults import table
from faults.kinds import SHARES
from faults.lanes import Lanes, Outcome
from faults.plan import plan
from lamplighter import __version__
from scripts import detachment

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
_INTERRUPTED = 130
_INTRODUCTION = """# Reliability

`make test-faults` attacks a whole Lamplighter and judges it from outside; `python -m faults --write` keeps the table here. Each
scene has a daemon, a keeper and sessions of its own, as root or as an ordinary user, with cgroups or without. What must hold
is read from /proc, from the store's file and from the logs by the campaign's own code: every acknowledged start exists once; no
command runs twice; every acknowledged end has one certificate and one hand-off; no acknowledged record is lost or doubled; no
process is left that no certificate names; events have no gaps; output is complete; what nobody asked to end goes on.
"""


def main() -> int:
    options = _parse()
    link = detachment.linked()
    if link is None and detachment.needed():
        sys.argv[:1] = ["-m", "faults"]
        return detachment.relaunch()
    status = _campaign(options)
    if link:
        link.sendall(bytes([status]))
    return status


def _campaign(options: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    lanes, outcomes = Lanes(options.lanes, plant=options.plant), list[Outcome]()
    began, interrupted = time.monotonic(), False
    scenes = plan(options.seed, options.faults, options.only, lanes.users)
    if options.scene is not None:
        scenes = [scene for scene in scenes if f"{scene.kind}-{scene.number}" == options.scene]
    print(f"seed {options.seed}: {sum(scene.faults for scene in scenes)} faults in {len(scenes)} scenes", flush=True)
    try:
        for outcome in lanes.run(scenes):
            outcomes.append(outcome)
            _tell(outcome, options)
    except KeyboardInterrupt:
        print("\ninterrupted: what was started is ended; what there is so far:", flush=True)
        options.write, interrupted = False, True
    finally:
        lanes.close()
    facts = "; ".join(f"{name} {value}" for name, value in _facts(options).items())
    print(f"\n{facts}\n\n{table.plain(outcomes)}\n\n{time.monotonic() - began:.0f} s")
    if options.write:
        PAGE.write_text(f"{_INTRODUCTION}\n{facts}.\n\n{table.markdown(outcomes)}", encoding="utf-8")
    if interrupted:
        return _INTERRUPTED
    return 1 if any(one.violations or one.failure for one in outcomes) else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="faults", description="Attack a whole Lamplighter, and judge it from outside."
    )
    parser.add_argument("--seed", type=int, default=None, help="the same seed has the same faults; random unless told")
    parser.add_argument(
        "--faults", type=int, default=1000, metavar="M", help="how many; 1000 unless told, about 20 minutes"
    )
    parser.add_argument(
        "--only", action="append", default=[], choices=list(SHARES), help="this kind; may be given again"
    )
    parser.add_argument("--scene", metavar="KIND-N", help="one scene alone, as a violation names it")
    parser.add_argument(
        "--lanes", type=int, default=min(2, os.cpu_count() or 1), help="scenes at a time; 2 unless told"
    )
    parser.add_argument(
        "--plant", action="store_true", help="end a healthy session by hand in each scene, to see that it is found"
    )
    parser.add_argument("--write", action="store_true", help="keep the table in docs/reliability.md")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = secrets.randbelow(1 << 31)
    return options


def _tell(outcome: Outcome, options: argparse.Namespace) -> None:
    scene = outcome.scene
    said = f"{len(outcome.violations)} violations" if outcome.violations else "FAILED" if outcome.failure else "ok"
    where = f"{scene.user}, cgroup {'on' if scene.cgroup else 'off'}"
    print(
        f"{scene.kind}-{scene.number} ({where}): {sum(outcome.counted.values())} faults, {said}, {outcome.seconds:.0f} s",
        flush=True,
    )
    for one in outcome.violations:
        print(f"    {one['rule']}: {one['text']}")
    if outcome.failure:
        print(f"    the campaign itself failed: {outcome.failure[-1500:]}")
    if outcome.kept:
        again = f"python -m faults --seed {options.seed} --faults {options.faults}"
        again += f" --only {scene.kind} --scene {scene.kind}-{scene.number}"
        print(f"    again: {again}\n    steps and engine: {outcome.kept} (steps, home)", flush=True)


def _facts(options: argparse.Namespace) -> dict[str, str]:
    facts = machine.facts()
    facts.pop("user")
    return {"Lamplighter": __version__, **facts, "users": "root and ordinary" if os.getuid() == 0 else "ordinary",
            "seed": str(options.seed), "faults": str(options.faults)}  # fmt: skip


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: what was started is being ended
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
