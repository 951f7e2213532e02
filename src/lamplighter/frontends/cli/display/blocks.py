"""What a result looks like: lines, tables, trees of styled words; and all of them as aligned text, for a pipe.

Knows neither terminals nor sessions. What is more than a line is drawn on a terminal by `styled`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lamplighter.frontends.cli.display.format import width

Span = tuple[str, str]
"""A text that is harmless to show, and its style, or nothing."""
STYLES = {
    "good": ("32", "green"),
    "bad": ("1;31", "bold red"),
    "warn": ("33", "yellow"),
    "dim": ("2", "dim"),
    "strong": ("1", "bold"),
}
"""How a style is drawn: as the terminal's own code, and as rich calls it."""


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


# -- as text


def plain_lines(blocks: Iterable[Block]) -> Iterator[str]:
    """Every line of the blocks, without colour."""
    for block in blocks:
        if isinstance(block, TextLine):
            yield _join(block.spans).rstrip()
        elif isinstance(block, Table):
            yield from _table(block)
        else:
            yield from _forest(block)


def coloured(line: TextLine) -> str:
    """One line with colour."""
    return "".join(f"\x1b[{STYLES[style][0]}m{text}\x1b[0m" if style in STYLES else text for text, style in line.spans)


def _join(spans: Iterable[Span]) -> str:
    return "".join(text for text, _ in spans)


def _table(table: Table) -> Iterator[str]:
    rows = [[title.upper() for title in table.titles], *([text for text, _ in row] for row in table.rows)]
    widths = [max(width(row[index]) for row in rows) for index in range(len(table.titles))]
    right = [title in table.right for title in table.titles]
    for row in rows:
        cells = [_pad(cell, widths[index], right[index]) for index, cell in enumerate(row)]
        yield "  ".join(cells).rstrip()


def _pad(cell: str, columns: int, right: bool) -> str:
    space = " " * (columns - width(cell))
    return space + cell if right else cell + space


def _forest(forest: Forest) -> Iterator[str]:
    for root in forest.roots:
        yield _join(root.spans).rstrip()
        yield from _below(root, "")


def _below(branch: Branch, indent: str) -> Iterator[str]:
    # A chain of sessions or processes can be deeper than Python likes to recurse.
    stack = [(child, indent, child is branch.children[-1]) for child in reversed(branch.children)]
    while stack:
        node, before, last = stack.pop()
        yield f"{before}{'`- ' if last else '|- '}{_join(node.spans).rstrip()}"
        deeper = before + ("   " if last else "|  ")
        stack += [(child, deeper, child is node.children[-1]) for child in reversed(node.children)]
