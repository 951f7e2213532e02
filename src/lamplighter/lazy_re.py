"""`re` as the standard library has it, but a pattern is compiled when it is first used.

The daemon's modules have three hundred patterns, most of them for screens of agents that never run; to compile them took a
seventh of its start. Where patterns stand at the top of a module, `from lamplighter import lazy_re as re` stands for `re`.
"""

from __future__ import annotations

import re as _re
from re import ASCII as ASCII
from re import DOTALL as DOTALL
from re import IGNORECASE as IGNORECASE
from re import MULTILINE as MULTILINE
from re import Match as Match
from re import Pattern as Pattern
from re import compile as compile
from re import escape as escape
from re import finditer as finditer
from re import fullmatch as fullmatch
from re import search as search
from re import sub as sub
from typing import TYPE_CHECKING, Any

if not TYPE_CHECKING:

    class compile:
        """What a pattern is asked for the first time is looked up in the compiled one, and kept here."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self._source = pattern, flags

        def __getattr__(self, name: str) -> Any:
            found = getattr(_re.compile(*self._source), name)  # the second time, `re` has it in its own cache
            setattr(self, name, found)
            return found
