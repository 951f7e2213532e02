"""The data file says what the operations say; help teaches every command."""

from __future__ import annotations

import importlib
import json
import pkgutil
from keyword import iskeyword

from lamplighter import compat, operations
from lamplighter.errors import Code
from lamplighter.frontends.cli import commands, generate
from lamplighter.frontends.cli.catalogue import load
from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.commands import NAMES
from lamplighter.frontends.cli.display.blocks import plain_lines
from lamplighter.frontends.cli.exit_status import MEANINGS, STATUS
from lamplighter.frontends.cli.parser import help_pages
from lamplighter.operations import every_operation
from lamplighter.operations.operation import OPERATIONS
from lamplighter.slices import operation_modules

COMMANDS = load()


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
    for package in (operations, compat):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    places = {name: operation.run.__module__ for name, operation in OPERATIONS.items()}
    ours = {name: f"{operations.__name__}.{module}" for module, names in operations.MODULES.items() for name in names}
    assert {**ours, **operation_modules()} == places


def test_hidden_fields_are_not_options() -> None:
    assert "environment" not in json.dumps([field["name"] for field in COMMANDS["start"].fields])


def test_every_command_has_a_page_with_examples() -> None:
    for command in COMMANDS.values():
        assert command.examples, f"{command.name} has no example"
        text = "\n".join(plain_lines(help_pages.page(command)))
        for option in command.options:
            for spelling in option["flags"] or [option["option"]]:
                assert spelling in text, f"{command.name}: {spelling}"


def test_every_example_is_understood() -> None:
    import shlex

    from lamplighter.frontends.cli.parser.arguments import parse

    examples = [(command.name, line) for command in COMMANDS.values() for line in command.examples]
    for name, line in (*examples, *((line.split()[1], line) for line in help_pages.FIRST_EXAMPLES)):
        words = shlex.split(line.split(" > ")[0].split(" && ")[0].rpartition("| ")[2])
        assert words[:2] == ["lamp", name]
        parse(COMMANDS[name], words[2:])


def test_help_is_grouped_and_an_empty_group_is_not_shown() -> None:
    lines = list(plain_lines(help_pages.overview(COMMANDS)))
    assert "sessions" in lines
    assert "machine" in lines
    assert ("memory" in lines) == any(command.group == "memory" for command in COMMANDS.values())
    for name in COMMANDS:
        assert any(line.startswith(f"  {name} ") for line in lines), name


def test_every_command_is_shown_by_something() -> None:
    for name, command in COMMANDS.items():
        assert hasattr(command, "view") or type(command).run is not Command.run, f"{name} has no view"


def test_every_module_of_a_command_is_listed_and_names_it() -> None:
    modules = {module.name for module in pkgutil.iter_modules(commands.__path__)}
    assert modules == {f"{name}_" if iskeyword(name) else name for name in NAMES}
    assert all(command.name == name for name, command in COMMANDS.items())


def test_every_code_has_a_status_and_every_status_a_meaning() -> None:
    assert set(STATUS) == set(Code)
    assert {str(status) for status in STATUS.values()} <= {status for status, _ in MEANINGS}
