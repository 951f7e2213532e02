"""What people type who know other programs is understood, or answered with the command that does it."""

from __future__ import annotations

import re
import shlex

import pytest

from lamplighter.errors import InputError
from lamplighter.frontends.cli.catalogue import load
from lamplighter.frontends.cli.parser import suggestions
from lamplighter.frontends.cli.parser.arguments import parse

COMMANDS = load()


def hint(line: str) -> str:
    name, *words = shlex.split(line)
    if name not in COMMANDS:
        return suggestions.for_command(COMMANDS, name, words)
    with pytest.raises(InputError) as caught:
        parse(COMMANDS[name], words)
    return caught.value.hint


@pytest.mark.parametrize(
    ("line", "command"),
    [("ps", "lamp ls"), ("ps -a", "lamp ls -a"), ("ps --format x", "lamp ls"), ("stop build", "lamp end build"),
     ("stop", "lamp end ID"),
     ("logs build", "lamp read build --output"), ("logs -f build", "lamp read -f build --output"),
     ("tail build", "lamp read build --output --follow"), ("search how do we", "lamp recall how do we"),
     ("exec ls -l", "lamp start ls -l"), ("rm build", "lamp kill ID"), ("record build", "lamp replay ID"),
     ("play build", "lamp replay build"),
     ("resume", "lamp start --agent claude --resume last"),
     ("kill 'cron:*' --older-than 2h --dry-run", "lamp cleanup 'cron:*' --quiet-for 2h"),
     ("kill 'cron:*' --older-than=2h --force", "lamp cleanup 'cron:*' --quiet-for 2h --force"),
     ("kill 'cron:*'", "lamp cleanup 'cron:*'"), ("end a b", "lamp cleanup a+b"), ("kill --all", "lamp cleanup all"),
     ("kill --dry-run --older-than", "lamp cleanup"),
     ("end x --note hi", "--checkpoint TEXT"), ("start -d -- x", "start comes back at once by itself"),
     ("run --verbose x", "lamp run -- COMMAND --verbose"), ("lss", "did you mean lamp ls?"), ("ls --al", "did you mean --all?"),
     ("send x --what", "goes after --"), ("ls --what", "lamp ls --help"), ("version", "lamp --version")],
)  # fmt: skip
def test_what_was_tried_first_is_answered_with_the_command_that_does_it(line: str, command: str) -> None:
    assert command in hint(line)


def test_a_dash_goes_after_two_dashes_only_where_a_text_or_a_command_may_have_one() -> None:
    for command in COMMANDS.values():
        said = hint(f"{command.name} --no-such-option-at-all")
        takes_text = any(command.field(name)["words"] for name in command.positional)
        assert ("goes after --" in said) == takes_text, command.name


def test_every_command_that_a_hint_gives_is_one() -> None:
    for name in (*suggestions._AS_HERE, *suggestions._TOLD):
        for found in re.findall(r"lamp ([a-z]+|--\w+)", suggestions.for_command(COMMANDS, name, [])):
            assert found in COMMANDS or found == "--version", (name, found)
        assert name not in COMMANDS, name


@pytest.mark.parametrize(
    ("line", "expected"),
    [("ls -a", {"all": True}), ("run --timeout 10min -- x", {"max_age": "10min", "command": ["x"]}),
     ("run --max-age 5s x", {"max_age": "5s", "command": ["x"]}), ("start --timeout 5s x", {"max_age": "5s", "command": ["x"]}),
     ("cleanup --quiet-for 8h", {"older_than": "8h"}), ("cleanup --older-than 8h --dry-run", {"older_than": "8h"}),
     ("read x -f -n 5", {"session": "x", "follow": True, "lines": 5}), ("events -f", {"follow": True})],
)  # fmt: skip
def test_the_words_of_elsewhere_that_are_taken(line: str, expected: dict[str, object]) -> None:
    name, *words = shlex.split(line)
    assert parse(COMMANDS[name], words).request == expected
