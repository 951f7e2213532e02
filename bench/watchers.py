"""Watchers of one session's terminal, as pages are: they read, and say what they have drawn. A process of bench/watched.py.

Of the silent ones none says so, and the last does not read either. Prints `ready` when each has its screen, and when its
input ends how many bytes each of those that draw has got since.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

_ACKNOWLEDGED = 32 << 10  # as static/js/views/session/link.js
_SECONDS = 30.0


async def main(port: str, cookie: str, proof: str, session: str, number: str, silent: str) -> int:
    async with AsyncExitStack() as stack:
        sockets = [
            await stack.enter_async_context(
                connect(
                    f"ws://127.0.0.1:{port}/api/terminal/{session}",
                    origin=Origin(f"http://127.0.0.1:{port}"),
                    subprotocols=[Subprotocol("lamplighter"), Subprotocol(f"proof.{proof}")],
                    additional_headers={"Cookie": cookie},
                    max_size=None,
                )
            )
            for _ in range(int(number))
        ]
        async with asyncio.timeout(_SECONDS):
            await asyncio.gather(*(_first_screen(socket) for socket in sockets))
        print("ready", flush=True)
        drawing = len(sockets) - int(silent)
        reading = sockets[: len(sockets) - (int(silent) > 0)]
        got = [0] * len(reading)
        tasks = [asyncio.ensure_future(_watch(socket, got, index, drawing)) for index, socket in enumerate(reading)]
        left = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
        await asyncio.wait((left, *tasks), return_when=asyncio.FIRST_COMPLETED)
        lost = any(task.done() for task in tasks)
        print(*got[:drawing], flush=True)
        for task in tasks:
            task.cancel()
        for socket in sockets:
            socket.transport.abort()  # as a tab that is closed: nobody waits for the other's goodbye
    return int(lost)


async def _first_screen(socket: ClientConnection) -> None:
    while not isinstance(await socket.recv(), bytes):
        pass


async def _watch(socket: ClientConnection, got: list[int], index: int, drawing: int) -> None:
    drawn = 0
    async for said in socket:
        size = len(said) if isinstance(said, bytes) else 0
        drawn, got[index] = drawn + size, got[index] + size
        if index < drawing and drawn >= _ACKNOWLEDGED:
            await socket.send(json.dumps({"type": "drawn", "bytes": drawn}))
            drawn = 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
