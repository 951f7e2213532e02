"""The data file says what the operations say; help teaches every command."""

from __future__ import annotations

import importlib
import json
import pkgutil

from lamplighter import operations
from lamplighter.errors import Code
from lamplighter.frontends.cli import catalogue, generate, guide, plain
from lamplighter.frontends.cli.ask import _VIEWS  # pyright: ignore[reportPrivateUsage]
from lamplighter.frontends.cli.main import _OWN_WAY  # pyright: ignore[reportPrivateUsage]
from lamplighter.frontends.cli.statuses import MEANINGS, STATUS
from lamplighter.operations import every_operation
from lamplighter.operations.operation import OPERATIONS

COMMANDS = catalogue.load()


def test_commands_json_is_not_stale() -> None:
    assert generate.FILE.read_text(encoding="utf-8") == generate.generate(), (
        "run: python -m lamplighter.frontends.cli.generate"
    )


def test_every_operation_with_a_command_is_there() -> None:
    wanted = {operation.command for operation in every_operation().values() if operation.command}
    by_hand = {"run", "replay", "tree", "up", "token", "mcp", "hook", "install", "uninstall", "completion"}
    assert set(COMMANDS) == wanted | by_hand | {"remember", "resolve", "supersede", "forget"}
    assert "help" not in COMMANDS, "main answers it"


def test_the_registry_has_every_operation_where_it_is() -> None:
    for module in pkgutil.iter_modules(operations.__path__):
        importlib.import_module(f"{operations.__name__}.{module.name}")
    places = {name: operation.run.__module__.rpartition(".")[2] for name, operation in OPERATIONS.items()}
    assert {name: module for module, names in operations.MODULES.items() for name in names} == places


def test_hidden_fields_are_not_options() -> None:
    assert "environment" not in json.dumps([field["name"] for field in COMMANDS["start"].fields])


def test_every_command_has_a_page_with_examples() -> None:
    for command in COMMANDS.values():
        assert guide.EXAMPLES.get(command.name), f"{command.name} has no example"
        text = "\n".join(plain.lines(guide.page(command)))
        for option in command.options:
            for spelling in option["flags"] or [option["option"]]:
                assert spelling in text, f"{command.name}: {spelling}"


def test_every_example_is_understood() -> None:
    import shlex

    from lamplighter.frontends.cli.arguments import parse

    for name, lines in guide.EXAMPLES.items():
        for line in lines:
            words = shlex.split(line.split(" > ")[0].split(" && ")[0].rpartition("| ")[2])
            assert words[:2] == ["lamp", name]
            parse(COMMANDS[name], words[2:])


def test_help_is_grouped_and_an_empty_group_is_not_shown() -> None:
    lines = list(plain.lines(guide.overview(COMMANDS)))
    assert "sessions" in lines
    assert "machine" in lines
    assert ("memory" in lines) == any(command.group == "memory" for command in COMMANDS.values())
    for name in COMMANDS:
        assert any(line.startswith(f"  {name} ") for line in lines), name


def test_every_command_is_shown_by_something() -> None:
    for name in COMMANDS:
        assert name in _VIEWS or name in _OWN_WAY, f"{name} has no view"


def test_every_code_has_a_status_and_every_status_a_meaning() -> None:
    assert set(STATUS) == set(Code)
    assert {str(status) for status in STATUS.values()} <= {status for status, _ in MEANINGS}
