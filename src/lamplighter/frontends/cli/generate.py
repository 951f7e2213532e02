"""Writes commands.json, all that the command line needs to know of the operations, so that it need not import them.

    python -m lamplighter.frontends.cli.generate

and docs/commands.md with it.

Knows how a field is spelt as an option. The only module here that imports models; no command imports it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lamplighter.frontends.cli.catalogue import class_of, load
from lamplighter.frontends.cli.command import FIELD
from lamplighter.frontends.cli.commands import NAMES
from lamplighter.operations import every_operation
from lamplighter.operations.operation import Operation

FILE = Path(__file__).with_name("commands.json")

MANUAL = Path(__file__).parents[4] / "docs" / "commands.md"
"""Only in the source tree."""

_FOR_COMMANDS = ("hand_off", "store_records", "update_record")
"""Operations without a command of their own, whose fields other commands have."""


def describe(operation: Operation) -> dict[str, Any]:
    """One operation as the command line sees it."""
    schema = operation.request.model_json_schema()
    required = schema.get("required", [])
    fields = [
        _field(name, facts, schema.get("$defs", {}), name in required)
        for name, facts in schema.get("properties", {}).items()
        if not facts.get("hidden")
    ]
    return {
        "details": _texts(operation)[1],
        "positional": list(operation.positional),
        "changes": operation.changes,
        "fields": fields,
    }


def _texts(operation: Operation) -> tuple[str, str]:
    """Summary and details."""
    summary, _, details = operation.description.partition("\n\n")
    return " ".join(summary.split()), " ".join(details.split())


def _field(name: str, facts: dict[str, Any], definitions: dict[str, Any], required: bool) -> dict[str, Any]:
    shape = _shape(facts, definitions)
    each = _shape(shape["items"], definitions) if "items" in shape else shape
    found = {
        "name": name,
        "type": each.get("type", "string"),
        "required": required,
        "default": facts.get("default"),
        "choices": each.get("enum"),
        "description": facts.get("description", ""),
        "list": shape.get("type") == "array" or _takes_several(facts),
        "dict": shape.get("type") == "object",
    }
    return {name: value for name, value in found.items() if name not in FIELD or value != FIELD[name]}


def _takes_several(facts: dict[str, Any]) -> bool:
    """Whether it is one word or several: on the command line the option can be given again."""
    return any(option.get("type") == "array" for option in facts.get("anyOf", [])[1:])


def _shape(facts: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The part of a field's schema that says its type, without None and through references."""
    options = [option for option in facts.get("anyOf", [facts]) if option.get("type") != "null"]
    shape = options[0]
    if "allOf" in shape:
        shape = shape["allOf"][0]
    if "$ref" in shape:
        shape = definitions[shape["$ref"].rpartition("/")[2]]
    return shape


def generate() -> str:
    """The file's text: what `lamp --help` lists, then the operations that a command needs."""
    operations = every_operation()
    entries = [_entry(name, operations) for name in NAMES]
    wanted = [each for each in operations.values() if each.command or each.name in _FOR_COMMANDS]
    lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
    described = [f"{json.dumps(each.name)}: {json.dumps(describe(each), ensure_ascii=False)}" for each in wanted]
    return '{"commands": [\n' + ",\n".join(lines) + '\n], "operations": {\n' + ",\n".join(described) + "\n}}\n"


def _entry(name: str, operations: dict[str, Operation]) -> dict[str, str]:
    own = class_of(name)
    of = next((each for each in operations.values() if each.command == name), operations.get(own.operation))
    return {
        "command": name,
        "operation": of.name if of else "",
        "group": own.group or (of.group if of else ""),
        "summary": own.summary or (_texts(of)[0] if of else ""),
    }


def manual() -> str:
    """docs/commands.md: what `--help` says of every command."""
    from lamplighter.frontends.cli.display.blocks import plain_lines
    from lamplighter.frontends.cli.parser import help_pages

    parts = ["# Commands\n\nGenerated: this is what `lamp COMMAND --help` prints.\n"]
    for name, command in load().items():
        parts.append(f"## lamp {name}\n\n```\n{chr(10).join(plain_lines(help_pages.page(command)))}\n```\n")
    return "\n".join(parts)


def main() -> int:
    FILE.write_text(generate(), encoding="utf-8")
    if MANUAL.parent.is_dir():
        MANUAL.write_text(manual(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
