"""Blocks as aligned text, for a pipe; single lines with colour, for a terminal that needs no more. No rich."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lamplighter.frontends.cli.blocks import Block, Branch, Forest, Span, Table, TextLine
from lamplighter.frontends.cli.text import width

COLOURS = {"good": "32", "bad": "1;31", "warn": "33", "dim": "2", "strong": "1"}


def lines(blocks: Iterable[Block]) -> Iterator[str]:
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
    return "".join(f"\x1b[{COLOURS[style]}m{text}\x1b[0m" if style in COLOURS else text for text, style in line.spans)


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
