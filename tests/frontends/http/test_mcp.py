"""MCP over HTTP by the SDK's own client, in both eras: a whole life of a session, progress, changes told, and many at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.engine import Engine
from tests.support.mcp_client import LEGACY, MODERN, told
from tests.support.processes import wait_until
from tests.support.web import Web, descriptors, port_of, web

ERAS = [LEGACY, MODERN]


@asynccontextmanager
async def connected(web: Web, era: str, **options: Any) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {web.secret}"}
    mode = "legacy" if era == LEGACY else MODERN
    async with httpx2.AsyncClient(headers=headers, timeout=200) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{web.port}/mcp", http_client=http)
        async with Client(transport, mode=mode, **options) as client:
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    if result.structured_content is None:  # its result is a text, and the facts about it
        return told([part.text for part in result.content])
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is not None
    return result.structured_content["error"]


@pytest.mark.parametrize("era", ERAS)
def test_a_whole_round(served: Engine, era: str) -> None:
    theirs = served.start("cat", name="theirs")["id"]

    async def round_of(client: Client) -> str:
        started = await call(client, "start_session", command=["cat"], name="mine")
        await call(client, "send_input", session="mine", text="hello")
        await call(client, "wait_session", session="mine", until="text=hello", timeout="120s")
        assert "hello" in (await call(client, "read_output", session="mine"))["text"]
        listed = await call(client, "list_sessions")
        assert [one["name"] for one in listed["sessions"]] == ["mine"]
        error = await refused(client, "kill_session", session=theirs, force=True)
        assert error["code"] == "APPROVAL_NEEDED"
        ended = await call(client, "end_session", session="mine", grace="0s")
        assert ended["state"] == "ended"
        return started["id"]

    async def main() -> str:
        async with connected(web(served), era) as client:
            return await round_of(client)

    session = asyncio.run(main())
    assert served.show(session)["owner"] == "token:test"
    assert served.show(session)["ending"]["by"] == "token:test"
    assert served.show(theirs)["state"] == "running"
    assert served.call("list_tokens")["tokens"][0]["used_at"]


@pytest.mark.parametrize("era", ERAS)
def test_progress_comes_on_the_way(served: Engine, era: str) -> None:
    seen: list[float] = []

    async def heard(progress: float, _total: float | None, _message: str | None) -> None:
        seen.append(progress)

    async def main() -> None:
        async with connected(web(served), era) as client:
            for _ in range(3):
                await call(client, "start_session", command=["sleep", "600"])
            plan = await call(client, "cleanup_sessions", selection="mine", force=True)
            result = await client.call_tool(
                "cleanup_sessions", {"apply": plan["plan"], "grace": "0s"}, progress_callback=heard
            )
            assert not result.is_error, result.content

    asyncio.run(main())
    assert len(seen) >= 3
    assert seen == sorted(seen)


def test_changes_are_told_in_a_session_and_end_with_it(served: Engine) -> None:
    """The older era: subscribe in one request, hear of it on the stream that another one opened."""
    client = web(served)
    client.initialize()
    session = served.start("cat", name="watched")["id"]
    uri = f"session://{session}/output"
    with client.open("GET", "/mcp") as stream:
        assert client.post("resources/subscribe", {"uri": uri}).message["result"] == {}
        served.call("send_input", session=session, text="news")
        while not (line := stream.readline()).startswith(b"data: {"):
            assert line, "the stream ended"
        assert json.loads(line.removeprefix(b"data: "))["params"]["uri"] == uri
    assert client.ask("DELETE", "/mcp").status == 200
    assert client.post("tools/list", {}).status == 404


def test_the_scopes_one_by_one(served: Engine) -> None:
    starting, reading = web(served, "start", "starting"), web(served, "read", "reading")
    ending, sending = web(served, "end", "ending"), web(served, "send", "sending")

    async def main() -> None:
        async with connected(starting, MODERN) as client:
            await call(client, "start_session", command=["cat"], name="its")
            for tool, scope in (("send_input", "send"), ("end_session", "end"), ("kill_session", "end")):
                arguments = {"session": "its", **({"text": "x"} if tool == "send_input" else {})}
                error = await refused(client, tool, **arguments)
                assert (error["code"], f"scope {scope}" in error["message"]) == ("FORBIDDEN", True), error
            assert (await refused(client, "read_output", session="its"))["code"] == "FORBIDDEN"
        async with connected(reading, MODERN) as client:
            assert await call(client, "get_session", session="its")
            assert (await refused(client, "start_session", command=["cat"]))["code"] == "FORBIDDEN"
            assert (await refused(client, "cleanup_sessions"))["code"] == "FORBIDDEN"
        for one, tool in ((ending, "end_session"), (sending, "send_input")):
            async with connected(one, MODERN) as client:
                more = {"text": "x"} if tool == "send_input" else {}
                assert (await refused(client, tool, session="its", **more))["code"] == "APPROVAL_NEEDED"

    asyncio.run(main())
    assert served.show("its")["state"] == "running"
    assert len([event for event in served.events() if event["action"] == "refused"]) == 6


def test_a_token_that_may_end_keeps_no_records_and_has_no_file_read(served: Engine) -> None:
    ending = web(served, "read,start,end", "enders")
    ending.initialize()
    ending.call("start_session", command=["cat"], name="enders", cwd="/")
    asked: list[dict[str, Any]] = [
        {"constraints": ["obey"]},
        {"checkpoint": "x"},
        {"transcript_path": "/home/x/.claude/x.jsonl"},
    ]
    for words in asked:
        said = ending.call("end_session", session="enders", grace="0s", **words)["structuredContent"]
        assert said["error"]["code"] == "FORBIDDEN", words
    assert served.show("enders")["state"] == "running"
    assert served.call("list_records", all=True)["total"] == 0
    said = ending.call("end_session", session="enders", grace="0s", epitaph="so long")["structuredContent"]
    assert said["state"] == "ended"


def test_many_clients_at_once(served: Engine) -> None:
    web_of = web(served)

    async def one(number: int) -> None:
        async with connected(web_of, ERAS[number % 2]) as client:
            for _ in range(10):
                await call(client, "list_sessions")

    async def main() -> None:
        await asyncio.gather(*(one(number) for number in range(20)))

    asyncio.run(main())
    daemon = served.daemon()[0]
    # Each client has said goodbye: nothing of it is kept open.
    assert wait_until(lambda: len([one for one in descriptors(daemon) if one.startswith("socket:")]) < 10)
    assert "Traceback" not in (served.folder / "daemon.log").read_text()


def test_the_daemon_is_killed_under_a_client(served: Engine) -> None:
    """In the newer era there is nothing to begin again: the next request is answered by the next daemon, if at the same port."""
    port = port_of(served)
    served.environment["LAMPLIGHTER_HTTP_PORT"] = str(port)
    client = web(served, protocol=MODERN)
    assert client.call("list_sessions")["structuredContent"]["sessions"] == []
    served.kill(served.daemon())
    served.kill(served.keeper())
    assert port_of(served) == port
    assert client.call("list_sessions")["structuredContent"]["sessions"] == []
