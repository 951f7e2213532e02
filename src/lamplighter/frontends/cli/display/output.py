"""Where things go: one JSON document, text for a pipe, or a drawing on a terminal. Knows no command."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from lamplighter.errors import LampError
from lamplighter.frontends.cli.display.blocks import Block, TextLine, coloured, plain_lines
from lamplighter.frontends.cli.display.format import clean


class CommandOutput:
    """Standard output and error of one command. `as_json` is decided by the words on the command line."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.out = _usable(sys.stdout)
        self.err = _usable(sys.stderr)

    @property
    def terminal(self) -> bool:
        return self.out.isatty()

    def document(self, document: dict[str, Any], stream: TextIO | None = None, *, line: bool = False) -> None:
        """One JSON document, in ASCII: no text of a session can act on a terminal or break an encoding."""
        into = stream or self.out
        into.write(json.dumps(document, indent=2 if into.isatty() and not line else None) + "\n")
        into.flush()

    def blocks(self, blocks: Iterable[Block]) -> None:
        """Loud lines to standard error, the rest to standard output, in their order."""
        quiet: list[Block] = []
        for block in blocks:
            if isinstance(block, TextLine) and block.loud:
                self._draw(quiet, self.out)
                quiet = []
                self._draw([block], self.err)
            else:
                quiet.append(block)
        self._draw(quiet, self.out)

    def show(self, result: dict[str, Any], view: Callable[[dict[str, Any]], Iterable[Block]]) -> None:
        """The result as JSON, or through this view."""
        if self.as_json:
            self.document(result)
        else:
            self.blocks(view(result))

    def raw(self, text: str) -> None:
        """A session's own output, as it is."""
        self.out.flush()
        _write_all(self.out, text.encode("utf-8", "replace"))

    def error(self, error: LampError) -> None:
        if self.as_json:
            self.document({"error": error.document()})
            return
        self.out.flush()
        lines = [TextLine(("error: ", "bad"), f"{clean(error.message)} ({error.code.value})")]
        lines += [TextLine(("  | ", "dim"), clean(line)) for line in error.details.get("screen") or ()]
        if error.hint:
            lines.append(TextLine(("hint: ", "strong"), clean(error.hint)))
        self._draw(lines, self.err)

    def note(self, text: str) -> None:
        """Something beside the result, on standard error."""
        self.err.write(f"{text}\n")
        self.err.flush()

    def can_ask(self, shown: TextIO | None = None) -> bool:
        """Whether a person is there who reads what is asked, and can answer. `shown`: where they read what it is about."""
        return sys.stdin is not None and sys.stdin.isatty() and (shown or self.err).isatty()

    def ask(self, question: str) -> str:
        """What the person answers."""
        answer = ""
        try:
            self.err.write(question)
            self.err.flush()
            answer = sys.stdin.readline()
        finally:
            if not answer.endswith("\n"):  # Ctrl-C or Ctrl-D: what comes next begins on a line of its own
                self.note("")
        return answer.strip().lower()

    def _draw(self, blocks: Iterable[Block], stream: TextIO) -> None:
        blocks = list(blocks)
        if not stream.isatty():
            stream.write("".join(f"{line}\n" for line in plain_lines(blocks)))
        elif all(isinstance(block, TextLine) for block in blocks):
            colour = "NO_COLOR" not in os.environ
            lines = [block for block in blocks if isinstance(block, TextLine)]
            text = (coloured(line) for line in lines) if colour else plain_lines(lines)
            stream.write("".join(f"{line}\n" for line in text))
        else:
            from lamplighter.frontends.cli.display import styled

            styled.draw(blocks, stream)
        stream.flush()


def _usable(stream: TextIO | None) -> TextIO:
    """The stream, unable to fail on a character; a closed one swallows what it gets."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    return stream


def _write_all(stream: TextIO, data: bytes) -> None:
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8", "replace"))
        stream.flush()
        return
    buffer.write(data)
    buffer.flush()


def is_writable() -> bool:
    """Whether standard output takes what is buffered for it; a full disk behind it does not."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def silence() -> None:
    """After a broken pipe or a full disk: what is still buffered goes nowhere, and the last flush says nothing."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.close(sink)
