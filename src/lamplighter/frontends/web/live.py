"""What the page hears live, as server-sent events: sessions as they change, one session in full, what waits for the operator.

First everything that was asked for, then what is different: only rows that changed, and of them only the fields that did.
Knows views; knows nothing of how they come about.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from lamplighter.domain.permission import Act
from lamplighter.domain.selection import parse_selection
from lamplighter.errors import LampError
from lamplighter.frontends.http.guard import Guest, Receive
from lamplighter.frontends.http.refusals import Send
from lamplighter.frontends.web.replies import Stream, send_text
from lamplighter.frontends.web.statuses import STATUS
from lamplighter.operations.views import Sessions
from lamplighter.store.chronicle import last_event

if TYPE_CHECKING:
    from lamplighter.app import App

_PAUSE_SECONDS = 1.0
_GATHER_SECONDS = 0.1
_SHARE = 0.05
_MOST = 5000

Row = dict[str, Any]


class Live:
    def __init__(self, app: App) -> None:
        self.app = app

    async def serve(self, guest: Guest, asked: dict[str, str], receive: Receive, send: Send) -> None:
        """`sessions` is a selection, with `all` those that ended too; `session` one in full; without either, the state alone."""
        stream = Stream(send, b"text/event-stream")
        board = Board(self.app, guest, asked, stream)
        try:
            await self.app.admitted(guest.caller, Act.READ)
            parse_selection(asked.get("sessions", ""))
            if "session" in asked:
                await self.app.find(asked["session"])
        except LampError as error:
            await send_text(send, STATUS[error.code], to_json({"error": error.document()}).decode())
            return
        leaving = asyncio.ensure_future(_left(receive))
        telling = asyncio.ensure_future(board.go_on())
        try:
            await asyncio.wait((telling, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (telling, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, ConnectionError):
                    await task


class Board:
    """What one page was told, to tell it what is different."""

    def __init__(self, app: App, guest: Guest, asked: dict[str, str], stream: Stream) -> None:
        self.app = app
        self.guest = guest
        self.asked = asked
        self.stream = stream
        self.rows: dict[str, Row] | None = None
        self.by_hand: list[Any] = []
        self.detail: bytes = b""
        self.state: bytes = b""
        self._cost = 0.0

    async def go_on(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            news = self.app.fleet.news
            began = loop.time()
            try:
                await self._tell_all()
            except LampError as error:  # a word of the selection names nobody, or nobody any more
                await self._tell("error", to_json(error.document()))
                await self.stream.end()
                return
            # Each page takes its share of the daemon and no more.
            pause = max(_PAUSE_SECONDS, (loop.time() - began) / _SHARE)
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), pause)
                await asyncio.sleep(max(_GATHER_SECONDS, pause / 10))  # much happens together

    async def _tell_all(self) -> None:
        await self._tell_state()
        if "sessions" in self.asked:
            await self._tell_sessions()
        if "session" in self.asked:
            await self._tell_detail()

    async def _tell(self, event: str, data: bytes) -> None:
        await self.stream.write(f"event: {event}\ndata: {data.decode()}\n\n")

    async def _tell_state(self) -> None:
        """Always: also when nothing else happens the page hears from us, and knows that we are there."""
        app = self.app
        found = await app.host.status(self.guest.caller)
        shell = app.logins.shell(self.guest.login) if self.guest.login else None
        state = to_json(
            {
                **found,
                "approvals": await app.approvals.waiting(),
                "event": await app.store.get(last_event),
                "cwd": shell.cwd if shell else None,
                "shell": shell is not None,
            }
        )
        if state == self.state:
            await self.stream.write(": here\n\n")
        else:
            self.state = state
            await self._tell("state", state)

    async def _tell_sessions(self) -> None:
        found = await self._list()
        rows = {view.id: dict(vars(view)) for view in found.sessions}
        if self.rows is None:
            first = {"sessions": list(rows.values()), "by_hand": found.by_hand, "left_out": found.left_out}
            await self._tell("sessions", to_json(first))
        else:
            changed = {name: _difference(self.rows.get(name), row) for name, row in rows.items()}
            changes: dict[str, Any] = {
                "changed": {name: fields for name, fields in changed.items() if fields},
                "gone": [name for name in self.rows if name not in rows],
            }
            if found.by_hand != self.by_hand:
                changes["by_hand"] = found.by_hand
            if changes["changed"] or changes["gone"] or "by_hand" in changes:
                await self._tell("changes", to_json(changes))
        self.rows, self.by_hand = rows, list(found.by_hand)

    async def _list(self) -> Sessions:
        ended = self.asked.get("all") == "1"
        selection = parse_selection(self.asked["sessions"])
        if not selection.groups:
            return await self.app.portrait.list(ended=ended, limit=_MOST)
        return await self.app.portrait.chosen(selection, self.guest.caller, ended=ended, limit=_MOST)

    async def _tell_detail(self) -> None:
        session = await self.app.find(self.asked["session"])
        output = self.app.reads(self.guest.caller, session)
        detail = (await self.app.portrait.detail(session, output=output)).model_dump_json().encode()
        if detail != self.detail:
            self.detail = detail
            await self._tell("session", detail)


def _difference(before: Row | None, now: Row) -> Row:
    if before is None:
        return now
    return {name: value for name, value in now.items() if before.get(name) != value}


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
