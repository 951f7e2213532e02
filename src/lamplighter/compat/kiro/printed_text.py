"""What a headless session has said, as text in pieces. The same log gives the same pieces, and a longer one only more of them.

Knows logs and escape sequences; knows nothing of who asks.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

from lamplighter import lazy_re as re
from lamplighter.domain.text.terminal_text import SEQUENCE
from lamplighter.holder.log_reader import LogReader
from lamplighter.holder.segments import OUTPUT, STDERR, STDOUT

MOST = 1 << 20
"""Characters of the answer that are kept; more are in the log."""
_MOST_ERRORS = 8192
_CUT = "\n[… the rest is left out here; it is in the session's log]\n"
_NO_TEXT = re.compile(rf"{SEQUENCE}|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]")
_LONGEST_ESCAPE = 4096


class PrintedText(NamedTuple):
    """`times` says when each chunk came."""

    chunks: tuple[str, ...]
    errors: str
    times: tuple[float, ...]


class PlainText:
    """Bytes to text without escape sequences; what is not whole yet waits for the rest."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        text = _NO_TEXT.sub("", self._kept + self._decoder.decode(data, final))
        begun = text.find("\x1b")
        if begun < 0 or final or len(text) - begun > _LONGEST_ESCAPE:
            self._kept = ""
            return text.replace("\x1b", "")
        self._kept = text[begun:]
        return text[:begun]


def transcribe(folder: str, *, ended: bool) -> PrintedText:
    """Standard output in the pieces it came in, and the end of standard error. Blocks; for a thread."""
    chunks: list[str] = []
    times: list[float] = []
    out, errors = PlainText(), PlainText()
    wrong, size = "", 0
    with LogReader(folder) as reader:
        for frame in reader.frames(0):
            if frame.kind != OUTPUT:
                continue
            if frame.stream == STDERR:
                wrong = (wrong + errors.feed(frame.payload))[-_MOST_ERRORS:]
            elif frame.stream == STDOUT and (text := out.feed(frame.payload)):
                size += len(text)
                chunks.append(text)
                times.append(frame.time)
                if size > MOST:
                    chunks[-1] = text[: len(text) - (size - MOST)] + _CUT
                    return PrintedText(tuple(chunks), wrong, tuple(times))
    if ended and (rest := out.feed(b"", final=True)):
        chunks.append(rest)
        times.append(times[-1])  # of a character that was begun with what came last
    return PrintedText(tuple(chunks), wrong, tuple(times))
