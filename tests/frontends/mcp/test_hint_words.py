"""Hints are for who reads them: an agent that has the tools has no command line."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamplighter
from lamplighter.errors import Approved, Code, ConflictError, ForbiddenError, Hint, LampError, Option, Use
from lamplighter.frontends.cli.catalogue import load as load_commands
from lamplighter.frontends.cli.command import spellings
from lamplighter.frontends.cli.parser.arguments import parse
from lamplighter.frontends.mcp.core import TOOLSET as CORE
from lamplighter.frontends.mcp.hint_words import CORE as CORE_TOOLS
from lamplighter.frontends.mcp.hint_words import CORE_INPUTS
from lamplighter.frontends.mcp.toolsets import TOOLSETS, load
from tests.support.engine import Engine
from tests.support.mcp_client import ToolError, outside

CASES = [
    (
        Hint("end it politely with ", Use("end"), ", or kill it with ", Option("force", True)),
        "end it politely with lamp end, or kill it with --force",
        "end it politely with end_session, or kill it with force: true",
    ),
    (
        Hint(Use("ls", all=True), " lists those that there are and were"),
        "lamp ls --all lists those that there are and were",
        'list_sessions with selection: "all+ended" lists those that there are and were',
    ),
    (
        Hint("apply it with ", Use("cleanup", apply="plan-1"), ", or make another without ", Option("apply")),
        "apply it with lamp cleanup --apply plan-1, or make another without --apply",
        "apply it with cleanup_sessions with apply: plan-1, or make another without apply",
    ),
    (
        Hint("a shell's own words need a shell: ", Use("start", command=("sh", "-c", "…"))),
        "a shell's own words need a shell: lamp start -- sh -c '…'",
        'a shell\'s own words need a shell: start_session with command: ["sh", "-c", "…"]',
    ),
    (
        Hint("give ", Option("cwd"), " a folder that exists"),
        "give --cwd a folder that exists",
        "give cwd a folder that exists",
    ),
    (
        Hint("give ", Option("env", {"NAME": "VALUE"})),
        "give --env NAME=VALUE",
        'give env: {"NAME": "VALUE"}',
    ),
    (
        Hint(
            "go on: ", Option("from_session", "0smgmbxp"), "; ", Use("lineage", session="0smgmbxp"), " shows the line"
        ),
        "go on: --from 0smgmbxp; lamp lineage 0smgmbxp shows the line",
        "go on: from_session: 0smgmbxp; get_session of 0smgmbxp shows the line",
    ),
    (
        Hint("answer with ", Use("send", session="job", text="KEYS", keys=True)),
        "answer with lamp send --keys job KEYS",
        "answer with send_input with session: job, text: KEYS, keys: true",
    ),
    (
        Hint(Use("wait", session="job", until="idle"), ", then send the text"),
        "lamp wait job --for idle, then send the text",
        "wait_session with session: job, until: idle, then send the text",
    ),
    (
        Hint("make a new one: ", Use("cleanup", selection="idle,kind:cron")),
        "make a new one: lamp cleanup 'idle,kind:cron'",
        'make a new one: cleanup_sessions with selection: "idle,kind:cron"',
    ),
    (
        Hint(Use("records"), " lists them all"),
        "lamp records lists them all",
        "search_records without a query lists them all",
    ),
    (
        Hint(Use("doctor"), " says more; ", Use("events"), " too"),
        "lamp doctor says more; lamp events too",
        "the operator's lamp doctor says more; lamp events too",
    ),
    (
        Hint("name a likely one: ", Use("cleanup", leaks="ID")),
        "name a likely one: lamp cleanup --leaks ID",
        "name a likely one: the operator's lamp cleanup --leaks ID",
    ),
    (
        Hint("the operator grants it with ", Use("approve", request="ap-1")),
        "the operator grants it with lamp approve ap-1",
        "the operator grants it with lamp approve ap-1",
    ),
]
OPERATORS = frozenset(
    {"adopt", "approve", "attach", "doctor", "down", "events", "export", "mcp", "open", "prune", "token", "tree", "up"}
)
"""Commands that no tool stands for: people's own."""
OPERATORS_OPTIONS = frozenset({"acp", "budget", "json", "leaks", "save", "without"})
"""Options without an input of that tool. Only who could give one gets a hint that names it."""
_SOURCE = Path(lamplighter.__file__).parent
_OTHERS = ("frontends", "agents", "doctor.py")
"""Front ends have words of their own; agents' are their command lines; the doctor's checks are the operator's."""
ID = "0smgmbxp"
COMMANDS = load_commands()
_LINE = re.compile(r"\blamp ([a-z]+)((?: (?:--[a-z-]+|-- \S+|[A-Z]+\b|0smgmbxp|ls\b|revoke\b|tmux:NAME))*)")


@pytest.mark.parametrize(("hint", "typed", "called"), CASES, ids=[typed for _, typed, _ in CASES])
def test_a_hint_is_worded_by_each_front_end(hint: Hint, typed: str, called: str) -> None:
    error = ConflictError(Code.ACTIVE, "x", hint, a=1)
    assert error.document() == {"code": "ACTIVE", "message": "x", "hint": typed, "details": {"a": 1}}
    text, structured = CORE.failure(error)
    assert text == f"ACTIVE: x. Next: {called}"
    assert structured == {"error": {"code": "ACTIVE", "message": "x", "hint": called, "details": {"a": 1}}}


class _Named(ast.NodeTransformer):
    """What is put in at run time is an id."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        known = isinstance(
            node,
            ast.Call
            | ast.Constant
            | ast.keyword
            | ast.Tuple
            | ast.Dict
            | ast.expr_context
            | ast.Starred
            | ast.JoinedStr,
        )
        named = isinstance(node, ast.Name) and node.id in ("Hint", "Use", "Option", "Approved")
        if isinstance(node, ast.IfExp):
            return self.visit(node.body)
        if (
            isinstance(node, ast.FormattedValue)
            or (isinstance(node, ast.Call) and not _is_part(node))
            or not (known or named)
        ):
            return ast.copy_location(ast.Constant(ID), node)
        return super().generic_visit(node)


def _is_part(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("Hint", "Use", "Option", "Approved")
    )


def _hints(module: Path) -> Iterator[Hint]:
    """Those in a module, as they are written there, and parts that stand alone."""
    tree = ast.parse(module.read_text())
    inner = {id(part) for node in ast.walk(tree) if _is_part(node) for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if _is_part(node) and id(node) not in inner:
            expression = ast.fix_missing_locations(ast.Expression(_Named().visit(node)))
            found = eval(
                compile(expression, str(module), "eval"),
                {"Hint": Hint, "Use": Use, "Option": Option, "Approved": Approved},
            )
            yield found if isinstance(found, Hint) else Hint(found)


HINTS = {
    str(hint): hint
    for module in sorted(_SOURCE.rglob("*.py"))
    if module.relative_to(_SOURCE).parts[0] not in _OTHERS and module.name not in _OTHERS
    for hint in _hints(module)
}


def test_all_hints_are_looked_at() -> None:
    assert len(HINTS) > 70


@pytest.mark.parametrize("text", HINTS)
def test_every_command_in_a_hint_is_understood(text: str) -> None:
    """What a hint gives can be typed."""
    for use in (part for part in HINTS[text].parts if isinstance(part, Use)):
        words = shlex.split(str(use))
        command = COMMANDS[words[1]]
        missing = {"read": [ID], "start": ["--", "true"], "send": [ID, "text"]} if "session" not in use.fields else {}
        if use.fields and use.fields.keys() != {"session"}:
            parse(command, words[2:] + missing.get(use.command, []) * ("command" not in use.fields))
        assert use.fields.keys() <= {field["name"] for field in (*command.fields, *command.options)}, text
    for option in (part for part in HINTS[text].parts if isinstance(part, Option)):
        spelt = str(option).split()[0]
        assert any(
            spelt in spellings(one)
            for name in ("start", "kill", "cleanup", "records")
            for one in COMMANDS[name].options
        ), text


@pytest.mark.parametrize("text", HINTS)
def test_every_hint_names_what_a_client_has(text: str) -> None:
    """A command that a tool does is that tool, an option is one of its inputs; all else is said to be the operator's."""
    said = str(CORE.failure(ConflictError(Code.ACTIVE, "x", HINTS[text]))[1]["error"]["hint"])  # type: ignore[index]
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
    for text, hint in HINTS.items():
        for option in (part for part in hint.parts if isinstance(part, Option)):
            assert option.name in inputs | OPERATORS_OPTIONS, text


def test_the_tools_have_the_inputs_that_hints_give() -> None:
    for command, fields in CORE_INPUTS.items():
        tool = CORE.by_name[CORE_TOOLS[command].partition(" ")[0]]
        assert fields <= set(tool.input_schema["properties"]), command


def test_no_hint_is_written_for_one_front_end() -> None:
    """A text that is given for a hint names no command and no option: a part of a Hint does."""
    for module in sorted(_SOURCE.rglob("*.py")):
        if module.relative_to(_SOURCE).parts[0] in _OTHERS or module.name in _OTHERS:
            continue
        for node in ast.walk(ast.parse(module.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id.endswith("Error")
                and len(node.args) > 2
            ):
                texts = [
                    one.value
                    for one in ast.walk(node.args[2])
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                ]
                assert not [one for one in texts if re.search(r"\blamp [a-z]|(?<![\w\"-])--[a-z]", one)], (
                    f"{module}: {texts}"
                )


@pytest.mark.parametrize("toolset", TOOLSETS)
def test_words_are_of_tools_that_are_there(toolset: str) -> None:
    """Whatever a hint says, the tools in it are the toolset's own."""
    found = load(toolset)
    names = {tool.name for each in TOOLSETS for tool in load(each).tools}
    for typed, hint in HINTS.items():
        text, _ = found.failure(ConflictError(Code.ACTIVE, "x", hint))
        foreign = {word for word in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text) if word in names}
        foreign -= {word for word in names if word in typed}
        assert foreign <= set(found.by_name), text
        commands = _LINE.findall(text)
        assert not commands or "perator" in text, text


@pytest.mark.skipif("openclaw" not in TOOLSETS, reason="without that slice")
def test_nobody_is_told_to_give_what_a_tool_does_not_take() -> None:
    then = Hint("repeat exactly this call", Approved("ap-1"), "; it holds once")
    hint = Hint("the operator grants it with ", Use("approve", request="ap-1"), "; then ", then)
    error: LampError = ForbiddenError(Code.APPROVAL_NEEDED, "x", hint)
    said = json.loads(load("openclaw").failure(error)[0])["error"]["hint"]
    assert said == "the operator grants it with lamp approve ap-1; then repeat exactly this call; it holds once"
    assert CORE.failure(error)[0].endswith(str(hint))


def test_an_active_session(lit: Engine) -> None:
    with outside(lit) as (client, _):
        session = client.call("start_session", command=["cat"])["id"]
        with pytest.raises(ToolError, match="kill it with force: true"):
            client.call("kill_session", session=session)
