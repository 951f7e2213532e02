"""The agent programs that Lamplighter knows: how each is recognised among processes. One module a program.

Knows nothing of sessions; data and small functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lamplighter.agents import aider, claude, codex, copilot, gemini, kiro, openclaw, opencode, pi, qwen
from lamplighter.agents.program import Program

PROGRAMS: tuple[Program, ...] = (
    claude.PROGRAM,
    codex.PROGRAM,
    gemini.PROGRAM,
    opencode.PROGRAM,
    kiro.PROGRAM,
    qwen.PROGRAM,
    copilot.PROGRAM,
    pi.PROGRAM,
    aider.PROGRAM,
    openclaw.PROGRAM,
)


def recognise(words: list[str]) -> Program | None:
    """The program that a command line is of, if it is one of ours to know."""
    return next((program for program in PROGRAMS if program.runs(words)), None)


def program_name(words: Sequence[str]) -> str:
    """What a session that runs this is listed as."""
    program = recognise(list(words))
    return program.name if program else "generic"


def marks() -> dict[str, Program]:
    """Variables that an agent sets for what it starts. They can be forged, so they only ever take rights away."""
    return {mark: program for program in PROGRAMS for mark in program.marks}


def unmarked(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what an agent sets for what it starts: another agent that finds it takes itself for a part of that one."""
    taken = {name for program in PROGRAMS for name in (*program.marks, *program.inherited)}
    return {name: value for name, value in environment.items() if name not in taken}
