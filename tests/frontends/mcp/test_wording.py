"""Hints are for who reads them: an agent that has the tools has no command line."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamplighter
from lamplighter.errors import Code, ConflictError, ForbiddenError, LampError
from lamplighter.frontends.mcp.core import TOOLSET as CORE
from lamplighter.frontends.mcp.toolsets import load
from lamplighter.frontends.mcp.toolsets.openclaw import TOOLSET as OPENCLAW
from lamplighter.testing.engine import Engine
from lamplighter.testing.mcp_client import ToolError, outside

CASES = {
    "end it politely with lamp end, or kill it with --force": "end it politely with end_session, or kill it with force: true",
    "lamp ls --all lists those that there are and were": (
        'list_sessions with selection: "all+ended" lists those that there are and were'
    ),
    "apply it with lamp cleanup --apply plan-1, or make another without --apply": (
        "apply it with cleanup_sessions with apply: plan-1, or make another without apply"
    ),
    "a shell's own words need a shell: lamp start -- sh -c '…'": (
        'a shell\'s own words need a shell: command: ["sh", "-c", "…"]'
    ),
    "give --cwd a folder that exists": "give cwd a folder that exists",
    "go on from that one: --from 0smgmbxp; lamp lineage 0smgmbxp shows the line": (
        "go on from that one: from_session 0smgmbxp; get_session of 0smgmbxp shows the line"
    ),
    "answer with lamp send --keys job KEYS": "answer with send_input with session: job, text: KEYS, keys: true",
    "lamp wait job --for idle, then send the text": ("wait_session with session: job, until: idle, then send the text"),
    "lamp records lists them all": "search_records without a query lists them all",
    "lamp show 0smgmbxp says more": "get_session of 0smgmbxp says more",
    "lamp doctor says more; lamp events too": "the operator's lamp doctor says more; lamp events too",
    "name a likely one: lamp cleanup --leaks ID": "name a likely one: the operator's lamp cleanup --leaks ID",
    "the operator grants it with lamp approve ap-1": "the operator grants it with lamp approve ap-1",
}
OPERATORS = frozenset(
    {"adopt", "approve", "attach", "doctor", "down", "events", "export", "mcp", "open", "prune", "token", "tree", "up"}
)
"""Commands that no tool stands for: people's own."""
OPERATORS_OPTIONS = frozenset({"acp", "budget", "json", "leaks", "save", "without"})
"""Options without an input of that tool. Only who could give one gets a hint that names it."""
_SOURCE = Path(lamplighter.__file__).parent
_OTHERS = ("frontends", "testing", "agents", "host.py")
"""Front ends have words of their own; agents' are their command lines; the doctor's checks are the operator's."""
_LINE = re.compile(r"\blamp ([a-z]+)((?: (?:--[a-z-]+|-- \S+|[A-Z]+\b|0smgmbxp))*)")


@pytest.mark.parametrize("hint", CASES)
def test_a_hint_names_tools(hint: str) -> None:
    text, structured = CORE.failure(ConflictError(Code.ACTIVE, "x", hint, a=1))
    assert text == f"ACTIVE: x. Next: {CASES[hint]}"
    assert structured == {"error": {"code": "ACTIVE", "message": "x", "hint": CASES[hint], "details": {"a": 1}}}


def _literals(module: Path) -> Iterator[str]:
    """The texts in a module that speak of a command or an option, and are neither docstrings nor descriptions; for what is put
    in at run time stands an id."""
    tree = ast.parse(module.read_text())
    passed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr | ast.keyword) and (isinstance(node, ast.Expr) or node.arg == "description"):
            passed.update(id(part) for part in ast.walk(node.value) if isinstance(part, ast.Constant))
        elif isinstance(node, ast.JoinedStr):
            passed.update(id(part) for part in ast.walk(node) if part is not node)
    for node in ast.walk(tree):
        if id(node) in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "0smgmbxp" for part in node.values]
            text = "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if " " in text and "\n" not in text and re.search(r"\blamp [a-z]|(?<![\w\"-])--[a-z]", text):
            yield text


HINTS = sorted(
    {
        text
        for module in _SOURCE.rglob("*.py")
        if module.relative_to(_SOURCE).parts[0] not in _OTHERS and module.name not in _OTHERS
        for text in _literals(module)
        if not re.search(r"\(\?[:P]", text)
    }
)


def test_all_hints_are_looked_at() -> None:
    assert len(HINTS) > 80


@pytest.mark.parametrize("hint", HINTS)
def test_every_hint_names_what_a_client_has(hint: str) -> None:
    """A command that a tool does is that tool, an option is one of its inputs; all else is said to be the operator's."""
    said = str(CORE.failure(ConflictError(Code.ACTIVE, "x", hint))[1]["error"]["hint"])  # type: ignore[index]
    for command, rest in _LINE.findall(said):
        assert "operator" in said, said
        assert command in OPERATORS or set(re.findall(r"--([a-z]+)", rest)) & OPERATORS_OPTIONS, said
    left = _LINE.sub("", said)
    assert not re.search(r"(?<![\w\"-])--", left), said
    for tool, inputs in re.findall(r"\b([a-z]+_[a-z]+)(?: without a query,)? with ((?:\w+: [^,;]+(?:, )?)+)", left):
        named = re.findall(r"(?:^|, )(\w+): ", inputs)
        assert set(named) <= set(CORE.by_name[tool].input_schema["properties"]), said


def test_every_option_in_a_hint_is_an_input() -> None:
    inputs = {name for tool in CORE.tools for name in tool.input_schema["properties"]}
    for hint in HINTS:
        for option in re.findall(r"(?<![\w\"-])--([a-z-]+)", _LINE.sub("", hint)):
            said = str(CORE.failure(ConflictError(Code.ACTIVE, "x", f"--{option}"))[1]["error"]["hint"])  # type: ignore[index]
            assert re.match(r"\w+", said)[0] in inputs | OPERATORS_OPTIONS, hint  # type: ignore[index]


@pytest.mark.parametrize("toolset", ["core", "openclaw", "rekindle", "delx", "kiro", "tmux"])
def test_words_are_of_tools_that_are_there(toolset: str) -> None:
    """Whatever a hint says, the tools in it are the toolset's own."""
    found = load(toolset)
    names = {
        tool.name for each in ("core", "openclaw", "rekindle", "delx", "kiro", "tmux") for tool in load(each).tools
    }
    for hint in HINTS:
        text, _ = found.failure(ConflictError(Code.ACTIVE, "x", hint))
        foreign = {word for word in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text) if word in names}
        foreign -= {word for word in names if word in hint}
        assert foreign <= set(found.by_name), text
        commands = _LINE.findall(text)
        assert not commands or "perator" in text, text


def test_nobody_is_told_to_give_what_a_tool_does_not_take() -> None:
    hint = (
        "the operator grants it with lamp approve ap-1; then repeat exactly this call with approval ap-1; it holds once"
    )
    error: LampError = ForbiddenError(Code.APPROVAL_NEEDED, "x", hint)
    said = json.loads(OPENCLAW.failure(error)[0])["error"]["hint"]
    assert said == "the operator grants it with lamp approve ap-1; then repeat exactly this call; it holds once"
    assert CORE.failure(error)[0].endswith(hint)


def test_an_active_session(lit: Engine) -> None:
    with outside(lit) as (client, _):
        session = client.call("start_session", command=["cat"])["id"]
        with pytest.raises(ToolError, match="kill it with force: true"):
            client.call("kill_session", session=session)
