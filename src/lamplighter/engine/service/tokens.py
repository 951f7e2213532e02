"""The tokens there are: made, recognised, revoked. Every request over HTTP asks here, so all of them are in memory.

Knows the store and the events; knows nothing of HTTP, but for who has to be told when a token that is in use is one no more.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace

from lamplighter.domain.name import check_name
from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.token import Token, TokenState, digest_of, make_secret
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.core.tasks import Tasks
from lamplighter.errors import Code, ConflictError, Hint, MissingError, UnavailableError, Use
from lamplighter.store import events, tokens

_USE_SECONDS = 60.0
_KEPT_SECONDS = 30 * 86400.0
_LOOK_SECONDS = 2.0

Lost = Callable[[], None]


class TokenService:
    def __init__(self, registry: SessionRegistry, tasks: Tasks) -> None:
        self.registry = registry
        self.tasks = tasks
        self._known: dict[str, Token] = {}  # by digest
        self._holds: dict[str, set[Lost]] = {}
        self._changing = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    async def load(self) -> None:
        self._known = {token.digest: token for token in await self.registry.store.read(tokens.everything)}

    def list(self) -> list[Token]:
        return sorted(self._known.values(), key=lambda token: (token.made_at, token.id))

    # -- making and revoking

    async def create(
        self, name: str, scopes: frozenset[str], seconds: float | None, by: Caller, key: str, *, repeated: bool
    ) -> tuple[Token, str]:
        """The token and its secret, which is kept nowhere. NAME_TAKEN while another of this name is valid."""
        check_name(name)
        async with self._changing:
            return await self._create(name, scopes, seconds, by, key, repeated=repeated)

    async def _create(
        self, name: str, scopes: frozenset[str], seconds: float | None, by: Caller, key: str, *, repeated: bool
    ) -> tuple[Token, str]:
        made = await self.registry.store.get(lambda db: tokens.of_key(db, key)) if repeated else None
        if made is not None:
            return await self._renew(made)
        now, secret = self.registry.clock.now(), make_secret()
        expires = None if seconds is None else now + seconds
        token = Token(f"tk-{secrets.token_hex(4)}", name, digest_of(secret), scopes, now, expires)
        former = self._named(name)
        if former is not None and former.state(now) is TokenState.VALID:
            raise ConflictError(
                Code.NAME_TAKEN,
                f"there is a token {name} already",
                Hint("choose another name, or take that one away first: ", Use("token", action="revoke", name=name)),
            )

        def write(db: sqlite3.Connection) -> None:
            if former is not None:
                tokens.revoke(db, former.id, now)
            tokens.insert(db, token, key)
            detail = {"token": name, "id": token.id, "scopes": sorted(scopes), "expires_at": expires}
            events.append(db, now, None, by.name, "token create", **detail)

        await self.registry.write(write)
        if former is not None:
            self._known[former.digest] = replace(former, revoked_at=now)
        self._known[token.digest] = token
        return token, secret

    async def _renew(self, made: Token) -> tuple[Token, str]:
        """A crash lies between the token and its answer: nobody has seen the secret, so another one takes its place."""
        secret = make_secret()
        token = replace(made, digest=digest_of(secret))
        await self.registry.store.write(lambda db: tokens.renew(db, token.id, token.digest))
        self._known.pop(made.digest, None)
        self._known[token.digest] = token
        return token, secret

    async def revoke(self, name: str, by: Caller, *, repeated: bool) -> Token:
        """From now on it opens nothing, and what it has open is closed. NOT_FOUND when there is none of this name."""
        async with self._changing:
            return await self._revoke(name, by, repeated=repeated)

    async def _revoke(self, name: str, by: Caller, *, repeated: bool) -> Token:
        token = self._named(name)
        if token is None:
            former = [one for one in self.list() if one.name == name]
            if repeated and former:
                return former[-1]
            raise MissingError(
                Code.NOT_FOUND,
                f"there is no token {name[:60]!a}",
                Hint(Use("token", action="ls"), " lists those there are"),
            )
        now = self.registry.clock.now()

        def write(db: sqlite3.Connection) -> None:
            tokens.revoke(db, token.id, now)
            events.append(db, now, None, by.name, "token revoke", token=name, id=token.id)

        await self.registry.write(write)
        revoked = self._known[token.digest] = replace(self._known[token.digest], revoked_at=now)
        self._tell(token.id)
        return revoked

    async def forget_old(self) -> None:
        before = self.registry.clock.now() - _KEPT_SECONDS
        await self.registry.store.write(lambda db: tokens.forget_before(db, before))
        await self.load()

    def _named(self, name: str) -> Token | None:
        return next((one for one in self._known.values() if one.name == name and one.revoked_at is None), None)

    # -- using

    def recognise(self, secret: str) -> tuple[Token, TokenState] | None:
        """The token of this secret, and whether it holds; None when there is no such token."""
        digest = digest_of(secret)
        token = self._known.get(digest)
        # What can be timed is the look-up of a hash, of which nobody can choose the beginning.
        if token is None or not hmac.compare_digest(token.digest, digest):
            return None
        return token, token.state(self.registry.clock.now())

    async def use(self, token: Token) -> Caller:
        """Who asks with it. That it was used is written down once a minute."""
        now = self.registry.clock.now()
        if token.used_at is None or not 0 <= now - token.used_at < _USE_SECONDS:
            self._known[token.digest] = replace(token, used_at=now)
            with suppress(UnavailableError):  # a disk that is full must not lock out whoever comes to make room
                await self.registry.store.write(lambda db: tokens.use(db, token.id, now))
        return Caller(Rank.TOKEN, f"token:{token.name}", scopes=token.scopes)

    @contextmanager
    def held(self, token: Token, lost: Lost) -> Generator[None]:
        """While something is open with it: `lost` is called when it is revoked or expires."""
        holds = self._holds.setdefault(token.id, set())
        holds.add(lost)
        if self._watch is None and token.expires_at is not None:
            self._watch = self.tasks.begin(self._look(), "tokens in use")
        try:
            yield
        finally:
            holds.discard(lost)
            if not holds:
                self._holds.pop(token.id, None)

    async def _look(self) -> None:
        """While tokens are in use. The wall clock can be set, so its end is looked for and not waited for."""
        while self._holds:
            await asyncio.sleep(_LOOK_SECONDS)
            now = self.registry.clock.now()
            for token in [one for one in self._known.values() if one.id in self._holds]:
                if token.state(now) is not TokenState.VALID:
                    self._tell(token.id)
        self._watch = None

    def _tell(self, token: str) -> None:
        for lost in list(self._holds.get(token, ())):
            lost()
