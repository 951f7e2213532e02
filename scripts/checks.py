"""The stages of ./test: linters, types, layers, tests; and of `make format`. Each with its time, all even when one fails.

Knows the commands and their order; knows nothing of how the environment was made.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass

from scripts import debian, detachment, environment, interpreter, outsiders, programs


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
# Twice the cores that are usual: half of the time a test waits for something to happen.
TESTS = Stage("pytest", ("pytest", "-n", "4", "--dist", "worksteal", "--cache-clear"), live=True)


def main(arguments: list[str]) -> int:
    """Everything once; with arguments, pytest alone with them. `--prepare`: the environment alone; `--tree`: see debian.py."""
    link = detachment.linked()
    if link is None and detachment.needed():
        return detachment.relaunch()
    status = _everything(arguments)
    if link:
        link.sendall(bytes([status & 0xFF]))  # as the shell sees it; a signal is a negative number here
    return status


def _everything(arguments: list[str]) -> int:
    environment.ready(tests=True)
    if arguments == ["--prepare"]:
        return 0
    if arguments[:1] == ["--tree"]:
        return debian.test(arguments[1:])
    programs.ready()
    outsiders.ready()
    if "agents" in arguments:  # -m agents
        outsiders.agents_ready()
        outsiders.aider_ready()
    if arguments:
        return _pytest(arguments)
    status = check((*STATIC, TESTS))
    print(untried(), flush=True)
    return status


def untried() -> str:
    """Which of the Pythons that we support these tests did not run on."""
    own = sys.version_info[:2]
    newest = range(interpreter.OLDEST[1], interpreter.NEWEST[1] + 1)
    others = ", ".join(f"3.{minor}" for minor in newest if (3, minor) != own)
    return f"Not tried: Python {others}. `make test-python` tries {debian.PYTHON}."


def _pytest(arguments: list[str]) -> int:
    command = _command(("pytest", *arguments))
    return subprocess.run(command, cwd=environment.ROOT, stdin=_input(), check=False).returncode


def check(stages: tuple[Stage, ...]) -> int:
    """Run the stages, one line each; 0 when all of them passed."""
    failed = [stage.name for stage in stages if _run(stage)]
    print(f"\nFailed: {', '.join(failed)}" if failed else "\nAll good.", flush=True)
    return 1 if failed else 0


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
