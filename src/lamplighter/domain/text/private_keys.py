"""Private keys as they stand in texts: a block of lines, whole or cut off at either end. Knows nothing of what is done with them.

A mention of the first or last line alone is none: there has to be something of a key.
"""

from __future__ import annotations

from collections.abc import Iterator

from lamplighter import lazy_re as re
from lamplighter.domain.text.credentials import FoundSecret

_KIND = "private key"
_BEGIN = re.compile(r"-*+ ?BEGIN [A-Z0-9 ]{0,30}?PRIVATE KEY(?: BLOCK)? ?-*+")
_END = re.compile(r"-*+ ?END [A-Z0-9 ]{0,30}?PRIVATE KEY(?: BLOCK)? ?-*+")
_BODY = re.compile(r"[A-Za-z0-9+/=]{16,}")
# What may be between the lines of one: blanks, line ends as a string has them, quotes, marks of a quotation, line numbers.
_BETWEEN = re.compile(r"[\s\"'`>|,#*]+|\\+[nrt]|[0-9]{1,5}[:|\t→]")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\n\\]{0,200}")
_SHORT = re.compile(r"(?:\r?\n|\\+n)[ \t>]*[A-Za-z0-9+/=]{1,15}(?=\s*\Z|[ \t]*\r?\n)")  # the last line of one
_PUTTY = "PuTTY-User-Key-File-"
_PUTTY_END = re.compile(r"Private-MAC:\s?[0-9a-f]*")


def private_keys(text: str) -> Iterator[FoundSecret]:
    if "PRIVATE KEY" in text:
        yield from _blocks(text)
    if (start := text.find(_PUTTY)) >= 0 and _BODY.search(text, start):
        ends = [match.end() for match in _PUTTY_END.finditer(text, start)]
        yield FoundSecret(start, ends[-1] if ends else len(text), _KIND)


def _blocks(text: str) -> Iterator[FoundSecret]:
    ends = [match.span() for match in _END.finditer(text)]
    begins = [match.span() for match in _BEGIN.finditer(text)]
    done = 0
    for number, (start, head) in enumerate(begins):
        following = begins[number + 1][0] if number + 1 < len(begins) else len(text)
        while ends and ends[0][0] < head:
            tail = ends.pop(0)
            yield from _beheaded(text, done, *tail)
            done = tail[1]
        if ends and ends[0][0] < following:
            tail = ends.pop(0)
            done = tail[1]
            if _BODY.search(text, head, tail[0]):
                yield FoundSecret(start, done, _KIND)
        elif _BODY.search(text, head, last := _last(text, head)):
            done = last
            yield FoundSecret(start, done, _KIND)
    for start, end in ends:
        yield from _beheaded(text, done, start, end)
        done = end


def _last(text: str, head: int) -> int:
    """Where the lines end that follow the first one. Step by step: what takes a group possessively forgets where it was in some
    releases of Python 3.11."""
    end = head
    for part in (_HEADER, _BODY):
        while found := part.match(text, _after_gap(text, end)):
            end = found.end()
    short = _SHORT.match(text, end)
    return short.end() if short else end


def _after_gap(text: str, at: int) -> int:
    while gap := _BETWEEN.match(text, at):
        at = gap.end()
    return at


def _beheaded(text: str, after: int, start: int, end: int) -> Iterator[FoundSecret]:
    """The end of a block whose beginning was cut off: the lines before it that look like one."""
    first = start
    for line in reversed(text[after:start].split("\n")):
        bare = line.strip(" \t\r\"'`>|,#*")
        if bare and not re.fullmatch(r"(?:[0-9]{1,5}[:|\t→]\s*)?[A-Za-z0-9+/=]+(?:\\+[nr])*", bare):
            break
        first -= len(line) + 1
    first = max(first, after)
    if _BODY.search(text, first, start):
        yield FoundSecret(first, end, _KIND)
