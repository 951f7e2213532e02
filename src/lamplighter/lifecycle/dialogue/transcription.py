"""What a headless session has said, as text in pieces. The same log gives the same pieces, and a longer one only more of them.

Knows logs and escape sequences; knows nothing of who asks.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from lamplighter.holder.log_reader import LogReader
from lamplighter.holder.segments import OUTPUT, STDERR, STDOUT

MOST = 1 << 20
"""Characters of the answer that are kept; more are in the log."""
_MOST_ERRORS = 8192
_CUT = "\n[… the rest is left out here; it is in the session's log]\n"
_ESCAPE = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
    r"|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]"
)
_LONGEST_ESCAPE = 4096


class Said(NamedTuple):
    """`times` says when each chunk came."""

    chunks: tuple[str, ...]
    errors: str
    times: tuple[float, ...]


class Plain:
    """Bytes to text without escape sequences; what is not whole yet waits for the rest."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        text = _ESCAPE.sub("", self._kept + self._decoder.decode(data, final))
        begun = text.find("\x1b")
        if begun < 0 or final or len(text) - begun > _LONGEST_ESCAPE:
            self._kept = ""
            return text.replace("\x1b", "")
        self._kept = text[begun:]
        return text[:begun]


def transcribe(folder: str, *, ended: bool) -> Said:
    """Standard output in the pieces it came in, and the end of standard error. Blocks; for a thread."""
    chunks: list[str] = []
    times: list[float] = []
    out, errors = Plain(), Plain()
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
                    return Said(tuple(chunks), wrong, tuple(times))
    if ended and (rest := out.feed(b"", final=True)):
        chunks.append(rest)
        times.append(times[-1])  # of a character that was begun with what came last
    return Said(tuple(chunks), wrong, tuple(times))
