"""Who is logged in at the page: links that are good once, and the logins that they became.

Links are in memory alone, so one that was not used is worth nothing after a restart; logins are in the store, so a page that
is open outlives the daemon. Knows nothing of HTTP.
"""

from __future__ import annotations

import hmac
import secrets
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import field

from lamplighter.domain.login import Login
from lamplighter.domain.permission import OPERATOR, Caller
from lamplighter.domain.token import digest_of
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import Code, ForbiddenError, Hint, Use
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import events, logins

LINK_SECONDS = 600.0
LOGIN_SECONDS = 7 * 86400.0
_MOST_LINKS = 100

Lost = Callable[[], None]


@dataclass(frozen=True)
class Shell:
    """Where the operator asked for the page: what is started there is started as from that shell."""

    environment: dict[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None


@dataclass(frozen=True)
class _Link:
    shell: Shell
    expires_at: float


@dataclass(frozen=True)
class NewLogin:
    """A login that has just been made, with its secrets, which are kept nowhere here."""

    login: Login
    cookie: str
    proof: str


class Logins:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry
        self._links: dict[str, _Link] = {}  # by digest
        self._known: dict[str, Login] = {}  # by digest of the cookie
        self._shells: dict[str, Shell] = {}
        self._holds: dict[str, set[Lost]] = {}

    async def load(self) -> None:
        self._known = {login.cookie: login for login in await self.registry.store.read(logins.everything)}

    # -- links

    def make_link(self, shell: Shell) -> str:
        """The secret of a link that is good once, for ten minutes."""
        now, secret = self.registry.clock.now(), secrets.token_urlsafe(32)
        self._links = {key: link for key, link in self._links.items() if link.expires_at > now}
        while len(self._links) >= _MOST_LINKS:  # the oldest goes
            del self._links[next(iter(self._links))]
        self._links[digest_of(secret)] = _Link(shell, now + LINK_SECONDS)
        return secret

    async def redeem(self, secret: str) -> NewLogin:
        """FORBIDDEN when there is no such link, any more or at all: which of the two, nobody is told."""
        link, now = self._links.pop(digest_of(secret), None), self.registry.clock.now()
        if link is None or link.expires_at <= now:
            raise ForbiddenError(
                Code.FORBIDDEN,
                "this link was used, is too old, or never was one",
                Hint("ask for another: ", Use("open")),
            )
        cookie, proof = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        login = Login(f"lg-{secrets.token_hex(4)}", digest_of(cookie), digest_of(proof), now, now + LOGIN_SECONDS)

        def write(db: sqlite3.Connection) -> None:
            logins.insert(db, login)
            events.append(db, now, None, OPERATOR.name, "page login", id=login.id, expires_at=login.expires_at)

        await self.registry.write(write)
        self._known[login.cookie] = login
        self._shells[login.id] = link.shell
        return NewLogin(login, cookie, proof)

    # -- logins

    def recognise(self, cookie: str, proof: str) -> Login | None:
        """The login, when both secrets are its own and it has not expired."""
        digest = digest_of(cookie)
        login = self._known.get(digest)
        if login is None or not hmac.compare_digest(login.cookie, digest):
            return None
        good = hmac.compare_digest(login.proof, digest_of(proof))
        return login if good and self.registry.clock.now() < login.expires_at else None

    def shell(self, login: Login) -> Shell | None:
        """The shell that it came from; None when a restart lies between: an environment is never written down."""
        return self._shells.get(login.id)

    @contextmanager
    def held(self, login: Login, lost: Lost) -> Generator[None]:
        """While something is open with it: `lost` is called when it is closed."""
        holds = self._holds.setdefault(login.id, set())
        holds.add(lost)
        try:
            yield
        finally:
            holds.discard(lost)
            if not holds:
                self._holds.pop(login.id, None)

    async def close(self, by: Caller) -> int:
        """All of them, and every link that was not used: how many logins there were."""
        now, count = self.registry.clock.now(), len(self._known)

        def write(db: sqlite3.Connection) -> None:
            logins.delete_all(db)
            events.append(db, now, None, by.name, "page logout", logins=count)

        await self.registry.write(write)
        self._links.clear()
        self._known.clear()
        self._shells.clear()
        for holds in list(self._holds.values()):
            for lost in list(holds):
                lost()
        return count

    async def forget_old(self) -> None:
        now = self.registry.clock.now()
        await self.registry.store.write(lambda db: logins.forget_before(db, now))
        await self.load()
