"""The one ASGI application that everything over HTTP goes through: Host, Origin, token, size; then the routes.

A web page on another site can make a browser send requests here, and can have its own name lead to 127.0.0.1; so Host and
Origin are compared whole, on every route, before anything else. Knows HTTP's headers and tokens; knows no MCP.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from lamplighter.domain.permission import Caller
from lamplighter.domain.token import Token, TokenState
from lamplighter.errors import Code
from lamplighter.frontends.http.refusals import Message, Refused, Send, answer
from lamplighter.frontends.refusals import Refusals

if TYPE_CHECKING:
    from lamplighter.app import App

LONGEST = 16 << 20
_READ_OUT = 4 * LONGEST
_GUARDED = "/mcp"
_MAKE = "make one with lamp token create NAME --scope read,start,send,end and send it as Authorization: Bearer SECRET"

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]


class Routes(Protocol):
    """What is behind the guard."""

    def has(self, path: str) -> bool: ...

    async def serve(self, token: Token, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def forget(self, token: Token) -> None:
        """Whatever was begun with this token ends."""
        ...


class Guard:
    def __init__(self, app: App, port: int, routes: Routes) -> None:
        self.tokens = app.tokens
        self.routes = routes
        self.refusals = Refusals(app.fleet, app.tasks)
        self._open: set[anyio.CancelScope] = set()
        self._closing = False
        self._hosts = frozenset(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]"))
        self._origins = frozenset(f"http://{name}:{port}".encode() for name in ("127.0.0.1", "localhost"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = _Headers(scope)
        try:
            self._check_address(headers)
            path: str = scope["path"]
            token = self._recognised(headers) if path.startswith(_GUARDED) else None
            _check_size(headers)
            if token is None or scope["raw_path"] != path.encode() or not self.routes.has(path):
                raise _no_route()
            await self._serve(token, scope, _measured(receive), send)
        except Refused as refused:
            refused.closes = headers.is_endless or refused.status in (400, 403)
            if refused.reason:
                self.refusals.count(refused.caller, door="http", reason=refused.reason)
            await answer(refused, send)

    def _check_address(self, headers: _Headers) -> None:
        if headers.only(b"host") not in self._hosts:
            raise Refused(
                403, Code.FORBIDDEN, "this is not reached by that name", "use http://127.0.0.1 and the port", "host"
            )
        if headers.count(b"origin") and headers.only(b"origin") not in self._origins:
            raise Refused(
                403, Code.FORBIDDEN, "a page of another site may not", "call from a program, not a page", "origin"
            )

    def _recognised(self, headers: _Headers) -> Token:
        """The token of the request, when it holds."""
        scheme, _, secret = headers.only(b"authorization").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise Refused(401, Code.FORBIDDEN, "this needs a token", _MAKE, "no token")
        found = self.tokens.recognise(secret.strip())
        if found is None:
            raise Refused(401, Code.FORBIDDEN, "there is no such token", _MAKE, "wrong token")
        token, state = found
        if state is not TokenState.VALID:
            raise _lost(token, state)
        return token

    async def _serve(self, token: Token, scope: Scope, receive: Receive, send: Send) -> None:
        """For as long as the token holds: when it is revoked or expires, what is open with it is cut."""
        progress = _Progress(send)
        caller = await self.tokens.use(token)
        with anyio.CancelScope() as holding, self.tokens.held(token, holding.cancel):
            self._open.add(holding)
            try:
                await self.routes.serve(token, caller, scope, receive, progress.send)
            finally:
                self._open.discard(holding)
        if not holding.cancelled_caught:
            return
        if not self._closing:
            await self.routes.forget(token)
        if progress.begun:
            await progress.finish()
        else:
            raise _going() if self._closing else _lost(token, TokenState.REVOKED)

    def close(self) -> None:
        """Everything that is open ends."""
        self._closing = True
        self.refusals.close()
        for holding in list(self._open):
            holding.cancel()


class _Headers:
    def __init__(self, scope: Scope) -> None:
        self._found: list[tuple[bytes, bytes]] = scope["headers"]

    def count(self, name: bytes) -> int:
        return sum(1 for found, _ in self._found if found == name)

    def only(self, name: bytes) -> bytes:
        """Its value; nothing when it is not there, or there more than once: then nobody knows which one counts."""
        values = [value for found, value in self._found if found == name]
        return values[0] if len(values) == 1 else b""

    @property
    def is_endless(self) -> bool:
        """Whether what is still to come is more than is worth reading for the sake of an answer that is not lost in a reset."""
        length = self.only(b"content-length")
        return bool(self.count(b"transfer-encoding")) or (length.isdigit() and int(length) > _READ_OUT)


class _Progress:
    """How far the answer has come, for when it has to be cut short."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False
        self.done = False

    async def send(self, message: Message) -> None:
        self.begun = True
        self.done = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        if not self.done:
            with suppress(
                Exception
            ):  # the client may be gone, or the answer have a length that it cannot have any more
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _check_size(headers: _Headers) -> None:
    length = headers.only(b"content-length")
    if headers.count(b"transfer-encoding") and headers.count(b"content-length"):
        raise Refused(
            400, Code.BAD_INPUT, "a request has one length, not two", "send Content-Length alone", "two lengths"
        )
    if length.isdigit() and int(length) > LONGEST:
        raise _too_long()


def _measured(receive: Receive) -> Receive:
    """The body as it comes, up to what is let through; a length that was told can be a lie, or not be told at all."""
    taken = 0

    async def measured() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > LONGEST:
            raise _too_long()
        return message

    return measured


def _too_long() -> Refused:
    return Refused(
        413, Code.BAD_INPUT, f"a request is at most {LONGEST >> 20} MiB long", "send less at once", "too long"
    )


def _no_route() -> Refused:
    return Refused(404, Code.NOT_FOUND, "there is nothing here", "MCP is at /mcp, other toolsets at /mcp/NAME")


def _going() -> Refused:
    return Refused(503, Code.DAEMON_UNREACHABLE, "the daemon is going down", "ask again when it is up: lamp up")


def _lost(token: Token, state: TokenState) -> Refused:
    hint = f"ask the operator for another: lamp token create {token.name} --scope {','.join(sorted(token.scopes))}"
    by = f"token:{token.name}"
    return Refused(401, Code.FORBIDDEN, f"the token {token.name} is {state}", hint, f"{state} token", by)
