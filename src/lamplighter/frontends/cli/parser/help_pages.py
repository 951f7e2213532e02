"""What `--help` teaches. Knows words and examples; runs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lamplighter.frontends.cli.catalogue import GROUPS, Catalogue
from lamplighter.frontends.cli.command import Command, spellings
from lamplighter.frontends.cli.display.blocks import Block, TextLine
from lamplighter.frontends.cli.exit_status import MEANINGS
from lamplighter.frontends.cli.parser.arguments import metavar

FIRST_EXAMPLES = (
    "lamp start --agent claude --prompt 'mend the date parser'",
    "lamp read claude",
    "lamp attach claude",
    "lamp end claude --reason 'done for today'",
)


def overview(commands: Catalogue) -> list[Block]:
    """`lamp --help`."""
    blocks: list[Block] = [
        TextLine(
            ("lamp", "strong"),
            " runs agents and other commands as sessions, and ends each with every process that it started",
        ),
        TextLine(),
        TextLine("  lamp                 show what runs, what waits for you, what to do next"),
        TextLine("  lamp COMMAND --help  show how to use a command"),
    ]
    for group in GROUPS:
        members = [entry for entry in commands.entries.values() if entry["group"] == group]
        if members:
            blocks += [TextLine(), TextLine((group, "strong"))]
            blocks += [TextLine(f"  {one['command']:<11}", _first_sentence(one["summary"])) for one in members]
    blocks += [TextLine(), TextLine(("everywhere", "strong"))]
    blocks += [TextLine("  --json     print one JSON document on standard output and nothing else; errors too")]
    blocks += [
        TextLine("  --help     show what a command does, with examples"),
        TextLine("  --version  print the version"),
    ]
    blocks += [TextLine("  ID         an id, a unique prefix of one, or a name. Times: 5, 30s, 10m, 1h30m, 2d")]
    blocks += [TextLine(), TextLine(("examples", "strong"))]
    blocks += [TextLine(f"  {example}") for example in FIRST_EXAMPLES]
    blocks += [TextLine(), TextLine(("exit status", "strong"))]
    return blocks + [TextLine(f"  {status:<4}", meaning) for status, meaning in MEANINGS]


def page(command: Command) -> list[Block]:
    """`lamp COMMAND --help`."""
    blocks: list[Block] = [TextLine(("usage: ", "dim"), usage(command)), TextLine()]
    blocks += _paragraph(command.summary)
    for text in (command.details, command.notes):
        if text:
            blocks += [TextLine(), *_paragraph(text)]
    places = [command.field(name) for name in command.positional]
    rows = [(metavar(field), field["description"]) for field in places] + list(_rows(command.options))
    longest = max(len(left) for left, _ in rows)
    blocks += [TextLine()]
    for left, right in rows:
        blocks += [
            TextLine(f"  {left:<{longest}}  {line}" if not n else f"  {'':<{longest}}  {line}")
            for n, line in _folded(right, longest)
        ]
    examples = command.examples
    return (
        blocks
        + ([TextLine(), TextLine(("examples", "strong"))] if examples else [])
        + [TextLine(f"  {text}") for text in examples]
    )


def usage(command: Command) -> str:
    """One line: lamp show ID [--json]."""
    words = ["lamp", command.name]
    rest = ""
    for field in map(command.field, command.positional):
        if field["name"] == "command":
            rest = f" -- {metavar(field)}"
        else:
            words.append(metavar(field) if field["required"] else f"[{metavar(field)}]")
    own = [option for option in command.options if option["name"] not in ("help", "key")]
    return " ".join([*words, *(f"[{_spelt(option)}]" for option in own)]) + rest


def _spelt(option: dict[str, Any]) -> str:
    names = "|".join(spellings(option))
    if option["flags"] or option["type"] == "boolean":
        return names
    return f"{names} {metavar(option)}{'…' if option['dict'] or option['list'] else ''}"


def _rows(options: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    for option in options:
        yield _spelt(option), _described(option)


def _described(option: dict[str, Any]) -> str:
    text = option["description"]
    if option["negated"]:
        return f"do not {text}"
    if option["default"] in (None, False, "", [], {}) or option["flags"]:
        return text
    return f"{text} (default {option['default']})"


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].split(": ")[0].rstrip(".")


def _paragraph(text: str) -> list[Block]:
    return [TextLine(line) for _, line in _folded(text, 0)]


def _folded(text: str, indent: int, width: int = 100) -> Iterable[tuple[int, str]]:
    line, number = "", 0
    for word in text.split():
        if line and len(line) + 1 + len(word) > max(30, width - indent):
            yield number, line
            line, number = "", number + 1
        line = f"{line} {word}" if line else word
    yield number, line
