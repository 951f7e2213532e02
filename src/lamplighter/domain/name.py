"""What a session may be called, the id it gets, and what a host is called. Knows nothing of which names are taken."""

from __future__ import annotations

import unicodedata

from lamplighter import lazy_re as re
from lamplighter.domain.text.redaction import redact
from lamplighter.errors import Code, InputError

LONGEST = 100
_RESERVED = frozenset(",+*?[]\\'\"`$")  # the selection grammar's and the shell's own characters
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_EPOCH_MS = 1_767_225_600_000  # 2026-01-01
ID_LENGTH = 8
_LONGEST_HOST = 32
_UNFIT_FOR_HOST = re.compile(r"[^a-z0-9]+")


def check_name(name: str) -> str:
    """The name, or BAD_NAME with what is wrong about it."""
    problem = _problem(name)
    if problem:
        raise InputError(
            Code.BAD_NAME,
            f"this name {problem}: {name[:40]!a}",
            f"use 1 to {LONGEST} letters, digits and . _ : @ / # = - ; for example cron:nightly:42",
        )
    return check_secretless(name, "name")


def check_secretless(word: str, what: str) -> str:
    """The word, or BAD_NAME when there is a secret in it. It cannot be taken out: what goes by a name is found by it."""
    if redact(word).text != word:
        raise InputError(
            Code.BAD_NAME,
            f"there is what looks like a secret in this {what}, and nothing was done",
            "call it something else: names are kept and shown",
        )
    return word


def _problem(name: str) -> str | None:
    if not name:
        return "is empty"
    if len(name) > LONGEST:
        return f"has {len(name)} characters, {LONGEST} at most"
    if name.startswith("-"):
        return "begins with a dash"
    for character in name:
        if character in _RESERVED or unicodedata.category(character)[0] in "CZ":
            return f"has a character that names cannot have ({character!a})"
    return None


def check_label(label: str) -> str:
    """The label, or BAD_NAME with what is wrong about it. Words apart by blanks are fine: nobody types one as a name."""
    bad = next((character for character in label if unicodedata.category(character)[0] == "C"), None)
    if not label.strip() or len(label) > LONGEST or bad is not None:
        problem = f"has a character that labels cannot have ({bad!a})" if bad else f"is empty or longer than {LONGEST}"
        raise InputError(
            Code.BAD_NAME, f"this label {problem}: {label[:40]!a}", f"use 1 to {LONGEST} characters on one line"
        )
    return check_secretless(label.strip(), "label")


def name_for(command: list[str]) -> str:
    """A first choice of name for a command that was given none."""
    base = command[0].rstrip("/").rpartition("/")[2]
    kept = "".join(c for c in base if c not in _RESERVED and unicodedata.category(c)[0] not in "CZ")
    return kept.lstrip("-")[:40] or "session"


def name_from(text: str) -> str:
    """A name as near as can be to what others call it."""
    kept = "".join("-" if c in _RESERVED or unicodedata.category(c)[0] in "CZ" else c for c in text)
    return kept.strip("-")[:60] or "session"


def host_name(node: str) -> str:
    """`[a-z0-9-]`, at most 32 of them, made from what the host's kernel calls it: of a full name the first part."""
    found = _UNFIT_FOR_HOST.sub("-", node.lower().partition(".")[0]).strip("-")
    return found[:_LONGEST_HOST].strip("-") or "localhost"


def make_id(now: float, last: str) -> str:
    """A new id: sortable by time, never one that was given before, also when the clock goes backwards."""
    number = max(int(now * 1000) - _EPOCH_MS, _number(last) + 1, 0)
    digits = ""
    for _ in range(ID_LENGTH):
        number, digit = divmod(number, 32)
        digits = _ALPHABET[digit] + digits
    return digits


def _number(identifier: str) -> int:
    number = 0
    for character in identifier:
        number = number * 32 + _ALPHABET.index(character)
    return number if identifier else -1
