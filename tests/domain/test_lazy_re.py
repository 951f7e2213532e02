"""A pattern that is compiled late is what the standard library compiles."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys

import lamplighter
from lamplighter import lazy_re


def test_it_is_what_the_standard_library_compiles() -> None:
    late, now = lazy_re.compile(r"(?P<word>\w+)!", lazy_re.IGNORECASE), re.compile(r"(?P<word>\w+)!", re.IGNORECASE)
    for _ in range(2):
        assert late.sub("-", "a! b!") == now.sub("-", "a! b!") == "- -"
        assert late.groupindex == now.groupindex
        assert (late.pattern, late.flags) == (now.pattern, now.flags)
        found = late.search("oh no!")
        assert found is not None
        assert found["word"] == "no"
    assert lazy_re.compile(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_every_late_pattern_can_be_compiled() -> None:
    """A mistake in one is not seen where its module is imported."""
    for module in pkgutil.walk_packages(lamplighter.__path__, "lamplighter."):
        if module.name.startswith(
            ("lamplighter.agents", "lamplighter.domain", "lamplighter.engine", "lamplighter.replay")
        ):
            importlib.import_module(module.name)
    late = [
        each
        for name, module in list(sys.modules.items())
        if name.startswith("lamplighter")
        for each in vars(module).values()
        if type(each) is lazy_re.compile
    ]
    assert len(late) > 100
    for each in late:
        assert isinstance(each.groups, int)
