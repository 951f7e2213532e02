"""The commands there are. A command's own module is imported when it is asked for; what `lamp --help` lists is in commands.json.

Knows names; what each command is, the modules in `commands/` know.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from importlib import import_module

from lamplighter.frontends.cli.command import Command, Document

GROUPS = ("sessions", "memory", "machine")
_MODULES = {"import": "import_"}


class Catalogue(Mapping[str, Command]):
    """Every command by name, in the order in which help lists them."""

    def __init__(self, entries: list[Document], operations: Mapping[str, Document]) -> None:
        self.entries = {entry["command"]: entry for entry in entries}
        self._operations = operations
        self._known: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        entry = self.entries[name]
        if name not in self._known:
            self._known[name] = class_of(name)(entry, self._operations)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def class_of(name: str) -> type[Command]:
    """The class of a command that there is: `lamp ls` is LsCommand in commands/ls.py."""
    module = import_module(f"lamplighter.frontends.cli.commands.{_MODULES.get(name, name)}")
    return getattr(module, f"{name.title()}Command")


def load() -> Catalogue:
    path = os.path.join(os.path.dirname(__file__), "commands.json")
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    return Catalogue(found["commands"], found["operations"])
