"""Operations over HTTP: POST /api/call/NAME with {"args": {}, "key": ""}. No rule lives here.

With ?parts what comes in parts is sent as it comes, a line of JSON each, the result or the error last.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from lamplighter.errors import LampError, fault_of
from lamplighter.frontends.http.guard import Guest, Receive
from lamplighter.frontends.http.refusals import Send
from lamplighter.frontends.web.replies import Stream, body_of, send_text
from lamplighter.frontends.web.statuses import STATUS
from lamplighter.operations import find_operation
from lamplighter.operations.call import Call

if TYPE_CHECKING:
    from lamplighter.app import App

log = logging.getLogger(__name__)
_BEAT_SECONDS = 15.0


class Calls:
    def __init__(self, app: App) -> None:
        self.app = app

    async def serve(self, guest: Guest, name: str, receive: Receive, send: Send, *, in_parts: bool) -> None:
        stream = Stream(send, b"application/x-ndjson") if in_parts else None
        try:
            body = await body_of(receive)
            result = await self._attended(guest, name, body, receive, stream)
        except LampError as error:
            status, text = STATUS[error.code], json.dumps({"error": error.document()})
        except ConnectionError:
            return
        except Exception as error:
            log.exception("a call failed")
            fault = fault_of(error)
            status, text = STATUS[fault.code], json.dumps({"error": fault.document()})
        else:
            status, text = 200, f'{{"result":{result}}}'
        if stream is None or not stream.begun:
            await send_text(send, status, text)
        else:
            await stream.write(text + "\n")
            await stream.end()

    async def _attended(
        self, guest: Guest, name: str, body: dict[str, Any], receive: Receive, stream: Stream | None
    ) -> str:
        """The result; ConnectionError when whoever asked leaves before. What changes something goes on all the same."""
        gone = asyncio.Event()
        answering = asyncio.ensure_future(self._answer(guest, name, body, gone, stream))
        leaving = asyncio.ensure_future(_left(receive))
        beating = asyncio.ensure_future(_beat(stream)) if stream is not None else None
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise ConnectionError("whoever asked has left")
            return answering.result()
        finally:
            gone.set()
            for task in (answering, leaving, beating):
                if task is not None:
                    task.cancel()
                    with suppress(asyncio.CancelledError, Exception):
                        await task

    async def _answer(
        self, guest: Guest, name: str, body: dict[str, Any], gone: asyncio.Event, stream: Stream | None
    ) -> str:
        async def emit(item: BaseModel) -> None:
            if stream is not None:
                await stream.write(f'{{"item":{item.model_dump_json()}}}\n')

        call = Call(self.app, guest.caller, str(body.get("key") or ""), emit, gone)
        try:
            return await self.app.execution.execute(name, self._completed(guest, name, body.get("args")), call)
        finally:
            for descriptor in call.descriptors:
                os.close(descriptor)
            for act in call.acts:
                act()

    def _completed(self, guest: Guest, name: str, arguments: Any) -> dict[str, Any]:
        """What is started from the page is started as from the shell that opened it."""
        found: dict[str, Any] = dict(arguments) if isinstance(arguments, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
        operation = find_operation(name)
        shell = self.app.logins.shell(guest.login) if guest.login is not None else None
        if guest.login is not None and operation is not None and "environment" in operation.request.model_fields:
            found.setdefault("environment", dict(shell.environment) if shell else dict(os.environ))
        return found


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _beat(stream: Stream) -> None:
    """An empty line now and then: who reads knows that we are there."""
    while True:
        await asyncio.sleep(_BEAT_SECONDS)
        await stream.write("\n")
