"""Stored text as a model may be shown it: nothing in it acts, hides, turns round or ends a line. Knows text alone.

What is removed is what nobody can see; what could act and can be seen is replaced by U+FFFD, so that it shows.
"""

from __future__ import annotations

import unicodedata

from lamplighter import lazy_re as re

ELLIPSIS = "…"
_COLOURS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
)  # CSI alone: the payload of others is text, and stays seen
_BREAKS = re.compile(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_ACTING = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufff9-\uffff]")
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
# Joiners where they join nothing, and selectors that select nothing: letters can be hidden in rows of them.
_IDLE = re.compile(
    "(?<![^\x00-\x7f\\s])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f\\s])|(?<=[\u200c\u200d])[\u200c\u200d]+"
)
_SELECTORS = re.compile("(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_SUSPECT = re.compile("[^\n -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u2bff\u3040-\u30ff\u4e00-\u9fff]")
_JOINER, _VIRAMA = "\u200d", 9
_PREPENDED = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3]")
_EXTENDING = re.compile("[\u200c\u200d\u0e33\u0eb3\uff9e\uff9f\u1160-\u11ff\ud7b0-\ud7ff\U0001f3fb-\U0001f3ff]")
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]")
_LEADING = re.compile("[\u1100-\u115f\ua960-\ua97c]")  # consonants that a Hangul syllable goes on from
_SYLLABLE = re.compile("[\u1100-\u115f\ua960-\ua97c\uac00-\ud7a3]")


def harmless(text: str) -> str:
    """The text with its lines, each ended by \\n, and nothing in it but what is seen."""
    if not _SUSPECT.search(text):
        return text
    text = _BREAKS.sub("\n", _COLOURS.sub("", text)).replace("\t", "    ")
    text = _ACTING.sub("\ufffd", _UNSEEN.sub("", text))
    return _SELECTORS.sub("", _IDLE.sub("", text))


def one_line(text: str) -> str:
    """The same, folded: every stretch of blanks and line breaks is one blank."""
    return " ".join(harmless(text).split())


def size(text: str) -> int:
    """In UTF-8 bytes. No text has more characters than that, so what fits in bytes fits in characters."""
    return len(text) if text.isascii() else len(text.encode())


def shortened(text: str, room: int) -> str:
    """The text in at most so many bytes, with an ellipsis in place of what was cut; never cut inside what reads as one
    character. Nothing at all where not even the ellipsis fits."""
    if size(text) <= room:
        return text
    room -= size(ELLIPSIS)
    if room < 0:
        return ""
    end = len(text.encode()[:room].decode(errors="ignore"))
    while end and not _may_cut(text, end):
        end -= 1
    return text[:end].rstrip() + ELLIPSIS


def _may_cut(text: str, at: int) -> bool:
    """Whether what stands before and after this place are two characters to whoever reads. The rules of Unicode's annex 29, the
    common ones; where they are in doubt the answer is no."""
    before, after = text[at - 1], text[at]
    if before == _JOINER or _EXTENDING.match(after) or unicodedata.category(after)[0] == "M":
        return False
    if unicodedata.combining(before) == _VIRAMA or _PREPENDED.match(before):
        return False
    if _LEADING.match(before) and _SYLLABLE.match(after):
        return False
    return not (_FLAG.match(after) and _flags_before(text, at) % 2)


def _flags_before(text: str, at: int) -> int:
    count = 0
    while count < at and _FLAG.match(text[at - 1 - count]):
        count += 1
    return count
