"""The one ASGI application that everything over HTTP goes through: Host, Origin, who it is, size; then the routes.

A web page on another site can make a browser send requests here, and can have its own name lead to 127.0.0.1; so Host and
Origin are compared whole, on every route and for WebSockets too, before anything else. Knows HTTP's headers, tokens and
logins; knows neither MCP nor the page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Message, Receive, Scope, Send

from lamplighter.domain.login import Login
from lamplighter.domain.permission import OPERATOR, Caller
from lamplighter.domain.token import Token, TokenState
from lamplighter.errors import Code
from lamplighter.frontends.http.http_refusal import HttpRefusal
from lamplighter.frontends.refusals import Refusals
from lamplighter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lamplighter.app import App

LONGEST = 16 << 20
_STRANGERS_LONGEST = 4 << 10  # of what is taken from somebody who is not let in yet: a link
LET_IN = "let_in"
"""What a connection is told by, in the scope's state, once somebody on it was let in."""
_READ_OUT = 4 * LONGEST
_MAKE = "make one with lamp token create NAME --scope read,start,send,end and send it as Authorization: Bearer SECRET"
_OPEN = "open it from your shell: lamp open"
PROOF = "x-lamplighter-proof"
_PROTOCOL = "proof."


@dataclass(frozen=True)
class Guest:
    """Who was let in, with a token or a login. `held` calls back when that holds no more; `lost` is what is answered then."""

    caller: Caller
    held: Callable[[Callable[[], None]], AbstractContextManager[None]]
    lost: Callable[[], HttpRefusal]
    token: Token | None = None
    login: Login | None = None


class Routes(Protocol):
    """What is behind the guard at `/mcp`."""

    def has(self, path: str) -> bool: ...

    async def serve(self, token: Token, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def forget(self, token: Token) -> None:
        """Whatever was begun with this token ends."""
        ...


class PageRoutes(Protocol):
    """What is behind it elsewhere: `open_to_all` without a login or token, `serve` with one."""

    async def open_to_all(self, scope: Scope, receive: Receive, send: Send) -> bool: ...

    def has(self, path: str) -> bool: ...

    async def serve(self, guest: Guest, scope: Scope, receive: Receive, send: Send) -> None: ...


class Guard:
    def __init__(self, app: App, port: int, routes: Routes, pages: PageRoutes) -> None:
        self.tokens = app.tokens
        self.logins = app.logins
        self.routes = routes
        self.pages = pages
        self.cookie = cookie_name(port)
        self.refusals = Refusals(app.registry, app.tasks)
        self._open: set[anyio.CancelScope] = set()
        self._closing = False
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        self._origins = frozenset(f"http://{name}:{port}" for name in ("127.0.0.1", "localhost"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return
        headers = Headers(scope=scope)
        try:
            self._check_address(headers, scope["type"])
            await self._lead(headers, scope, receive, send)
        except HttpRefusal as refused:
            refused.closes = _is_endless(headers) or refused.status in (400, 403)
            if refused.reason:
                self.refusals.count(refused.caller, door="http", reason=refused.reason)
            await refused.response()(scope, receive, send)

    async def _lead(self, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        known = scope["raw_path"] == path.encode()
        if path.startswith("/mcp"):
            guest = await self._with_token(headers)
            _check_size(headers)
            if not known or scope["type"] != "http" or not self.routes.has(path):
                raise _no_route()
            token = guest.token
            assert token is not None
            await self._serve(guest, partial(self.routes.serve, token, guest.caller), scope, _measured(receive), send)
            return
        _check_size(headers)
        if not known:
            raise _no_route()
        few = _measured(receive, _STRANGERS_LONGEST)
        if scope["type"] == "http" and await self.pages.open_to_all(scope, few, send):
            return
        if not path.startswith("/api/"):
            raise _no_route()
        guest = await self._with_token(headers) if "authorization" in headers else self._with_login(headers, scope)
        if not self.pages.has(path):
            raise _no_route()
        await self._serve(guest, partial(self.pages.serve, guest), scope, _measured(receive), send)

    def _check_address(self, headers: Headers, kind: str) -> None:
        if _only(headers, "host") not in self._hosts:
            raise HttpRefusal(
                403, Code.FORBIDDEN, "this is not reached by that name", "use http://127.0.0.1 and the port", "host"
            )
        # A browser names its origin with every WebSocket; who does not is no page of ours.
        told = "origin" in headers or kind == "websocket"
        if told and _only(headers, "origin") not in self._origins:
            raise HttpRefusal(
                403, Code.FORBIDDEN, "a page of another site may not", "call from a program, not a page", "origin"
            )

    async def _with_token(self, headers: Headers) -> Guest:
        """By the token of the request, when it holds."""
        scheme, _, secret = _only(headers, "authorization").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise HttpRefusal(401, Code.FORBIDDEN, "this needs a token", _MAKE, "no token")
        found = self.tokens.recognise(secret.strip())
        if found is None:
            raise HttpRefusal(401, Code.FORBIDDEN, "there is no such token", _MAKE, "wrong token")
        token, state = found
        if state is not TokenState.VALID:
            raise _lost(token, state)
        held = partial(self.tokens.held, token)
        return Guest(await self.tokens.use(token), held, partial(_lost, token, TokenState.REVOKED), token=token)

    def _with_login(self, headers: Headers, scope: Scope) -> Guest:
        """By the page's two secrets: the cookie, which a browser sends by itself, and the proof, which only the page can."""
        cookie = cookie_parser(_only(headers, "cookie")).get(self.cookie, "")
        if not cookie:
            raise HttpRefusal(401, Code.FORBIDDEN, "this needs a login", _OPEN, "no login")
        proof = _only(headers, PROOF) if scope["type"] == "http" else _proof_of(scope)
        login = self.logins.recognise(cookie, proof)
        if login is None:
            raise HttpRefusal(401, Code.FORBIDDEN, "this login does not hold, or no longer", _OPEN, "wrong login")
        return Guest(OPERATOR, partial(self.logins.held, login), _logged_out, login=login)

    async def _serve(
        self,
        guest: Guest,
        serve: Callable[[Scope, Receive, Send], Awaitable[None]],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """For as long as what it came in with holds: when that is taken away or expires, what is open is cut."""
        scope.get("state", {}).get(LET_IN, _nobody_asks)()
        progress = _Progress(send, scope["type"])
        with anyio.CancelScope() as holding, guest.held(holding.cancel):
            self._open.add(holding)
            try:
                await serve(scope, receive, progress.send)
            finally:
                self._open.discard(holding)
        if not holding.cancelled_caught:
            return
        if not self._closing and guest.token is not None:
            await self.routes.forget(guest.token)
        if progress.begun:
            await progress.finish(self._closing)
        else:
            raise _going() if self._closing else guest.lost()

    def close(self) -> None:
        """Everything that is open ends."""
        self._closing = True
        self.refusals.close()
        for holding in list(self._open):
            holding.cancel()


class _Progress:
    """How far the answer has come, for when it has to be cut short."""

    def __init__(self, send: Send, kind: str) -> None:
        self._send = send
        self.kind = kind
        self.begun = False
        self.done = False

    async def send(self, message: Message) -> None:
        self.begun = True
        ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        self.done = ended or message["type"] == "websocket.close"
        await self._send(message)

    async def finish(self, going: bool) -> None:
        if self.done:
            return
        with suppress(Exception):  # the client may be gone, or the answer have a length that it cannot have any more
            if self.kind == "websocket":
                await self._send({"type": "websocket.close", "code": 1012 if going else 4401})
            else:
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def cookie_name(port: int) -> str:
    """Cookies are sent to every port of an address, so each port has a name of its own."""
    return f"lamplighter-{port}"


def _only(headers: Headers, name: str) -> str:
    """Its value; nothing when it is not there, or there more than once: then nobody knows which one counts."""
    values = headers.getlist(name)
    return values[0] if len(values) == 1 else ""


def _is_endless(headers: Headers) -> bool:
    """Whether what is still to come is more than is worth reading for the sake of an answer that is not lost in a reset."""
    length = _only(headers, "content-length")
    return "transfer-encoding" in headers or (length.isdecimal() and int(length) > _READ_OUT)


def _proof_of(scope: Scope) -> str:
    """A WebSocket has no headers of its own in a browser; what it can say is which protocols it speaks."""
    named: list[str] = scope.get("subprotocols") or []
    return next((one.removeprefix(_PROTOCOL) for one in named if one.startswith(_PROTOCOL)), "")


def _check_size(headers: Headers) -> None:
    length = _only(headers, "content-length")
    if "transfer-encoding" in headers and "content-length" in headers:
        raise HttpRefusal(
            400, Code.BAD_INPUT, "a request has one length, not two", "send Content-Length alone", "two lengths"
        )
    if length.isdecimal() and int(length) > LONGEST:
        raise _too_long()


def _measured(receive: Receive, most: int = LONGEST) -> Receive:
    """The body as it comes, up to what is let through; a length that was told can be a lie, or not be told at all."""
    taken = 0

    async def measured() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise _too_long(most)
        return message

    return measured


def _nobody_asks() -> None:
    """It does not come over a connection of ours."""


def _too_long(most: int = LONGEST) -> HttpRefusal:
    size = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
    return HttpRefusal(413, Code.BAD_INPUT, f"a request here is at most {size} long", "send less at once", "too long")


def _no_route() -> HttpRefusal:
    return HttpRefusal(
        404, Code.NOT_FOUND, "there is nothing here", "the page is at /, MCP at /mcp, other toolsets at /mcp/NAME"
    )


def _logged_out() -> HttpRefusal:
    return HttpRefusal(401, Code.FORBIDDEN, "the operator has closed the page", _OPEN, "wrong login")


def _going() -> HttpRefusal:
    return HttpRefusal(503, Code.DAEMON_UNREACHABLE, "the daemon is going down", "ask again when it is up: lamp up")


def _lost(token: Token, state: TokenState) -> HttpRefusal:
    hint = f"ask the operator for another: lamp token create {token.name} --scope {','.join(sorted(token.scopes))}"
    by = f"token:{token.name}"
    return HttpRefusal(401, Code.FORBIDDEN, f"the token {token.name} is {state}", hint, f"{state} token", by)
