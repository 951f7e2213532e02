"""What the page hears live: sessions as they change, one session in full, what waits for the operator.

First everything that was asked for, then what is different: only rows that changed, and of them only the fields that did.
Knows operations and their results; knows nothing of how they come about.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic_core import to_json
from starlette.types import Receive, Send

from lamplighter.domain.selection import parse_selection
from lamplighter.errors import LampError
from lamplighter.frontends.calls import answered
from lamplighter.frontends.http.guard import Guest
from lamplighter.frontends.web.http_status import status_of
from lamplighter.frontends.web.replies import PROTOCOL, Stream, send_text, while_there
from lamplighter.operations.host import Status
from lamplighter.operations.operation import Result
from lamplighter.operations.query import Events
from lamplighter.operations.views.common import SessionDetail, Sessions, SessionView

if TYPE_CHECKING:
    from lamplighter.app import App

_PAUSE_SECONDS = 1.0
_GATHER_SECONDS = 0.1
_SHARE = 0.05
_MOST = 5000

Row = dict[str, Any]
R = TypeVar("R", bound=Result)


class Teller(Protocol):
    """How a page is told: by server-sent events, or by a WebSocket, of which a browser has many at once."""

    async def tell(self, event: str, data: bytes) -> None: ...

    async def here(self) -> None:
        """Nothing is new, and we are there."""
        ...

    async def end(self) -> None: ...


class Live:
    def __init__(self, app: App) -> None:
        self.app = app

    async def serve(self, guest: Guest, asked: dict[str, str], receive: Receive, send: Send) -> None:
        """`sessions` is a selection, with `all` those that ended too; `session` one in full; without either, the state alone."""
        try:
            await self._check(guest, asked)
        except LampError as error:
            await send_text(send, status_of(error.code), to_json({"error": error.document()}).decode())
            return
        await self._go_on(guest, asked, receive, _Stream(send))

    async def serve_socket(self, guest: Guest, asked: dict[str, str], receive: Receive, send: Send) -> None:
        """The same as JSON, [event, data] each; `clock` comes first, our time in milliseconds."""
        await receive()  # websocket.connect
        await send({"type": "websocket.accept", "subprotocol": PROTOCOL})
        teller = _Socket(send)
        try:
            await self._check(guest, asked)
        except LampError as error:
            await teller.tell("error", to_json(error.document()))
            await teller.end()
            return
        await teller.tell("clock", to_json(int(1000 * self.app.clock.now())))
        await self._go_on(guest, asked, receive, teller)

    async def _check(self, guest: Guest, asked: dict[str, str]) -> None:
        """What is wrong with it is said before anything else is."""
        parse_selection(asked.get("sessions", ""))
        if "session" in asked:
            await _look(self.app, guest, "get_session", SessionDetail, session=asked["session"])
        else:
            await _look(self.app, guest, "get_status", Status)

    async def _go_on(self, guest: Guest, asked: dict[str, str], receive: Receive, teller: Teller) -> None:
        await while_there(Board(self.app, guest, asked, teller).go_on(), receive)


class _Stream:
    def __init__(self, send: Send) -> None:
        self._stream = Stream(send, b"text/event-stream")

    async def tell(self, event: str, data: bytes) -> None:
        await self._stream.write(f"event: {event}\ndata: {data.decode()}\n\n")

    async def here(self) -> None:
        await self._stream.write(": here\n\n")

    async def end(self) -> None:
        await self._stream.end()


class _Socket:
    def __init__(self, send: Send) -> None:
        self._send = send

    async def tell(self, event: str, data: bytes) -> None:
        await self._send({"type": "websocket.send", "text": f'["{event}",{data.decode()}]'})

    async def here(self) -> None:
        await self.tell("here", b"null")

    async def end(self) -> None:
        await self._send({"type": "websocket.close", "code": 1000})


class Board:
    """What one page was told, to tell it what is different."""

    def __init__(self, app: App, guest: Guest, asked: dict[str, str], teller: Teller) -> None:
        self.app = app
        self.guest = guest
        self.asked = asked
        self.teller = teller
        self.rows: dict[str, Row] | None = None
        self.by_hand: list[Any] = []
        self.sums: dict[str, int] = {}
        self.detail: bytes = b""
        self.state: bytes = b""
        self._cost = 0.0

    async def go_on(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            news = self.app.registry.news
            began = loop.time()
            try:
                await self._tell_all()
            except LampError as error:  # a word of the selection names nobody, or nobody any more
                await self.teller.tell("error", to_json(error.document()))
                await self.teller.end()
                return
            # Each page takes its share of the daemon and no more.
            pause = max(_PAUSE_SECONDS, (loop.time() - began) / _SHARE)
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), pause)
                await asyncio.sleep(max(_GATHER_SECONDS, pause / 10))  # much happens together

    async def _look(self, operation: str, kind: type[R], **arguments: Any) -> R:
        return await _look(self.app, self.guest, operation, kind, **arguments)

    async def _tell_all(self) -> None:
        await self._tell_state()
        if "sessions" in self.asked:
            await self._tell_sessions()
        if "session" in self.asked:
            await self._tell_detail()

    async def _tell_state(self) -> None:
        """Always: also when nothing else happens the page hears from us, and knows that we are there."""
        found = await self._look("get_status", Status)
        events = (await self._look("list_events", Events, limit=1)).events
        shell = self.app.logins.shell(self.guest.login) if self.guest.login else None
        state = to_json(
            {
                **found.model_dump(),
                "event": events[-1].n if events else 0,
                "cwd": shell.cwd if shell else None,
                "shell": shell is not None,
            }
        )
        if state == self.state:
            await self.teller.here()
        else:
            self.state = state
            await self.teller.tell("state", state)

    async def _tell_sessions(self) -> None:
        found = await self._list()
        rows = {view.id: dict(vars(view)) for view in found.sessions}
        if self.rows is None:
            first = {"sessions": list(rows.values()), "by_hand": found.by_hand, "left_out": found.left_out}
            await self.teller.tell("sessions", to_json(first))
        else:
            changed = {name: _difference(self.rows.get(name), row) for name, row in rows.items()}
            changes: dict[str, Any] = {
                "changed": {name: fields for name, fields in changed.items() if fields},
                "gone": [name for name in self.rows if name not in rows],
            }
            if found.by_hand != self.by_hand:
                changes["by_hand"] = found.by_hand
            if changes["changed"] or changes["gone"] or "by_hand" in changes:
                await self.teller.tell("changes", to_json(changes))
        self.rows, self.by_hand = rows, list(found.by_hand)
        await self._tell_sums(found.sessions)

    async def _tell_sums(self, chosen: list[SessionView]) -> None:
        """Of all that is alive, whatever is chosen."""
        if parse_selection(self.asked["sessions"]).groups:
            chosen = (await self._look("list_sessions", Sessions, limit=_MOST)).sessions
        alive = [view for view in chosen if view.state != "ended"]
        sums = {
            "alive": len(alive),
            "processes": sum(view.processes for view in alive),
            "memory": sum(view.memory for view in alive),
            "waiting": sum(view.state == "running" and view.verdict == "waiting" for view in alive),
        }
        if sums != self.sums:
            self.sums = sums
            await self.teller.tell("sums", to_json(sums))

    async def _list(self) -> Sessions:
        ended = self.asked.get("all") == "1"
        return await self._look("list_sessions", Sessions, selection=self.asked["sessions"], all=ended, limit=_MOST)

    async def _tell_detail(self) -> None:
        found = await self._look("get_session", SessionDetail, session=self.asked["session"])
        detail = found.model_dump_json().encode()
        if detail != self.detail:
            self.detail = detail
            await self.teller.tell("session", detail)


async def _look(app: App, guest: Guest, operation: str, kind: type[R], **arguments: Any) -> R:
    async with answered(app, guest.caller, operation, arguments, key="", gone=asyncio.Event()) as answer:
        return answer.result(kind)


def _difference(before: Row | None, now: Row) -> Row:
    if before is None:
        return now
    return {name: value for name, value in now.items() if before.get(name) != value}
