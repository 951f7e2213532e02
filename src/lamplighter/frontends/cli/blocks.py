"""What a result looks like, before it is decided where it is drawn: lines, tables, trees of styled words.

Knows neither terminals nor sessions. `plain` writes blocks for a pipe, `styled` draws them on a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[str, str]
"""A text that is harmless to show, and its style: good, bad, warn, dim, strong, or nothing."""


class TextLine:
    """One line. `loud` goes to standard error: what nobody may miss, and what is not the result itself."""

    __slots__ = ("loud", "spans")

    def __init__(self, *spans: Span | str, loud: bool = False) -> None:
        self.spans: list[Span] = [(span, "") if isinstance(span, str) else span for span in spans]
        self.loud = loud


class Table:
    """Rows under titles. The last column, and the `soft` one, share the room that is left."""

    __slots__ = ("right", "rows", "soft", "titles")

    def __init__(
        self, titles: Sequence[str], rows: Sequence[Sequence[Span | str]], right: Sequence[str] = (), soft: str = ""
    ) -> None:
        self.soft = soft
        self.titles = list(titles)
        self.rows: list[list[Span]] = [[(c, "") if isinstance(c, str) else c for c in row] for row in rows]
        self.right = frozenset(right)


class Branch:
    """A node of a tree."""

    __slots__ = ("children", "spans")

    def __init__(self, *spans: Span | str) -> None:
        self.spans: list[Span] = [(span, "") if isinstance(span, str) else span for span in spans]
        self.children: list[Branch] = []


class Forest:
    """Trees, one below the other."""

    __slots__ = ("roots",)

    def __init__(self, roots: Sequence[Branch]) -> None:
        self.roots = list(roots)


Block = TextLine | Table | Forest


def facts(pairs: Sequence[tuple[str, Span | str]]) -> list[Block]:
    """Names and values under one another, the values in line."""
    longest = max((len(name) for name, _ in pairs), default=0)
    return [TextLine((f"{name:<{longest}}  ", "dim"), value) for name, value in pairs]


def grow(nodes: dict[str, Branch], parents: dict[str, str | None]) -> list[Branch]:
    """The roots, with every node below its parent. One whose parent is not there, or is below it, is a root."""
    roots: list[Branch] = []
    for key, branch in nodes.items():
        parent = parents.get(key)
        if parent is None or parent not in nodes or _is_below(parent, key, parents):
            roots.append(branch)
        else:
            nodes[parent].children.append(branch)
    return roots


def _is_below(node: str, other: str, parents: dict[str, str | None]) -> bool:
    seen: set[str] = set()
    step: str | None = node
    while step is not None and step not in seen:
        if step == other:
            return True
        seen.add(step)
        step = parents.get(step)
    return False
