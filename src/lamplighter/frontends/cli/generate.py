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

from lamplighter.operations.operation import Operation

FILE = Path(__file__).with_name("commands.json")

MANUAL = Path(__file__).parents[4] / "docs" / "commands.md"
"""Only in the source tree."""

_HANDOFF_OPTIONS = {
    "decisions": "--decision",
    "open_loops": "--open-loop",
    "preferences": "--preference",
    "constraints": "--constraint",
    "warnings": "--warning",
    "next_session_focus": "--focus",
    "resolved_loops": "--resolved",
    "dropped_loops": "--dropped",
    "transcript_path": "--transcript",
    "succession_policy": "--policy",
}
OPTIONS = {
    ("wait_session", "until"): "--for",
    ("load_handoff", "prompt"): "--for",
    ("start_session", "from_session"): "--from",
    ("cleanup_sessions", "older_than"): "--quiet-for",
    **{(operation, "everywhere"): "--global" for operation in ("search_records", "list_records")},
    **{(operation, "types"): "--type" for operation in ("search_records", "list_records")},
    **{
        (operation, field): option
        for operation in ("end_session", "hand_off")
        for field, option in _HANDOFF_OPTIONS.items()
    },
}
"""Options that are not called as their field is."""

ALSO = {
    ("start_session", "max_age"): ("--timeout",),
    ("cleanup_sessions", "older_than"): ("--older-than",),
    ("list_sessions", "all"): ("-a",),
    ("read_output", "lines"): ("-n",),
    ("read_output", "follow"): ("-f",),
    ("list_events", "follow"): ("-f",),
}
"""What an option may be called too: short, as people know it from elsewhere, or as it was called before."""

FLAGS = {("read_output", "mode"): ("screen", "output", "cast", "transcript")}
"""Fields whose choices are flags of their own: --screen instead of --mode screen."""

WORDS = {("send_input", "text"), ("search_records", "query")}
"""Positional fields that take every word that is left, joined by a space."""


def describe(operation: Operation) -> dict[str, Any]:
    """One operation as the command line sees it."""
    summary, _, details = operation.description.partition("\n\n")
    schema = operation.request.model_json_schema()
    required = schema.get("required", [])
    fields = [
        _field(operation, name, facts, schema.get("$defs", {}), name in required)
        for name, facts in schema.get("properties", {}).items()
        if not facts.get("hidden")
    ]
    return {
        "name": operation.name,
        "command": operation.command,
        "group": operation.group,
        "positional": list(operation.positional),
        "changes": operation.changes,
        "summary": " ".join(summary.split()),
        "details": " ".join(details.split()),
        "fields": fields,
    }


def _field(
    operation: Operation, name: str, facts: dict[str, Any], definitions: dict[str, Any], required: bool
) -> dict[str, Any]:
    shape = _shape(facts, definitions)
    negated = shape.get("type") == "boolean" and facts.get("default") is True
    flags = FLAGS.get((operation.name, name))
    spelt = OPTIONS.get((operation.name, name), f"--{'no-' if negated else ''}{name.replace('_', '-')}")
    positional = name in operation.positional
    each = _shape(shape["items"], definitions) if "items" in shape else shape
    also = ALSO.get((operation.name, name))
    return {
        "name": name,
        "option": None if positional or flags else spelt,
        **({"also": list(also)} if also else {}),
        "flags": {f"--{choice}": choice for choice in flags} if flags else None,
        "type": each.get("type", "string"),
        "required": required,
        "default": facts.get("default"),
        "choices": None if flags else each.get("enum"),
        "description": facts.get("description", ""),
        "list": shape.get("type") == "array" or _takes_several(facts),
        "dict": shape.get("type") == "object",
        "negated": negated,
        "words": (operation.name, name) in WORDS,
    }


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
    """The file's text."""
    from lamplighter.operations import every_operation

    commands = [describe(operation) for operation in every_operation().values()]
    return json.dumps({"commands": commands}, indent=1, ensure_ascii=False) + "\n"


def manual() -> str:
    """docs/commands.md: what `--help` says of every command."""
    from lamplighter.frontends.cli import catalogue, guide, plain

    parts = ["# Commands\n\nMade from the operations, as `lamp COMMAND --help` shows it.\n"]
    for name, command in catalogue.load().items():
        parts.append(f"## lamp {name}\n\n```\n{chr(10).join(plain.lines(guide.page(command)))}\n```\n")
    return "\n".join(parts)


def main() -> int:
    FILE.write_text(generate(), encoding="utf-8")
    if MANUAL.parent.is_dir():
        MANUAL.write_text(manual(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
