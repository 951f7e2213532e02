"""What the end of a session's output says: whether it asks something, and whether it says anything new. Knows no log."""

from __future__ import annotations

from typing import NamedTuple

from lamplighter import lazy_re as re
from lamplighter.domain.text.terminal_text import overwritten, without_escapes

_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1f\x7f]")
# Back to the start of the line, up, to a place, or over what was there: how a spinner or a progress line is drawn.
_REDRAW = re.compile(rb"\r(?![\r\n])|\x08|\x1b\[\d*[ABDFGK]|\x1b\[[\d;]*[HfJ]|\x1b[78M]")
# What shells and interpreters end their prompt with: they take whatever comes, and ask nothing.
_PROMPT = re.compile(r"[$#%>❯➜λ»›]\s*$|^(?:\.\.\.|In \[\d+\]:|\(\w+\)|:|--More--.*|\(END\))\s*$")
_QUESTION = re.compile(
    r"\?\s*(?:[\[(][^\])]*[\])])?\s*[:>›]?\s*$"  # Proceed? [Y/n]:
    r"|[\[(](?:y(?:es)?/no?|y/n/\w+|yes/no/[^\])]*)[\])]\s*[:?>]?\s*$"
    r"|\b(?:pass(?:word|phrase|code)|PIN|OTP|username|login)\b[^:]*:\s*$"
    r"|\bpress (?:any key|enter|return)\b.*$",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
# How far something is: 45%, 12.3MB, 7/120. Not seconds, which any spinner counts, and no speed, which is never the same.
_AMOUNT = re.compile(r"\d+(?:[.,]\d+)?\s?(?:%|(?:[kKMGT]i?[Bb]?|B)\b(?!/s))|\b\d+/\d+\b")
_LONGEST = 200


class Tail(NamedTuple):
    """The last line of the output: as it reads, whether it is a shell's prompt, whether it asks."""

    line: str
    prompt: bool
    asks: bool


def tail_of(data: bytes) -> Tail:
    """The end of some output. A prompt stands in a line that was not ended; a question can."""
    lines = _text(data.replace(b"\r\n", b"\n")).split("\n")
    unended = overwritten(lines[-1]).strip()
    line = unended or next((text.strip() for text in map(overwritten, reversed(lines)) if text.strip()), "")
    return Tail(line[-_LONGEST:], bool(unended and _PROMPT.search(unended)), bool(_QUESTION.search(line)))


def plain(data: bytes) -> str:
    """Output as text to read: without escape sequences, each line as its last stretch left it."""
    lines = _text(data.replace(b"\r\n", b"\n")).split("\n")
    return "\n".join(map(overwritten, lines)).replace("\b", "")


def _text(data: bytes, instead: str = "") -> str:
    return _CONTROLS.sub(instead, without_escapes(data.decode(errors="replace"), instead))


def redraws(data: bytes) -> bool:
    """Whether this goes back over what was written, as spinners do; a log only ever goes on."""
    return bool(_REDRAW.search(data))


def words_of(data: bytes) -> frozenset[str]:
    """The words in it, without signs, glyphs and numbers, but for amounts: what a spinner does not change while it turns."""
    text = _text(data, " ")
    return frozenset((*_LETTERS.findall(text.lower()), *_AMOUNT.findall(text)))
