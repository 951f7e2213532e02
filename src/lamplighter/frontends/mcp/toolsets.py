"""The toolsets that there are: the core, and those of slices, each a translation onto the operations.

A toolset is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from lamplighter.errors import Code, InputError
from lamplighter.slices import toolset_places

if TYPE_CHECKING:
    from lamplighter.frontends.mcp.toolset import Toolset

TOOLSETS = {"core": "lamplighter.frontends.mcp.core:TOOLSET", **toolset_places()}
"""Name → module and attribute."""


def load(name: str) -> Toolset:
    """The toolset, or BAD_INPUT that names those there are."""
    place = TOOLSETS.get(name)
    if place is None:
        raise InputError(Code.BAD_INPUT, f"there are no tools called {name[:40]!a}", f"there are {', '.join(TOOLSETS)}")
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)
