"""aider: how its processes are recognised, how it is started, and what its screens say."""

from __future__ import annotations

from collections.abc import Sequence

from lamplighter import lazy_re as re
from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.screen_patterns import RULE, Box, Dialog, ScreenPatterns
from lamplighter.domain.agent_command import AgentCommand, Mode

_PROGRAM = Program(name="aider", names=frozenset({"aider"}), packages=("aider-chat",))

_START = AgentCommand(
    agent="aider",
    program=("aider",),
    terminal=Mode(last=("--restore-chat-history",)),
    headless=Mode(last=("--restore-chat-history",), prompt=("--message={prompt}",), needs_prompt=True),
    model=("--model", "{model}"),
    by_folder=True,
)

# -- screens

_PROMPT = re.compile(r"(?:[a-z-]+)?(?: ?multi)?>(?: |$)")
_ERROR = re.compile(r"[ ░█]*litellm\.(?P<error>\w+: .+)")
_CLOSING = re.compile(r"\(Y\)es/\(N\)o.*\[\w[^]]*\]:")


def _input_line(lines: Sequence[str]) -> Box | None:
    """The last lines but for a list of commands, each behind its prompt, below a fence; between them stand the files that it has
    in its chat."""
    end = len(lines)
    while end and lines[end - 1].startswith("  "):
        end -= 1
    begin = end
    while begin and _PROMPT.match(lines[begin - 1]):
        begin -= 1
    top = begin - 1
    while top > 0 and lines[top] and not RULE.match(lines[top]):
        top -= 1
    if begin == end or top < 0 or (lines[top] and not RULE.match(lines[top])):
        return None
    return Box(begin, " ".join(_PROMPT.sub("", line, count=1) for line in lines[begin:end]).strip())


def _above(lines: Sequence[str], place: int) -> str:
    """What it asks about, up to an empty line."""
    begin = place
    while begin and lines[begin - 1]:
        begin -= 1
    return " ".join(lines[begin:place])


def _failed(lines: Sequence[str]) -> str:
    """An error below what was asked last, up to the fence of its input line."""
    end = next((place for place in range(len(lines) - 1, -1, -1) if RULE.match(lines[place])), 0)
    for place in range(end - 1, -1, -1):
        if (found := _ERROR.match(lines[place])) is not None:
            return " ".join((found["error"], *lines[place + 1 : end]))
        if _PROMPT.match(lines[place]) or lines[place].startswith("Tokens: "):
            return ""
    return ""


_SCREENS = ScreenPatterns(
    tried="0.86.2",
    box=_input_line,
    placeholder=re.compile(r"(?!)"),
    busy=re.compile(r"(?!)"),
    busy_foot=re.compile(r"^ *[░█]+ +Waiting for \S"),
    turned=re.compile(r"^Tokens: |^\^C again to exit"),
    failed=_failed,
    retrying=re.compile(r"litellm\.(?P<error>\w+: [^\n]+(?:\n(?!The API )[^\n]+)?)\nThe API [^\n]+\nRetrying in "),
    dialogs=(
        Dialog(re.compile(r"^Run shell command"), "permission to run: {about}", _CLOSING, _above),
        Dialog(re.compile(r"^(?P<question>\S.*\?) \(Y\)es/\(N\)o"), "an answer: {question}", _CLOSING),
    ),
    interrupt=("C-c",),
    apart=re.compile(r"!|\{|/\S*/"),
    queues=False,
)


AGENT = Agent(
    name="aider",
    program=_PROGRAM,
    start=_START,
    screens=_SCREENS,
)
