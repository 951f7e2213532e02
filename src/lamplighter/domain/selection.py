"""Choosing sessions in words: `orphaned+leftovers`, `idle,kind:cron`, `cron:*`. A comma is "and", a plus is "or".

Knows the grammar and what a term means for one session; knows nothing of where sessions are, so which session a bare word
names is looked up by others (`words`) and given back (`named`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from fnmatch import translate
from functools import lru_cache

from lamplighter.domain import states
from lamplighter.domain.permission import Caller, Rank, related
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.domain.verdict import Verdict
from lamplighter.errors import Code, InputError
from lamplighter.lazy_dataclass import dataclass

LONGEST = 1000
FLAGS = ("active", "protected", "attached", "mine", "all")
VERDICTS = tuple(verdict.value for verdict in Verdict)
_CHOICES = {"kind": tuple(Kind), "driver": tuple(Driver), "state": states.WORDS}
KEYS = ("kind", "agent", "driver", "state", "project", "owner", "parent", "name", "host")
HERE = "here"
"""The host of whoever asks, whatever it is called."""
WORDS = (*VERDICTS, *FLAGS, *(f"{key}:" for key in KEYS))
_WILD = frozenset("*?[")
_HINT = (
    f"words are {', '.join(VERDICTS)}, {', '.join(FLAGS)}, {', '.join(f'{key}:X' for key in KEYS)}, a name, an id, or a \
pattern such as cron:*; a comma between two means both, a plus means either"
)


@dataclass(frozen=True)
class SelectionSubject:
    """What a selection looks at. `verdict` is None where none was reached yet; then terms about it hold."""

    session: Session
    verdict: Verdict | None = None
    active: bool = False
    attached: int = 0
    known_as: str | None = None  # what whoever asks calls it, where that is not its name
    host: str = ""  # what the host that it is on is called


@dataclass(frozen=True)
class Term:
    """One condition. `key` is verdict, flag, one of KEYS, or word: a name, id, beginning of an id, or pattern of a name."""

    key: str
    value: str

    def __str__(self) -> str:
        return f"{self.key}:{self.value}" if self.key in KEYS else self.value

    @property
    def wild(self) -> bool:
        return not _WILD.isdisjoint(self.value)


@dataclass(frozen=True)
class Selection:
    """Groups of terms: a session is chosen when every term of one group holds. No group at all chooses everything."""

    groups: tuple[tuple[Term, ...], ...] = ()

    def __str__(self) -> str:
        return "+".join(",".join(map(str, group)) for group in self.groups)

    @property
    def terms(self) -> Iterator[Term]:
        for group in self.groups:
            yield from group

    @property
    def words(self) -> list[str]:
        """The words that must name a session, each once: bare ones without wildcards, and parents."""
        found = [term.value for term in self.terms if term.key == "parent" or (term.key == "word" and not term.wild)]
        return list(dict.fromkeys(found))

    @property
    def wants_ended(self) -> bool:
        """Whether it asks for ended ones by that word; otherwise a choice is among the living."""
        return any(term.value == "ended" and term.key in ("verdict", "state") for term in self.terms)

    def matches(self, seen: SelectionSubject, caller: Caller, named: Mapping[str, str]) -> bool:
        """`named` has the id of the session that each of `words` names."""
        return not self.groups or any(all(_holds(term, seen, caller, named) for term in group) for group in self.groups)


def _holds(term: Term, seen: SelectionSubject, caller: Caller, named: Mapping[str, str]) -> bool:
    session = seen.session
    if term.key == "verdict":
        if not session.alive or term.value == Verdict.ENDED:
            return (not session.alive) == (term.value == Verdict.ENDED)
        return seen.verdict is None or seen.verdict == term.value
    if term.key == "flag":
        return _has_flag(term.value, seen, caller)
    if term.key == "word":
        if not term.wild:
            return _is_named(session, term.value, named)
        return _fits(session.name, term.value) or (seen.known_as is not None and _fits(seen.known_as, term.value))
    if term.key == "host":
        return term.value == HERE or _fits(seen.host, term.value)
    if term.key == "parent":
        return session.parent is not None and session.parent == named.get(term.value)
    found: str | None = session.state.word if term.key == "state" else getattr(session, term.key)
    return found is not None and _fits(str(found), term.value)


def _fits(text: str, pattern: str) -> bool:
    return _compiled(pattern).match(text) is not None


@lru_cache(
    maxsize=2 * LONGEST
)  # more than a selection can hold: fnmatch's own forgets within one pass over the sessions
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def _is_named(session: Session, word: str, named: Mapping[str, str]) -> bool:
    return word == session.name or named.get(word) == session.id


def _is_mine(seen: SelectionSubject, caller: Caller) -> bool:
    session = seen.session
    if caller.rank is Rank.OPERATOR:
        return session.owner == caller.name
    return session.id not in caller.own and related(caller, session, session.line)


def _has_flag(flag: str, seen: SelectionSubject, caller: Caller) -> bool:
    if flag == "all":
        return True
    if flag == "mine":
        return _is_mine(seen, caller)
    if flag == "protected":
        return seen.session.protected
    if not seen.session.alive:
        return False
    return seen.verdict is None or (seen.active if flag == "active" else seen.attached > 0)


# -- parsing


def parse_selection(text: str) -> Selection:
    """The selection; BAD_INPUT that says where and what is wrong. Nothing but blanks is everything."""
    if len(text) > LONGEST:
        raise _bad(f"a selection has at most {LONGEST} characters, this one has {len(text)}")
    if not text.strip():
        return Selection()
    groups: list[tuple[Term, ...]] = []
    at = 0
    for part in text.split("+"):
        terms: list[Term] = []
        for word in part.split(","):
            terms.append(_term(word.strip(), at + 1 + len(word) - len(word.lstrip())))
            at += len(word) + 1
        groups.append(tuple(dict.fromkeys(terms)))
    return Selection(tuple(dict.fromkeys(groups)))


def _term(word: str, place: int) -> Term:
    if not word:
        raise _bad(f"a term is missing at character {place}")
    _check_characters(word, place)
    if word in VERDICTS:
        return Term("verdict", word)
    if word in FLAGS:
        return Term("flag", word)
    key, colon, value = word.partition(":")
    if not colon or key not in KEYS:
        if any(character.isspace() for character in word):
            raise _bad(f"there is nothing between the words {word[:60]!a} at character {place}")
        return Term("word", word)
    value = value.lstrip()
    if not value:
        raise _bad(f"{key}: needs a value, at character {place}")
    if key in _CHOICES and value not in _CHOICES[key]:
        allowed = [str(choice) for choice in _CHOICES[key]]
        raise InputError(
            Code.BAD_INPUT, f"there is no {key} {value[:40]!a}, at character {place}", _near(value, allowed)
        )
    return Term(key, value)


def _check_characters(word: str, place: int) -> None:
    for offset, character in enumerate(word):
        if unicodedata.category(character)[0] == "C":
            raise _bad(f"character {place + offset} ({character!a}) cannot be in a selection")
    opened = word.find("[")
    if opened >= 0 and "]" not in word[opened + 2 :]:
        raise _bad(f"the bracket at character {place + opened} is never closed")


def _near(value: str, allowed: list[str]) -> str:
    near = get_close_matches(value.lower(), allowed, 1)
    return f"did you mean {near[0]}? there are {', '.join(allowed)}" if near else f"there are {', '.join(allowed)}"


def _bad(message: str) -> InputError:
    return InputError(Code.BAD_INPUT, message, _HINT)


def suggestion(word: str, names: list[str]) -> str:
    """What to do about a word that names nothing: the word or name that was probably meant, and what there is."""
    key = word.partition(":")[0].lower()
    near = get_close_matches(word.lower(), [*VERDICTS, *FLAGS], 1) or get_close_matches(word, names, 1)
    near = near or ([f"{found[0]}:…"] if ":" in word and (found := get_close_matches(key, KEYS, 1)) else [])
    return f"did you mean {near[0]}? {_HINT}" if near else _HINT
