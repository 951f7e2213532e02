"""Tokens for callers over HTTP: what one may do, for how long, and how its secret looks. Knows no store and no socket."""

from __future__ import annotations

import hashlib
import secrets
from enum import StrEnum

from lamplighter.domain.duration import parse_duration
from lamplighter.errors import Code, InputError
from lamplighter.lazy_dataclass import dataclass

PREFIX = "lamp_"
LIFETIME = "30d"
_SECRET_BITS = 256
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LENGTH = 43  # digits of base 62 that 256 bits take


class Scope(StrEnum):
    """What a token can be given. Each is of its own: `start` does not bring `read`."""

    READ = "read"
    START = "start"
    SEND = "send"
    END = "end"
    RECORDS = "records"


class TokenState(StrEnum):
    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True)
class Token:
    """`digest` is the SHA-256 of the secret; the secret itself is with whoever it was shown to, and nowhere here."""

    id: str
    name: str
    digest: str
    scopes: frozenset[str]
    made_at: float
    expires_at: float | None
    used_at: float | None = None
    revoked_at: float | None = None

    def state(self, now: float) -> TokenState:
        if self.revoked_at is not None:
            return TokenState.REVOKED
        if self.expires_at is not None and now >= self.expires_at:
            return TokenState.EXPIRED
        return TokenState.VALID


def make_secret() -> str:
    number = secrets.randbits(_SECRET_BITS)
    digits = ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return PREFIX + digits


def digest_of(secret: str) -> str:
    """A plain hash will do: 256 random bits cannot be guessed, so there is nothing for a slow one to slow down."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def parse_scopes(text: str) -> frozenset[str]:
    """`read,start`: at least one, each one that there is."""
    words = [word.strip() for word in text.split(",")]
    known = [scope.value for scope in Scope]
    unknown = [word for word in words if word not in known]
    if unknown:
        what = f"there is no scope {unknown[0][:40]!a}" if unknown[0] else "a token needs at least one scope"
        raise InputError(Code.BAD_INPUT, what, f"scopes are {', '.join(known)}, with commas between: read,start")
    return frozenset(words)


def parse_expiry(text: str) -> float | None:
    """Seconds that it holds; None for ever, which has to be said."""
    if text.strip().lower() == "none":
        return None
    seconds = parse_duration(text, "expires")
    if seconds <= 0:
        raise InputError(Code.BAD_INPUT, "a token that has expired already is of no use", "expires is 8h, 30d or none")
    return seconds
