"""Qwen Code: how its processes are recognised, how it is started, and what its screens say."""

from __future__ import annotations

from collections.abc import Sequence

from lamplighter import lazy_re as re
from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.fingerprints import Fingerprints
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.screen_patterns import RULE, Box, Dialog, ScreenPatterns, fenced, last_said
from lamplighter.domain.agent_command import AgentCommand, Mode

_PROGRAM = Program(
    name="qwen",
    names=frozenset({"qwen"}),
    packages=("@qwen-code/qwen-code",),
    marks=("QWEN_CODE_SESSION_ID",),
)

_START = AgentCommand(
    agent="qwen",
    program=("qwen",),
    package="@qwen-code/qwen-code",
    terminal=Mode(
        resume=("--resume", "{conversation}"), last=("--continue",), prompt=("--prompt-interactive={prompt}",)
    ),
    headless=Mode(
        new=("-o", "stream-json"),
        resume=("-o", "stream-json", "--resume", "{conversation}"),
        last=("-o", "stream-json", "--continue"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    by_folder=True,
    untested=True,
)

_FINGERPRINTS = Fingerprints(agent="qwen", sessions=("QWEN_CODE_SESSION_ID",), options=("--resume", "-r"))  # untested


# -- screens

_INPUT = re.compile(r"[>!*](?: |$)")
_BELOW = re.compile(r" {2}|$")
_ASKS = re.compile(r"^ +\S Waiting for user confirmation|^ +↑/↓: Navigate \| Enter: Select")
_MENU = re.compile(r"^ {1,3}[╰└]─+[╯┘] *[│█]?$")


def _input_line(lines: Sequence[str]) -> Box | None:
    return fenced(lines, RULE, _INPUT, RULE, beneath=_BELOW)


_SCREENS = ScreenPatterns(
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


AGENT = Agent(
    name="qwen",
    program=_PROGRAM,
    start=_START,
    screens=_SCREENS,
    fingerprints=_FINGERPRINTS,
)
