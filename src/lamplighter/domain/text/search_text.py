"""Text as it is searched: records and queries are brought into the same shape. Knows nothing of what is searched.

The index stems words and takes accents off by itself. Here is what it cannot do: compatible characters made one, identifiers also
by their parts, and scripts that write no blanks as overlapping pairs, so that a word in the middle of a sentence is found.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from lamplighter import lazy_re as re
from lamplighter.domain.text.stopwords import STOP_WORDS
from lamplighter.errors import Code, Hint, InputError, Use
from lamplighter.lazy_dataclass import dataclass

MOST_TERMS = 32
_LONGEST_WORD = 200
_LONGEST_IDENTIFIER = 60
_LONGEST_PHRASE = 8
_READ_OF_A_QUERY = 20_000
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_WITHOUT_BLANKS = re.compile(  # Thai and Lao, Tibetan, Burmese, Khmer, kana, Han, Hangul
    "([\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\U00020000-\U0003ffff]+)"
)
_UNSEEN = re.compile("[\u00ad\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\ufe00-\ufe0f]")
"""What people leave out when they type: soft hyphens, points of Hebrew and Arabic, the colour of an emoji."""


@dataclass(frozen=True)
class Query:
    """`match` is an FTS5 expression; empty when nothing of the text is a word, and then `text` is looked for as it stands."""

    match: str
    text: str


def storable(text: str) -> str:
    """The text with U+FFFD for what no store takes: NUL, and halves of characters."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


def normalised(text: str) -> str:
    """The text as the index has it."""
    return " ".join(piece for word in _words(_plain(text)) for piece in _pieces(word))


def query(text: str) -> Query:
    """What is looked for: the terms that mean something, each as itself; the more of them a text has, the better it fits.

    Any text is a query but an empty one: it has no syntax, so nothing in it can be wrong.
    """
    wanted = text.replace("\0", " ").strip()
    if not wanted:
        raise InputError(
            Code.BAD_INPUT,
            "there is nothing to search for",
            Hint("say what in a few words; ", Use("records"), " lists them all"),
        )
    terms, stopped = _terms(_plain(wanted[:_READ_OF_A_QUERY]))
    chosen = list(terms or stopped)[:MOST_TERMS]
    return Query(" OR ".join(chosen), storable(wanted))


def _plain(text: str) -> str:
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", storable(text)))


def _terms(text: str) -> tuple[dict[str, None], dict[str, None]]:
    """The terms to look for, each once, and those that are in every text; in the order of their coming."""
    terms: dict[str, None] = {}
    stopped: dict[str, None] = {}
    for chunk in text.split():
        words = [_sought(word) for word in _words(chunk)]
        pieces = [piece for word in words for piece in word]
        for piece in pieces:
            (stopped if piece.lower() in STOP_WORDS else terms)[_quoted(piece)] = None
        meant = [piece for piece in pieces if piece.lower() not in STOP_WORDS]
        if len(meant) > 1 and len(pieces) <= _LONGEST_PHRASE and (len(words) > 1 or not pieces[0].isascii()):
            terms[_quoted(" ".join(pieces))] = None  # a path, a version, a name of several words: best in one piece
        if len(terms) >= MOST_TERMS:
            break
    return terms, stopped


def _quoted(term: str) -> str:
    """A single character of a script without blanks begins a pair in the index, or stands at the end of a run."""
    alone = _WITHOUT_BLANKS.match(term) and len(_clusters(term)) == 1
    return f'"{term.lower()}"{"*" if alone else ""}'


def _words(text: str) -> Iterator[str]:
    """Runs of letters, digits and the marks that belong to them."""
    for chunk in text.split():
        if chunk.isalnum():
            yield chunk[:_LONGEST_WORD]
        else:
            kept = "".join(c if c.isalnum() or unicodedata.category(c) in ("Mn", "Mc", "Co") else " " for c in chunk)
            yield from (word[:_LONGEST_WORD] for word in kept.split())


def _pieces(word: str) -> Iterator[str]:
    """The word as the index has it."""
    for run, pairs in _runs(word):
        if pairs:
            yield from pairs
            yield _clusters(run)[-1]  # so that every character begins one piece
        else:
            yield from _parts(run)


def _sought(word: str) -> list[str]:
    """The word as a query has it."""
    found: list[str] = []
    for run, pairs in _runs(word):
        found += pairs or (_parts(run) if not _WITHOUT_BLANKS.match(run) else [run])
    return found


def _runs(word: str) -> Iterator[tuple[str, list[str]]]:
    """Each run of one kind; with its pairs when its script has no blanks and it has more than one character."""
    if word.isascii():
        yield word, []
        return
    for run in filter(None, _WITHOUT_BLANKS.split(word)):
        clusters = _clusters(run) if _WITHOUT_BLANKS.match(run) else []
        yield run, [a + b for a, b in pairwise(clusters)]


def _clusters(run: str) -> list[str]:
    """Characters, each with the marks that it carries."""
    found: list[str] = []
    for character in run:
        if found and unicodedata.category(character)[0] == "M":
            found[-1] += character
        else:
            found.append(character)
    return found


def _parts(word: str) -> list[str]:
    """The word; and the words that it is made of, when it is spelt as an identifier."""
    if len(word) > _LONGEST_IDENTIFIER or word.islower() or not word.isascii():
        return [word]
    parts = _HUMP.split(word)
    return [word, *(part for part in parts if len(part) > 1)] if len(parts) > 1 else [word]
