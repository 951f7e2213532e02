"""Words on the command line become exactly the request they say, or an error."""

from __future__ import annotations

from typing import Any

import pytest

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.catalogue import load
from lamplighter.frontends.cli.parser.arguments import parse

COMMANDS = load()


def request(line: str | list[str]) -> dict[str, Any]:
    words = line.split() if isinstance(line, str) else line
    return parse(COMMANDS[words[0]], words[1:]).request


def options(line: str) -> dict[str, Any]:
    words = line.split()
    return parse(COMMANDS[words[0]], words[1:]).options


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls", {}),
        ("ls --all", {"all": True}),
        ("tree --all", {"all": True}),
        ("show abc", {"session": "abc"}),
        ("events", {}),
        ("events --follow abc", {"follow": True, "session": "abc"}),
        ("events abc --follow", {"follow": True, "session": "abc"}),
        ("read x --screen", {"session": "x", "mode": "screen"}),
        ("read x --output --since 12 --lines 3", {"session": "x", "mode": "output", "since": 12, "lines": 3}),
        ("read --cast x", {"session": "x", "mode": "cast"}),
        ("wait x --for idle --timeout 5m", {"session": "x", "until": ["idle"], "timeout": "5m"}),
        ("wait x --for=text=a=b", {"session": "x", "until": ["text=a=b"]}),
        ("wait x --for waiting,ended --for text=a", {"session": "x", "until": ["waiting,ended", "text=a"]}),
        ("end x --reason done --grace 0", {"session": "x", "reason": "done", "grace": "0"}),
        ("kill x --force --grace 2s", {"session": "x", "force": True, "grace": "2s"}),
        ("protect x --off", {"session": "x", "off": True}),
        ("prune --apply", {"apply": True}),
        ("down --all --yes", {"all": True}),
        ("send x hello there", {"session": "x", "text": "hello there"}),
        ("send x hi --no-enter", {"session": "x", "text": "hi", "enter": False}),
        ("send x Up Enter --keys", {"session": "x", "text": "Up Enter", "keys": True}),
        ("send x -- --keys -a", {"session": "x", "text": "--keys -a"}),
        ("send x -", {"session": "x", "text": "-"}),
        ("attach x --read-only", {"session": "x", "read_only": True}),
    ],
)
def test_words_become_a_request(line: str, expected: dict[str, Any]) -> None:
    assert request(line) == expected


def test_start_takes_every_option_of_the_table() -> None:
    words = [
        "start",
        "--name",
        "n",
        "--kind",
        "cron",
        "--parent",
        "p",
        "--cwd",
        "d",
        "--env",
        "A=1",
        "--env",
        "B=x=y",
        "--headless",
    ]
    words += ["--protect", "--keep-children", "--", "ls", "--all", "--", "-x"]
    assert request(words) == {
        "name": "n",
        "kind": "cron",
        "parent": "p",
        "cwd": "d",
        "env": {"A": "1", "B": "x=y"},
        "headless": True,
        "protect": True,
        "keep_children": True,
        "command": ["ls", "--all", "--", "-x"],
    }


@pytest.mark.parametrize("command", ["start", "run"])
def test_a_command_stays_untouched(command: str) -> None:
    words = [command, "--headless", "grep", "--json", "-h", "--", "--name"]
    assert request(words) == {"headless": True, "command": ["grep", "--json", "-h", "--", "--name"]}


def test_text_stays_as_it_is() -> None:
    text = " a  $(b) `c` \\ \n\t'\"%s\x1b "
    assert request(["send", "x", text]) == {"session": "x", "text": text}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("start", Code.EMPTY_COMMAND),
        ("start --", Code.EMPTY_COMMAND),
        ("run --headless", Code.EMPTY_COMMAND),
        ("show", Code.BAD_INPUT),
        ("show a b", Code.BAD_INPUT),
        ("send x", Code.BAD_INPUT),
        ("ls --al", Code.BAD_INPUT),
        ("ls -z", Code.BAD_INPUT),
        ("ls --all=yes", Code.BAD_INPUT),
        ("read x --lines", Code.BAD_INPUT),
        ("read x --lines many", Code.BAD_INPUT),
        ("read x --lines " + "9" * 5000, Code.BAD_INPUT),
        ("read x --screen --output", Code.BAD_INPUT),
        ("start --kind king -- x", Code.BAD_INPUT),
        ("start --env A -- x", Code.BAD_INPUT),
        ("start --env =1 -- x", Code.BAD_INPUT),
        ("start --name --headless -- x", Code.BAD_INPUT),
        ("start --nmae n -- x", Code.BAD_INPUT),
    ],
)
def test_wrong_words_are_refused_with_a_hint(line: str, code: Code) -> None:
    with pytest.raises(InputError) as error:
        request(line)
    assert error.value.code is code
    assert error.value.hint


def test_client_options_never_reach_the_request() -> None:
    assert options("down --all --yes --key k --json") == {"yes": True, "key": "k", "json": True}
    assert options("attach --detach-key C-] x") == {"detach_key": "C-]"}


def test_help_checks_nothing_else() -> None:
    assert options("show --help")["help"]
    assert options("start -h")["help"]


def test_every_changing_command_takes_a_key_and_every_command_json() -> None:
    for command in COMMANDS.values():
        spellings = {option["option"] for option in command.options}
        assert {"--json", "--help"} <= spellings
        changes = command.changes or command.name == "approve"  # it lists or decides
        assert ("--key" in spellings) == changes, command.name
