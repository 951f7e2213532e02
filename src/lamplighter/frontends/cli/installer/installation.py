"""What installing something comes to: steps with files, commands to run, and what the user should know. Does it, or shows it.

Knows nothing of what is installed.
"""

from __future__ import annotations

import shlex
from dataclasses import field
from difflib import unified_diff
from typing import Any

from lamplighter.frontends.cli.display.blocks import Block, TextLine
from lamplighter.frontends.cli.display.format import clean
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.installer.own_file import FileChange, perform, read
from lamplighter.lazy_dataclass import dataclass

_CALM_SECONDS = 120.0


@dataclass
class Installation:
    """`first`: commands before the files change. `then`: those after. `by_hand`: commands that only the user can run now."""

    target: str
    first: list[list[str]] = field(default_factory=list[list[str]])
    steps: list[FileChange] = field(default_factory=list[FileChange])
    then: list[list[str]] = field(default_factory=list[list[str]])
    by_hand: list[list[str]] = field(default_factory=list[list[str]])
    notes: list[str] = field(default_factory=list[str])

    @property
    def nothing_to_do(self) -> bool:
        return not (self.first or self.steps or self.then)

    def carry_out(self, output: CommandOutput, *, dry: bool) -> int:
        """0, or 3 when a command failed; the files stay as they are then, and the next call goes on from there."""
        shown = [self.difference(step) for step in self.steps]
        failed = [] if dry else self.do()
        if output.as_json:
            output.document(self.document(dry, failed))
        else:
            output.blocks(self._blocks(dry, shown, failed))
        return 3 if failed else 0

    def document(self, dry: bool, failed: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "target": self.target,
            "applied": not dry,
            "changes": [step._asdict() for step in self.steps],
            "commands": [*self.first, *self.then],
            "by_hand": self.by_hand,
            "failed": failed,
            "notes": self.notes,
        }

    def difference(self, step: FileChange) -> list[str]:
        """The change of a file, before it is made."""
        return difference(read(step.path) or None, step.text) if step.act == "write" else []

    def do(self) -> list[dict[str, Any]]:
        """Carry it out; the commands that failed."""
        failed = _run(self.first)
        for step in self.steps:
            perform(step)
        return [*failed, *_run(self.then)]

    def _blocks(self, dry: bool, shown: list[list[str]], failed: list[dict[str, Any]]) -> list[Block]:
        blocks: list[Block] = []
        for words in self.first:
            blocks.append(TextLine(("would run  " if dry else "ran  ", "dim"), shlex.join(words)))
        for step, diff in zip(self.steps, shown, strict=True):
            blocks.append(TextLine((_word(step.act, dry), "strong"), f"  {clean(step.path)}", _target(step)))
            blocks += [TextLine((f"  {clean(line)}", "dim")) for line in diff]
        for words in self.then:
            blocks.append(TextLine(("would run  " if dry else "ran  ", "dim"), shlex.join(words)))
        if self.nothing_to_do:
            blocks.append(TextLine(f"nothing to do for {self.target}"))
        for fault in failed:
            blocks.append(
                TextLine(("failed: ", "bad"), shlex.join(fault["command"]), f": {clean(fault['said'])}", loud=True)
            )
        if self.by_hand:
            blocks.append(TextLine("then run:", loud=True))
            blocks += [TextLine(f"  {shlex.join(words)}", loud=True) for words in self.by_hand]
        return [*blocks, *(TextLine(("note: ", "strong"), clean(note), loud=True) for note in self.notes)]


def _word(act: str, dry: bool) -> str:
    done = {"write": "wrote", "move": "moved", "remove": "removed"}
    return f"would {act}" if dry else done[act]


def _target(step: FileChange) -> str:
    return f"  to  {clean(step.to)}" if step.to else ""


def difference(before: str | None, after: str) -> list[str]:
    """A new file is shown whole."""
    if before is None:
        return after.splitlines()
    return list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[2:]


def _run(commands: list[list[str]]) -> list[dict[str, Any]]:
    """Run each; those that failed, with what they said. One that fails keeps the rest from running."""
    import subprocess

    for words in commands:
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_CALM_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return [{"command": words, "said": str(error)}]
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            return [{"command": words, "said": said[-1] if said else f"exit {done.returncode}"}]
    return []
