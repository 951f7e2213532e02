"""Secrets that are told by the name beside them: `password=…`, `"api_key": "…"`, `Authorization: Bearer …`. Knows nothing of
what is done with them.

A name says little (`password = get_password()`, "the token: see above"), so the value decides: the less the place looks like
data, the more it has to look like a secret.
"""

from __future__ import annotations

from collections.abc import Iterator

from lamplighter import lazy_re as re
from lamplighter.domain.text.credentials import FoundSecret, worded

_PASSWORDS = "password|passwd|passphrase|passcode|pwd|_pass|secret"
_KEYS = (
    r"token|(?:api|access|private|auth|account|secret|signing|encryption|shared|master|service)[_.-]?key|credentials?"
)
_MARKS = ("pass", "pwd", "secret", "token", "key", "credential")
_NAME = re.compile(
    rf"(?:(?P<password>{_PASSWORDS})|(?P<key>{_KEYS}))\d{{0,3}}"
    r"(?:(?P<xml>>)|\\?[\"'`]?\]?[ \t]{0,4}(?P<sign>:=|=>|={1,3}|:(?![:/])"
    r"(?:[ \t]{0,4}[a-z_.\[\]| ]{1,30}[ \t]=)?)[ \t]{0,4}"  # with its type: `password: str = …`
    r"|(?P<gap>[ \t]))"
)
_QUOTE = re.compile(r"[fbruFBRU@]{0,2}(?P<quote>\\?[\"'`])")
_VALUE = re.compile(r"[^\s\"'`,;&<>()\[\]{}|\\]{1,512}")
_REST = re.compile(r"[^\s\"'`,;&<>()\[\]{}|\\]*+")
_FLAG = re.compile(r"(?:\s|^)--?[A-Za-z0-9_-]{0,40}$")
_IDENTIFIER = re.compile(r"[A-Za-z_$]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*")
_PATH = re.compile(r"(?:~|\.{0,2})/[\w./@-]*|[A-Za-z]:\\.*")
_VARIABLE = re.compile(r"\$[A-Za-z_{(]|\{|%[(sA-Z]|<|\[|\.{3}|…|https?://", re.IGNORECASE)
_STAND_IN = re.compile(r"[*x.•…_?:-]+|.*(?:\.\.\.|…)", re.DOTALL)
_KEY = re.compile(r"[\w+/=.~:@!$%^&*#-]{8,}", re.ASCII)
_NO_VALUES = re.compile(
    "none|null|nil|true|false|yes|no|on|off|empty|required|optional|string|str|bytes|text|password|secret|token|key|value|example"
    "|changeme|redacted|hidden|masked|invalid|missing|unknown|undefined|expired|wrong|env|prompt|stdin|file"
)
_OURS = re.compile(r"\[redacted: [a-z0-9 ]*$")  # a name within the mark that a redaction leaves is none
_BEARER = re.compile(r"(?:bearer|basic|token|apikey)[ \t]{1,3}(?P<secret>[a-z0-9_.~+/=-]{8,512}+)")
_HEADER = "authorization"
_CURL = re.compile(r"(?:-u|--user)[ =]{1,3}[\"']?[^\s:\"']{1,200}:(?P<secret>[^\s\"'@]{1,512})")


def assigned(text: str, lower: str) -> Iterator[FoundSecret]:
    """`lower` is the text in lower case, each character in its place."""
    if any(mark in lower for mark in _MARKS):
        yield from _named(text, lower)
    if "bearer " in lower or _HEADER in lower:
        yield from _headers(text, lower)
    if "curl" in lower:
        for match in _CURL.finditer(text):
            if not match["secret"].isdigit() and not _VARIABLE.match(match["secret"]):
                yield FoundSecret(*match.span("secret"), "password")


def _named(text: str, lower: str) -> Iterator[FoundSecret]:
    done = 0
    for match in _NAME.finditer(lower):
        if match.end() < done or _OURS.search(text[max(0, match.start() - 40) : match.start()]):
            continue
        span = _value(text, match)
        if span:
            done = span[1]
            yield FoundSecret(
                *span, "password" if match["password"] in _PLAINLY else match["password"] or _kind(match["key"])
            )


_PLAINLY = frozenset({"password", "passwd", "passphrase", "passcode", "pwd", "_pass"})


def _kind(name: str) -> str:
    return "key" if name.endswith("key") else name.removesuffix("s")


def _value(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    """Where the value is, if it is a secret."""
    if name["xml"]:
        end = text.find("</", name.end(), name.end() + 512)
        return (name.end(), end) if end > name.end() and _quoted(text[name.end() : end], name) else None
    if name["gap"]:
        return _flagged(text, name)
    opened = _QUOTE.match(text, name.end())
    if not opened:
        return _bare(text, name)
    line = text.find("\n", opened.end())
    line = len(text) if line < 0 else line
    end = text.find(opened["quote"], opened.end(), line)
    end = line if end < 0 else end
    value = text[opened.end() : end]
    filled = opened[0][0] in "fF" and "{" in value  # when the program runs, and not before
    return (opened.end(), end) if not filled and _quoted(value, name) else None


def _quoted(value: str, name: re.Match[str]) -> bool:
    if not value.strip() or _no_value(value) or (name["sign"] == ":" and value[0] in " )+,"):  # input("Password: ")
        return False
    if name["password"]:
        return True
    return _KEY.fullmatch(value) is not None and not worded(value) and not _PATH.fullmatch(value)


def _flagged(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    """`--password hunter2`"""
    value = _VALUE.match(text, name.end())
    if (
        not value
        or _VARIABLE.match(text, name.end())
        or not _FLAG.search(text[max(0, name.start() - 42) : name.start()])
    ):
        return None
    plain = worded(value[0]) or _no_value(value[0]) or _PATH.fullmatch(value[0])
    return None if plain or value[0].startswith("-") else _whole(text, value)


def _bare(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    value = _VALUE.match(text, name.end())
    if not value or _VARIABLE.match(text, name.end()):
        return None
    word = value[0].rstrip(".!?:")
    if not word or _no_value(word) or _PATH.fullmatch(word) or ("/" in word and worded(word)):
        return None
    if _code(word, text[value.end() : value.end() + 1]) or not _telling(word, name, text, value.end()):
        return None
    return _whole(text, value)


def _code(word: str, after: str) -> bool:
    """`get_password(`, `tokens[`, an argument that is passed on: by what follows."""
    if after in ("(", "["):
        return _IDENTIFIER.fullmatch(word) is not None
    return after in (",", ")") and _IDENTIFIER.fullmatch(word) is not None and not any(map(str.isdigit, word))


def _telling(word: str, name: re.Match[str], text: str, end: int) -> bool:
    """Whether a value without quotes is a secret, there where it is."""
    sign, close = name["sign"], not name[0][-1].isspace()
    if not name["password"]:
        least = 6 if close and sign != ":" else 8 if _alone(text, name, end) else 16
        return len(word) >= least and not worded(word) and not _IDENTIFIER_PATH.fullmatch(word) and not _small(word)
    if close and sign != ":":
        return "." not in word or not worded(word)
    if sign != ":":
        return not _IDENTIFIER.fullmatch(word) or (any(character.isdigit() for character in word) and "." not in word)
    if _alone(text, name, end):
        return not _small(word)
    letters = any(character.isalpha() for character in word)
    return len(word) >= 6 and letters and any(map(str.isdigit, word)) and not _VERSION.match(word)


_IDENTIFIER_PATH = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+")
_VERSION = re.compile(r"v?\d+(?:[.-]\d+)+")


def _small(word: str) -> bool:
    """A number that counts something."""
    return word.isdigit() and len(word) < 10


def _alone(text: str, name: re.Match[str], end: int) -> bool:
    """Whether name and value have a line for themselves, as in a file of settings."""
    before = text[max(0, name.start() - 60) : name.start()].rpartition("\n")[2]
    after = text[end : end + 40].partition("\n")[0].strip()
    return not re.search(r"[^\w\s.\"'-]|\w\s+\S", before) and after in ("", ",", ";", '"', "'")


def _no_value(value: str) -> bool:
    """What stands for a value: a variable, a stand-in, a word of a schema, what was redacted before."""
    plain = value.strip().lower()
    return any((_NO_VALUES.fullmatch(plain), _VARIABLE.match(value), _STAND_IN.fullmatch(plain)))


def _whole(text: str, value: re.Match[str]) -> tuple[int, int]:
    rest = _REST.match(text, value.start())
    return value.start(), rest.end() if rest else value.end()


def _headers(text: str, lower: str) -> Iterator[FoundSecret]:
    for match in _BEARER.finditer(lower):
        start, end = match.span("secret")
        value = text[start:end]
        known = _HEADER in lower[max(0, match.start() - 24) : match.start()]
        if (
            not worded(value)
            and not _no_value(value)
            and (known or (len(value) >= 16 and match[0].startswith("bearer")))
        ):
            yield FoundSecret(start, end, "authorization")
    for match in re.finditer(r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?P<secret>[\w.~+/=-]{12,512})", lower):
        start, end = match.span("secret")
        if not worded(text[start:end]) and not _no_value(text[start:end]) and text[end : end + 1] not in ("(", "["):
            yield FoundSecret(start, end, "authorization")
