"""Blocks on a terminal, drawn by rich. Imported only when there is a table or a tree to draw.

Every text becomes a rich `Text`, never markup, so that a name such as [red] stays a name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from rich.text import Text
from rich.tree import Tree

from lamplighter.frontends.cli.display.blocks import STYLES, Block, Branch, Forest, Span, Table, TextLine

_WHOLE, _GAP = 24, 3  # columns that a cell is kept whole up to, and between two of them
_LABEL, _INDENT = 40, 4  # columns a tree's label keeps, and each level takes


def draw(blocks: Iterable[Block], stream: TextIO) -> None:
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    for block in blocks:
        if isinstance(block, Forest):
            for root in block.roots:
                console.print(_tree(root, max(4, (console.width - _LABEL) // _INDENT)))
        else:
            console.print(
                _line(block) if isinstance(block, TextLine) else _table(block, console.width),
                soft_wrap=isinstance(block, TextLine),
            )


@contextmanager
def progress(stream: TextIO) -> Generator[Callable[[int, int, TextLine], None]]:
    """A bar at the bottom while lines go by above it; it is told how far it is with each line, and is gone at the end."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("ending", total=None)

        def step(done: int, total: int, line: TextLine) -> None:
            bar.update(task, completed=done, total=total)
            bar.console.print(_line(line), soft_wrap=True)

        yield step


def _text(spans: Iterable[Span]) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for words, style in spans:
        text.append(words, STYLES[style][1] if style in STYLES else "")
    return text


def _line(line: TextLine) -> RenderableType:
    text = _text(line.spans)
    text.no_wrap, text.overflow = None, None
    return text


def _widest(table: Table, index: int) -> int:
    return max(len(table.titles[index]), *(len(row[index][0]) for row in table.rows), 0)


def _widths(table: Table, room: int) -> list[int]:
    """How wide each column is. On a narrow terminal the soft one and the last give way; then columns at the right go."""
    last = len(table.titles) - 1
    widths = [min(_WHOLE, _widest(table, index)) for index in range(last)]
    left = room - _GAP * last - sum(widths)
    if table.soft:
        soft = table.titles.index(table.soft)
        left += widths[soft]
        widths[soft] = min(_widest(table, soft), max(len(table.soft), left * 2 // 3))
        left -= widths[soft]
    return [*widths, max(len(table.titles[last]), min(left, _widest(table, last)))]


def _table(table: Table, room: int) -> RenderableType:
    drawn = RichTable(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    widths = _widths(table, room)
    fitting = next((n for n in range(len(widths), 1, -1) if sum(widths[:n]) + _GAP * (n - 1) <= room), 1)
    for title, width in zip(table.titles[:fitting], widths, strict=False):
        side = "right" if title in table.right else "left"
        drawn.add_column(title, justify=side, no_wrap=True, overflow="ellipsis", width=width)
    for row in table.rows:
        drawn.add_row(*(_text([cell]) for cell in row[:fitting]))
    return drawn


def _tree(root: Branch, deepest: int) -> Tree:
    """What is deeper than there is room for stays at the last level."""
    tree = Tree(_text(root.spans), guide_style="dim")
    stack = [(tree, child, 1) for child in reversed(root.children)]
    while stack:
        above, branch, depth = stack.pop()
        here = above.add(_text(branch.spans))
        stack += [(here if depth < deepest else above, child, depth + 1) for child in reversed(branch.children)]
    return tree
