"""Qwen Code: how its processes are recognised, how it is started, and what its screens say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lamplighter.agents.program import Program
from lamplighter.agents.signs import Box, Dialog, Signs, fenced, last_said
from lamplighter.agents.traces import Traces
from lamplighter.domain.manner import Manner, Way

PROGRAM = Program(
    name="qwen",
    names=frozenset({"qwen"}),
    packages=("@qwen-code/qwen-code",),
    marks=("QWEN_CODE_SESSION_ID",),
)

STARTING = Manner(
    agent="qwen",
    program=("qwen",),
    package="@qwen-code/qwen-code",
    terminal=Way(
        resume=("--resume", "{conversation}"), last=("--continue",), prompt=("--prompt-interactive={prompt}",)
    ),
    headless=Way(
        new=("-o", "stream-json"),
        resume=("-o", "stream-json", "--resume", "{conversation}"),
        last=("-o", "stream-json", "--continue"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    by_folder=True,
    untested=True,
)

TRACES = Traces(agent="qwen", sessions=("QWEN_CODE_SESSION_ID",), options=("--resume", "-r"))  # untested


# -- screens

_RULE = re.compile(r"─{20}")
_INPUT = re.compile(r"[>!*](?: |$)")
_BELOW = re.compile(r" {2}|$")
_ASKS = re.compile(r"^ +\S Waiting for user confirmation|^ +↑/↓: Navigate \| Enter: Select")
_MENU = re.compile(r"^ {1,3}[╰└]─+[╯┘] *[│█]?$")


def _input_line(lines: Sequence[str]) -> Box | None:
    return fenced(lines, _RULE, _INPUT, _RULE, beneath=_BELOW)


SIGNS = Signs(
    agent="qwen",
    tried="0.24.4",
    box=_input_line,
    placeholder=re.compile(r"Type your message"),
    busy=re.compile(r"\(?esc to cancel\)"),
    busy_title=re.compile(r"[◐◑◒◓]"),
    turned=re.compile(r"^ {2}◆ |^ {2}[✓xo-] {1,2}\S|^ {2}ℹ Request cancelled"),
    dialogs=(
        Dialog(
            re.compile(r"^ {2}\? Shell (?P<command>\S.*?) (?:\([^()]*\) )?← *█?$"),
            "permission to run: {command}",
            _ASKS,
        ),
        Dialog(re.compile(r"^ {2}\? AskUserQuestion "), "an answer", _ASKS),
        Dialog(re.compile(r"^ {2}\? ExitPlanMode "), "approval of its plan", _ASKS),
        Dialog(re.compile(r"^ {2}\? (?P<tool>\S.*?) ← *█?$"), "permission: {tool}", _ASKS),
        Dialog(re.compile(r"^ +› +(?:\d+\. )?\S"), "an answer", _ASKS),
        Dialog(re.compile(r"^ +│ (?:[›●] +(?:\d+\. )?\S|Esc to close)"), "an answer", _MENU),
    ),
    failed=last_said(re.compile(r"  ✕ (?P<error>.+)"), re.compile(r"  (?:> |◆ |[✓xo-] {1,2}\S)")),
    leave="/quit",
)
