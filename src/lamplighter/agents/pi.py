"""pi: how its processes are recognised, how it is started, and what its screens say."""

from __future__ import annotations

from collections.abc import Sequence

from lamplighter import lazy_re as re
from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.screen_patterns import Box, Dialog, ScreenPatterns, last_said
from lamplighter.domain.agent_command import AgentCommand, Mode

_PROGRAM = Program(
    name="pi",
    names=frozenset({"pi"}),
    packages=("@mariozechner/pi-coding-agent",),
)

_START = AgentCommand(
    agent="pi",
    program=("pi",),
    package="@mariozechner/pi-coding-agent",
    # With a blank before it, a prompt is neither an option nor a file.
    terminal=Mode(resume=("--session", "{conversation}"), last=("--continue",), prompt=(" {prompt}",)),
    headless=Mode(
        new=("--mode", "json", "--print"),
        resume=("--mode", "json", "--print", "--session", "{conversation}"),
        last=("--mode", "json", "--print", "--continue"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    by_folder=True,
)

# -- screens

_RULE = re.compile(r"─{20}|─── ↑ \d+ more")
_FOOT = re.compile(r"─{20}|─── ↓ \d+ more")
_STATUS = re.compile(r"^(?:[↑↓RW$]\S+ )*(?:\d+\.\d%|\?)/\d\S*(?: |$)")
_LISTED = re.compile(r"^(?:→ | {2}\S| {2}\(\d+/\d+\)$)")
_CHOSEN = re.compile(r"^ *(?:→ |› |> ?$|> \S)")
_BELOW = 12


def _input_line(lines: Sequence[str]) -> Box | None:
    """Between two fences, above its status, with nothing but a list of commands or files between. A menu has the same place;
    an empty line is its first, or one of its own is marked."""
    status = next(
        (place for place in range(len(lines) - 1, max(0, len(lines) - 4), -1) if _STATUS.match(lines[place])), 0
    )
    foot = next((place for place in range(status - 1, max(-1, status - _BELOW), -1) if _FOOT.match(lines[place])), 0)
    begin = next((place for place in range(foot - 1, -1, -1) if _RULE.match(lines[place])), foot)
    typed, listed = lines[begin + 1 : foot], lines[foot + 1 : status - 1]
    if begin == foot or not typed or not all(_LISTED.match(line) for line in listed):
        return None
    if any(_CHOSEN.match(line) for line in typed) or (len(typed) > 1 and not typed[0]):
        return None
    return Box(begin, " ".join(typed).strip())


_SCREENS = ScreenPatterns(
    tried="0.73.1",
    box=_input_line,
    placeholder=re.compile(r"(?!)"),
    busy=re.compile(r"^ [\u2801-\u28ff] \S"),
    turned=re.compile(r"^↑\d|^ Operation aborted$"),
    dialogs=(Dialog(re.compile(r"^ *[→›] +\S"), "an answer", _STATUS),),
    failed=last_said(re.compile(r" Error: (?P<error>.+)"), re.compile(r" \S")),
    retrying=re.compile(r"^ Error: (?P<error>.+)\s+^ [\u2801-\u28ff] Retrying \(", re.MULTILINE),
    leave="/quit",
    shell="!",
    sure=True,
)


AGENT = Agent(
    name="pi",
    program=_PROGRAM,
    start=_START,
    screens=_SCREENS,
)
