"""The slices: servers that Lamplighter is compatible with. Each is one folder of `compat/` and is there because the folder is.

A slice has its tools, operations, queries and what it keeps while the daemon runs; it imports downward and nothing imports it.
This module is the only way from the rest to a slice: it finds the folders and imports one by name when it is asked for.
Standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from lamplighter.app import App

_PACKAGE = "lamplighter.compat"
_FOLDER = os.path.join(os.path.dirname(__file__), "compat")
_TOOLSET = "toolset:TOOLSET"


class Slice(NamedTuple):
    """What the `__init__` of a slice declares as SLICE. `operations`: a module of it, and the names of the operations there.
    `part`: the module and class of what it keeps while the daemon runs. `state`: what it has at the top of the state folder."""

    operations: Mapping[str, tuple[str, ...]] = {}
    part: str | None = None
    state: tuple[str, ...] = ()


class Part:
    """What a slice keeps while the daemon runs. It is made with the app, and does nothing by itself."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def resume(self) -> None:
        """When the daemon starts, before anybody is heard: go on with what was begun."""

    async def forget_old(self) -> None:
        """Once a day: delete what is past its time."""


P = TypeVar("P", bound=Part)


class Parts:
    """The parts of all slices."""

    def __init__(self, app: App) -> None:
        self._all: list[Part] = [
            _load(name, each.part)(app) for name, each in every_slice().items() if each.part is not None
        ]

    def get(self, kind: type[P]) -> P:
        return next(part for part in self._all if isinstance(part, kind))

    async def resume(self) -> None:
        for part in self._all:
            await part.resume()

    async def forget_old(self) -> None:
        for part in self._all:
            await part.forget_old()


@cache
def slice_names() -> tuple[str, ...]:
    """A folder without an `__init__` is what is left of a slice that was deleted."""
    return tuple(
        sorted(name for name in os.listdir(_FOLDER) if os.path.isfile(os.path.join(_FOLDER, name, "__init__.py")))
    )


@cache
def every_slice() -> Mapping[str, Slice]:
    return {name: import_module(f"{_PACKAGE}.{name}").SLICE for name in slice_names()}


def operation_modules() -> Mapping[str, str]:
    """By the name of each operation of a slice the module that has it."""
    return {
        operation: f"{_PACKAGE}.{name}.{module}"
        for name, each in every_slice().items()
        for module, operations in each.operations.items()
        for operation in operations
    }


def toolset_places() -> Mapping[str, str]:
    """By the name of each slice the module and attribute of its tools."""
    return {name: f"{_PACKAGE}.{name}.{_TOOLSET}" for name in slice_names()}


def _load(name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(f"{_PACKAGE}.{name}.{module}"), attribute)
