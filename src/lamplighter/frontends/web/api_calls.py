"""Operations over HTTP: POST /api/call/NAME with {"args": {}, "key": ""}. No rule lives here.

With ?parts what comes in parts is sent as it comes, a line of JSON each, the result or the error last.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from starlette.types import Receive, Send

from lamplighter.errors import LampError
from lamplighter.frontends.calls import CallAnswer, CallerGoneError, answered
from lamplighter.frontends.http.guard import Guest
from lamplighter.frontends.web.http_status import status_of
from lamplighter.frontends.web.replies import Stream, body_of, send_text, while_there
from lamplighter.operations import find_operation

if TYPE_CHECKING:
    from lamplighter.app import App

_BEAT_SECONDS = 15.0


class ApiCalls:
    def __init__(self, app: App) -> None:
        self.app = app

    async def serve(self, guest: Guest, name: str, receive: Receive, send: Send, *, in_parts: bool) -> None:
        stream = Stream(send, b"application/x-ndjson") if in_parts else None
        with suppress(CallerGoneError):
            try:
                body = await body_of(receive)
            except LampError as error:
                await _say(CallAnswer(error), send, stream)
                return
            await while_there(self._answer(guest, name, body, send, stream), receive)

    async def _answer(self, guest: Guest, name: str, body: dict[str, Any], send: Send, stream: Stream | None) -> None:
        async def emit(item: BaseModel) -> None:
            if stream is not None:
                await stream.write(f'{{"item":{item.model_dump_json()}}}\n')

        arguments, key, gone = (
            self._completed(guest, name, body.get("args")),
            str(body.get("key") or ""),
            asyncio.Event(),
        )
        beating = asyncio.ensure_future(_beat(stream)) if stream is not None else None
        try:
            async with answered(self.app, guest.caller, name, arguments, key=key, gone=gone, emit=emit) as answer:
                if beating is not None:
                    beating.cancel()
                await _say(answer, send, stream)
        finally:
            gone.set()
            if beating is not None:
                beating.cancel()

    def _completed(self, guest: Guest, name: str, arguments: Any) -> dict[str, Any]:
        """What is started from the page is started as from the shell that opened it."""
        found: dict[str, Any] = dict(arguments) if isinstance(arguments, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
        operation = find_operation(name)
        shell = self.app.logins.shell(guest.login) if guest.login is not None else None
        if guest.login is not None and operation is not None and "environment" in operation.request.model_fields:
            found.setdefault("environment", dict(shell.environment) if shell else dict(os.environ))
        return found


async def _say(answer: CallAnswer, send: Send, stream: Stream | None) -> None:
    text = f"{{{answer.member()}}}"
    if stream is not None and stream.begun:
        await stream.write(text + "\n")
        await stream.end()
        return
    status = status_of(answer.outcome.code) if isinstance(answer.outcome, LampError) else 200
    await send_text(send, status, text)


async def _beat(stream: Stream) -> None:
    """An empty line now and then: who reads knows that we are there."""
    while True:
        await asyncio.sleep(_BEAT_SECONDS)
        await stream.write("\n")
