"""The stages of ./test: linters, types, layers, tests; and of `make format`. Each with its time, all even when one fails.

Knows the commands and their order; knows nothing of how the environment was made.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO

from scripts import debian, detachment, environment, interpreter, outsiders, programs


@dataclass(frozen=True)
class Stage:
    """One command of the environment, or biome. What a linter says is shown only when it fails; tests are shown as they run.
    One that is `beside` runs while the others do, and is shown after them."""

    name: str
    command: tuple[str, ...]
    live: bool = False
    beside: bool = False


STATIC = (
    Stage("ruff check", ("ruff", "check")),
    Stage("ruff format", ("ruff", "format", "--check")),
    Stage("basedpyright", ("basedpyright",), beside=True),  # one process for most of a minute, on whatever core is free
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
    with ExitStack() as beside:
        begun = [beside.enter_context(_begun(stage)) for stage in stages if stage.beside]
        done = [(stage.name, _run(stage)) for stage in stages if not stage.beside]
        done += [(running.stage.name, running.finish()) for running in begun]
    failed = [name for name, status in done if status]
    print(f"\nFailed: {', '.join(failed)}" if failed else "\nAll good.", flush=True)
    return 1 if failed else 0


@dataclass(frozen=True)
class _Running:
    """A stage that has begun. What it says goes to a file: nobody reads a pipe while the other stages run."""

    stage: Stage
    process: subprocess.Popen[str]
    said: IO[str] | None
    began: float

    def finish(self) -> int:
        """Wait for it, and show what came of it."""
        status = self.process.wait()
        if status and self.said:
            self.said.seek(0)
            print(self.said.read(), end="")
        outcome = "FAILED" if status else "ok"
        took = "beside" if self.stage.beside else f"{time.monotonic() - self.began:.1f} s"
        print(f"{self.stage.name:<14} {outcome:<6} {took:>9}", flush=True)
        return status


@contextmanager
def _begun(stage: Stage) -> Generator[_Running]:
    """Its process does not outlive us, however we go on."""
    began = time.monotonic()
    with ExitStack() as stack:
        said = None if stage.live else stack.enter_context(tempfile.TemporaryFile("w+"))
        process = stack.enter_context(
            subprocess.Popen(
                _command(stage.command),
                cwd=environment.ROOT,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT if said else None,
                text=True,
            )
        )
        stack.callback(process.kill)
        yield _Running(stage, process, said, began)


def _run(stage: Stage) -> int:
    if stage.live:
        print(f"{stage.name} …", flush=True)
    with _begun(stage) as running:
        return running.finish()


def _command(command: tuple[str, ...]) -> list[str]:
    name, *arguments = command
    return [*(outsiders.biome() if name == "biome" else [environment.tool(name)]), *arguments]


def _input() -> int | None:
    """A terminal is passed on, for --pdb; anything else is not, so that no test can wait for it."""
    return None if sys.stdin and sys.stdin.isatty() else subprocess.DEVNULL


if __name__ == "__main__":
    sys.exit(check(SHAPING if "--write" in sys.argv else STATIC))
