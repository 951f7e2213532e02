"""The shape of the engine: what only certain folders may do."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "lamplighter"
WHO_MAY_ASK = ("engine/backends/", "domain/")
KINDS = frozenset({"traced", "logical", "driver"})
"""What says which kind of session one is."""


def test_only_backends_ask_which_kind_of_session_one_is() -> None:
    """Above them, behaviour that differs by the way to run is a backend's: `backends.of(session)`."""
    asked = [
        f"{place}:{line}"
        for path in SOURCE.rglob("*.py")
        if not (place := str(path.relative_to(SOURCE))).startswith(WHO_MAY_ASK)
        for line in _questions(ast.parse(path.read_text()))
    ]
    assert asked == []


def _questions(tree: ast.AST) -> list[int]:
    """Lines where a session's kind is compared with another, and where it is asked for by name."""
    found: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            found += [node.lineno for side in sides if isinstance(side, ast.Attribute) and side.attr in KINDS]
            found += [node.lineno for side in sides if isinstance(side, ast.Name) and side.id == "driver"]
        elif isinstance(node, ast.Attribute) and node.attr in KINDS - {"driver"}:
            found.append(node.lineno)
    return sorted(set(found))
