"""The routes of the page: its files and the login for everybody, the rest for who is logged in or has a token."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from starlette.datastructures import QueryParams
from starlette.types import Receive, Scope, Send

from lamplighter.engine.service.logins import LOGIN_SECONDS
from lamplighter.errors import Code, LampError
from lamplighter.frontends.http.guard import Guest, cookie_name
from lamplighter.frontends.http.http_refusal import STRANGER, HttpRefusal
from lamplighter.frontends.web.api_calls import ApiCalls
from lamplighter.frontends.web.assets import assets
from lamplighter.frontends.web.live import Live
from lamplighter.frontends.web.replies import body_of, send_text
from lamplighter.frontends.web.terminals import PageTerminals

if TYPE_CHECKING:
    from lamplighter.app import App

_LOGIN = "/api/login"
_CALL = "/api/call/"
_LIVE = "/api/live"
_TERMINAL = "/api/terminal/"


class Pages:
    def __init__(self, app: App, port: int) -> None:
        self.app = app
        self.cookie = cookie_name(port)
        self.calls = ApiCalls(app)
        self.live = Live(app)
        self.terminals = PageTerminals(app)

    async def open_to_all(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Whether it was answered."""
        method: str = scope["method"]
        if scope["path"] == _LOGIN and method == "POST":
            await self._log_in(receive, send)
            return True
        if method not in ("GET", "HEAD") or scope["path"] not in assets():
            return False
        await _send_asset(scope, send)
        return True

    def has(self, path: str) -> bool:
        return path == _LIVE or path.startswith((_CALL, _TERMINAL))

    async def serve(self, guest: Guest, scope: Scope, receive: Receive, send: Send) -> None:
        path, asked = scope["path"], dict(QueryParams(scope["query_string"]))
        if scope["type"] == "websocket" and path == _LIVE:
            await self.live.serve_socket(guest, asked, receive, send)
        elif scope["type"] == "websocket":
            await self.terminals.serve(guest, path.removeprefix(_TERMINAL), receive, send)
        elif path.startswith(_CALL) and scope["method"] == "POST":
            await self.calls.serve(guest, path.removeprefix(_CALL), receive, send, in_parts="parts" in asked)
        elif path == _LIVE and scope["method"] == "GET":
            await self.live.serve(guest, asked, receive, send)
        else:
            raise HttpRefusal(405, Code.BAD_INPUT, "this is not how to ask here", "calls are POST, /api/live is GET")

    async def _log_in(self, receive: Receive, send: Send) -> None:
        """The cookie is not for scripts and goes with nothing that another site begins; the proof is for the page's script."""
        link = (await body_of(receive)).get("link")
        try:
            admission = await self.app.logins.redeem(str(link))
        except LampError as error:
            raise HttpRefusal(403, error.code, error.message, error.hint, "wrong link", STRANGER.name) from None
        cookie = f"{self.cookie}={admission.cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={LOGIN_SECONDS:.0f}"
        await send_text(send, 200, json.dumps({"proof": admission.proof}), [(b"set-cookie", cookie.encode())])


async def _send_asset(scope: Scope, send: Send) -> None:
    asset = assets()[scope["path"]]
    headers = dict(scope["headers"])
    if headers.get(b"if-none-match") == asset.tag:
        kept = [header for header in asset.headers(packed=False) if header[0] != b"content-length"]
        await send({"type": "http.response.start", "status": 304, "headers": kept})
        await send({"type": "http.response.body", "body": b""})
        return
    packed = b"gzip" in headers.get(b"accept-encoding", b"")
    await send({"type": "http.response.start", "status": 200, "headers": asset.headers(packed=packed)})
    data = asset.packed if packed else asset.data
    await send({"type": "http.response.body", "body": data if scope["method"] == "GET" else b""})
