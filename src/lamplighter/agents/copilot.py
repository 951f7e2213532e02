"""Copilot CLI: how its processes are recognised, how it is started, and what its screens say."""

from __future__ import annotations

from collections.abc import Sequence

from lamplighter import lazy_re as re
from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.fingerprints import Fingerprints
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.screen_patterns import RULE, Box, Dialog, ScreenPatterns, fenced, last_said
from lamplighter.domain.agent_command import AgentCommand, Mode

_PROGRAM = Program(
    name="copilot",
    names=frozenset({"copilot"}),
    packages=("@github/copilot",),
)

_START = AgentCommand(
    agent="copilot",
    program=("copilot",),
    package="@github/copilot",
    terminal=Mode(resume=("--resume={conversation}",), last=("--continue",), prompt=("--interactive={prompt}",)),
    headless=Mode(
        new=("--output-format", "json"),
        resume=("--output-format", "json", "--resume={conversation}"),
        last=("--output-format", "json", "--continue"),
        prompt=("--prompt={prompt}",),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    untested=True,
)
_FINGERPRINTS = Fingerprints(agent="copilot")  # untested: no mark of it is known

# -- screens

_INPUT = re.compile(r"❯(?: |$)")
_STATUS = re.compile(r" (?!\S Loading|any key )\S")
_CLOSING = re.compile(r"\besc (?:to )?(?:cancel|close)\b")
_COMMAND = re.compile(r"^│ │ ")


def _input_line(lines: Sequence[str]) -> Box | None:
    """With its status as the last line: without that it is not there yet."""
    return fenced(lines, RULE, _INPUT, RULE, beneath=_STATUS, below=2) if _STATUS.match(lines[-1]) else None


def _shown_command(lines: Sequence[str], place: int) -> str:
    """In a frame of its own, above the question."""
    last = next((number for number in range(place, 0, -1) if _COMMAND.match(lines[number])), 0)
    first = last
    while first and _COMMAND.match(lines[first - 1]):
        first -= 1
    return " ".join(lines[first : last + 1]) if last else ""


# A tool that has failed begins alike.
_ERROR = re.compile(r" ✗ (?P<error>(?:\d{3} |Failed to get|Authentication |.*\b(?:limit|quota)\b).+)")
_SCREENS = ScreenPatterns(
    tried="1.0.102",
    box=_input_line,
    placeholder=re.compile(r"(?!)"),
    busy=re.compile(r"^ \S (?:Working|Thinking|Cancelling)\b|\besc esc (?:interrupt|edit prompt)"),
    turned=re.compile(r"^ ● (?!Tip: )|^ [✗✓] "),
    dialogs=(
        Dialog(
            re.compile(r"^│ Do you trust the files in this folder\?|^│ Confirm folder trust"),
            "trust in this folder",
            _CLOSING,
        ),
        Dialog(
            re.compile(r"^│ Do you want to run this command\?"), "permission to run: {about}", _CLOSING, _shown_command
        ),
        Dialog(re.compile(r"^│ Do you want to (?P<act>[^?]+)\?"), "permission to {act}", _CLOSING),
        Dialog(re.compile(r"^│ (?P<question>\S.*\?) *│$"), "an answer: {question}", _CLOSING),
        Dialog(re.compile(r"^ *(?:│ )?❯ +(?:\d+\. )?\S"), "an answer", _CLOSING),
    ),
    failed=last_said(_ERROR, re.compile(r" [❯●✗] ")),
    retrying=re.compile(r"^ ● (?P<error>Request failed .+) Retrying\.\.\.\n(?!(?:.*\n)* ● )", re.MULTILINE),
    interrupt=("Escape", "Escape"),
)


AGENT = Agent(
    name="copilot",
    program=_PROGRAM,
    start=_START,
    screens=_SCREENS,
    fingerprints=_FINGERPRINTS,
)
