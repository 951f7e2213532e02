"""A login at the page: who holds its two secrets is the operator. Knows no store and no browser."""

from __future__ import annotations

from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Login:
    """`cookie` and `proof` are hashes. The cookie goes to every port of this machine's address, as cookies do; the proof is kept
    by the page alone and sent with every request, so that neither is of use without the other."""

    id: str
    cookie: str
    proof: str
    made_at: float
    expires_at: float
