"""The stages of ./test: linters, types, layers, tests; and of `make format`. Each with its time, all even when one fails.

Knows the commands and their order; knows nothing of how the environment was made.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from xml.etree import ElementTree

from scripts import detachment, environment, outsiders, programs


@dataclass(frozen=True)
class Stage:
    """One command of the environment, or biome. What a linter says is shown only when it fails; tests are shown as they run."""

    name: str
    command: tuple[str, ...]
    live: bool = False


STATIC = (
    Stage("ruff check", ("ruff", "check")),
    Stage("ruff format", ("ruff", "format", "--check")),
    Stage("basedpyright", ("basedpyright",)),
    Stage("import layers", ("lint-imports",)),
    Stage("biome", ("biome", "check", "--error-on-warnings")),
)
SHAPING = (
    Stage("ruff check", ("ruff", "check", "--fix")),
    Stage("ruff format", ("ruff", "format")),
    Stage("biome", ("biome", "check", "--error-on-warnings", "--write")),
)
SAID = ".pytest_cache/said.xml"  # what came of each case
# Twice the cores that are usual: half of the time a test waits for something to happen.
TESTS = Stage("pytest", ("pytest", "-n", "4", "--dist", "worksteal", "--cache-clear", f"--junit-xml={SAID}"), live=True)
# A few cases that fail among thousands of others on a busy machine are asked once more, one after another: see _again.
AGAIN = Stage("pytest again", ("pytest", "--last-failed", f"--junit-xml={SAID}"), live=True)
_MOST_AGAIN = 3
_SOME_FAILED = 1  # pytest's: it ran to its end


def main(arguments: list[str]) -> int:
    """Everything once; or, with arguments, pytest alone with them."""
    link = detachment.linked()
    if link is None and detachment.needed():
        return detachment.relaunch()
    status = _everything(arguments)
    if link:
        link.sendall(bytes([status & 0xFF]))  # as the shell sees it; a signal is a negative number here
    return status


def _everything(arguments: list[str]) -> int:
    environment.ready()
    programs.ready()
    outsiders.ready()
    if "agents" in arguments:  # -m agents
        outsiders.agents_ready()
    if arguments:
        return _pytest(arguments)
    return check((*STATIC, TESTS))


def _pytest(arguments: list[str]) -> int:
    command = _command(("pytest", *arguments))
    return subprocess.run(command, cwd=environment.ROOT, stdin=_input(), check=False).returncode


def check(stages: tuple[Stage, ...]) -> int:
    """Run the stages, one line each; 0 when all of them passed."""
    failed: list[str] = []
    unsteady: list[str] = []
    for stage in stages:
        status = _run(stage)
        if status == _SOME_FAILED and stage is TESTS:
            unsteady = _again()
            status = 0 if unsteady else status
        if status:
            failed.append(stage.name)
    for case in unsteady:
        print(f"\nUNSTEADY: {case} failed among the others and passed alone. Something depends on when.", flush=True)
    print(f"\nFailed: {', '.join(failed)}" if failed else "\nAll good.", flush=True)
    return 1 if failed else 0


def _again() -> list[str]:
    """The cases that failed, if they are few and pass one after another; else none. What they said the first time is above. An
    error beside a case (of a fixture, a worker that crashed) is not asked again: it is told of one that may not be to blame."""
    first = _came_of_it()
    failed = sorted(name for name, came in first.items() if came == "failure")
    if not 0 < len(failed) <= _MOST_AGAIN or "error" in first.values() or _run(AGAIN):
        return []
    second = _came_of_it()
    return failed if all(second.get(name) == "passed" for name in failed) else []


def _came_of_it() -> dict[str, str]:
    """Of each case: passed, failure, error or skipped."""
    found: dict[str, str] = {}
    for case in ElementTree.parse(environment.ROOT / SAID).iter("testcase"):
        came = next((child.tag for child in case if child.tag in ("error", "failure", "skipped")), "passed")
        name = f"{case.get('classname')}::{case.get('name')}"
        found[name] = "error" if "error" in (came, found.get(name)) else came
    return found


def _run(stage: Stage) -> int:
    if stage.live:
        print(f"{stage.name} …", flush=True)
    began = time.monotonic()
    output = None if stage.live else subprocess.PIPE
    done = subprocess.run(
        _command(stage.command),
        cwd=environment.ROOT,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        text=True,
        check=False,
    )
    if done.returncode and done.stdout:
        print(done.stdout, end="")
    said = "FAILED" if done.returncode else "ok"
    print(f"{stage.name:<14} {said:<6} {time.monotonic() - began:7.1f} s", flush=True)
    return done.returncode


def _command(command: tuple[str, ...]) -> list[str]:
    name, *arguments = command
    return [*(outsiders.biome() if name == "biome" else [environment.tool(name)]), *arguments]


def _input() -> int | None:
    """A terminal is passed on, for --pdb; anything else is not, so that no test can wait for it."""
    return None if sys.stdin and sys.stdin.isatty() else subprocess.DEVNULL


if __name__ == "__main__":
    sys.exit(check(SHAPING if "--write" in sys.argv else STATIC))
