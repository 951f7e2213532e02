"""What a command of `lamp` is. Each stands in a module of its own in `commands/`, as a class below this one.

Most are one operation, and have summary, details and fields from there; a class says what is different on the command line. Knows
no operation by name, and nothing of the daemon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from lamplighter.frontends.cli.display.blocks import Block
    from lamplighter.frontends.cli.display.output import CommandOutput
    from lamplighter.frontends.cli.parser.arguments import Arguments

Field = dict[str, Any]
Document = dict[str, Any]
FIELD: Field = {
    "option": None,
    "flags": None,
    "type": "string",
    "required": False,
    "default": None,
    "choices": None,
    "description": "",
    "list": False,
    "dict": False,
    "negated": False,
    "words": False,
}
"""What a field is where nothing else is said of it."""


class AgentNames:
    """The agents that have a part, behind other words. They are asked about only when somebody looks: most commands do not."""

    def __init__(self, part: str, before: Iterable[str] = ()) -> None:
        self._part = part
        self._before = before

    def __iter__(self) -> Iterator[str]:
        from lamplighter.agents import names_with

        yield from self._before
        yield from names_with(self._part)


def option(name: str, spelling: str, description: str, **facts: Any) -> Field:
    return {**FIELD, "name": name, "option": spelling, "description": description, **facts}


def client_option(name: str, spelling: str, description: str, **facts: Any) -> Field:
    """An option that never reaches the daemon: yes or no, unless `facts` say otherwise."""
    yes_or_no = {"type": "boolean", "default": False}
    return {**FIELD, **yes_or_no, "name": name, "option": spelling, "description": description, "client": True, **facts}


def place(name: str, description: str, **facts: Any) -> Field:
    """A word without an option, of a command that is not simply an operation."""
    return {**FIELD, "name": name, "required": True, "description": description, **facts}


def spellings(option: Field) -> tuple[str, ...]:
    """All that it may be called, the name that help uses first."""
    return tuple(option["flags"] or (option["option"], *option.get("also", ())))


_JSON = client_option("json", "--json", "print one JSON document and nothing else; errors too")
_HELP = client_option("help", "--help", "show this help")
KEY = client_option(
    "key",
    "--key",
    "idempotency key: the same key again does nothing and returns the first result",
    type="string",
    default=None,
)


class Command:
    name: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]
    notes: ClassVar[str] = ""
    """What help says after the details."""

    operation: str = ""
    """Named by a class where no operation has this command."""
    group: str = ""
    summary: str = ""
    details: str = ""
    changes: bool | None = None
    own_places: ClassVar[tuple[str, ...] | None] = None
    """The fields without an option, in order. These five are the operation's, where a class does not say them."""

    client_options: ClassVar[tuple[Field, ...]] = ()
    spelt: ClassVar[Mapping[str, str]] = {}
    """Options that are not called as their field is."""
    also: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """What an option may be called too: short, as people know it from elsewhere, or as it was called before."""
    flags: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Fields whose choices are options of their own: --screen instead of --mode screen."""
    words: ClassVar[tuple[str, ...]] = ()
    """Positional fields that take every word that is left, joined by a space."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Options of other programs, and what does the same here."""
    ends_one = False
    """Whether it names the one session that it ends, so that nobody ends more than is meant."""
    ended_too = False
    """Whether completion offers sessions that have ended."""

    def __init__(self, entry: Document, operations: Mapping[str, Document]) -> None:
        """`entry` and `operations` are those of commands.json."""
        self.operation = entry["operation"]
        self.group = entry["group"]
        self.summary = entry["summary"]
        known: Document = operations.get(self.operation, {})
        self.details = self.details or known.get("details", "")
        self.changes = bool(known.get("changes")) if self.changes is None else self.changes
        self.positional: list[str] = list(known.get("positional", ()) if self.own_places is None else self.own_places)
        self.fields = self.make_fields(operations)

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        return self.fields_of(operations, self.operation)

    def fields_of(self, operations: Mapping[str, Document], operation: str) -> list[Field]:
        """An operation's fields, as this command spells them."""
        return [self._spell({**FIELD, **field}) for field in operations.get(operation, {}).get("fields", ())]

    def _spell(self, field: Field) -> Field:
        name = field["name"]
        negated = field["type"] == "boolean" and field["default"] is True
        option = self.spelt.get(name, f"--{'no-' if negated else ''}{name.replace('_', '-')}")
        found = {**field, "negated": negated, "words": name in self.words}
        if name in self.flags:
            return {**found, "flags": {f"--{choice}": choice for choice in self.flags[name]}, "choices": None}
        if name in self.also:
            found["also"] = self.also[name]
        return {**found, "option": None if name in self.positional else option}

    @property
    def options(self) -> list[Field]:
        """All that has a name on the command line: the operation's fields, then what only the client knows."""
        own = [field for field in self.fields if field["name"] not in self.positional]
        return [*own, *self.client_options, *((KEY,) if self.changes else ()), _JSON, _HELP]

    def field(self, name: str) -> Field:
        return next(field for field in self.fields if field["name"] == name)

    def document(self) -> Document:
        return {
            "command": self.name,
            "group": self.group,
            "positional": self.positional,
            "changes": self.changes,
            "summary": self.summary,
            "details": self.details,
            "options": [_public(option) for option in self.options],
        }

    def complete(self, request: Document) -> Document:
        """The request as the daemon gets it, made from what was typed."""
        return request

    view: ClassVar[Callable[[Document], list[Block]]]
    """How an answer is shown: a function, as a static method."""

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        """The exit status. Most ask once and show the answer."""
        from lamplighter.frontends.cli.daemon_client import DaemonClient
        from lamplighter.frontends.cli.exit_status import status_of_result
        from lamplighter.home import find_home

        key = arguments.key if self.changes else ""
        result = DaemonClient(find_home()).call(self.operation, self.complete(arguments.request), key)
        output.show(result, type(self).view)
        return status_of_result(result)


def _public(option: Field) -> Document:
    names = ("option", "flags", "type", "default", "description", "list", "dict")
    choices = option["choices"] and list(option["choices"])
    return {**{name: option[name] for name in names}, "choices": choices, "spellings": spellings(option)}
