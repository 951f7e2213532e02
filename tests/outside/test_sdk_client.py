"""The SDK's own client, in both eras, over `lamp mcp` and over HTTP: every toolset is listed, the core goes a whole round."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from lamplighter.frontends.mcp.toolsets import TOOLSETS, load
from tests.support.mcp_client import told

if TYPE_CHECKING:
    from conftest import Reach

ERAS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28", "auto": "2026-07-28"}
"""How the client is told to connect, and what both then speak."""


def conversation(
    reach: Reach, way: str, era: str, tools: str, talk: Callable[[Client], Awaitable[None]], **callbacks: Any
) -> None:
    """One client, connected this way, for as long as it talks."""

    async def connected() -> None:
        async with AsyncExitStack() as stack:
            if way == "stdio":
                command, *arguments = reach.command(tools)
                server: Any = StdioServerParameters(command=command, args=arguments, env=reach.passed_on)
            else:
                headers = {"Authorization": f"Bearer {reach.token}"}
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=200))
                server = streamable_http_client(reach.url(tools), http_client=http)
            client = await stack.enter_async_context(Client(server, mode=era, **callbacks))
            assert client.protocol_version == ERAS[era]
            await talk(client)

    asyncio.run(asyncio.wait_for(connected(), 120))


async def structured(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Checked against the tool's output schema by the client."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    if result.structured_content is None:  # its result is a text, and the facts about it
        return told([part.text for part in result.content])
    return result.structured_content


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("tools", TOOLSETS)
def test_every_toolset_is_listed(reach: Reach, tools: str, way: str, era: str) -> None:
    async def talk(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [tool.name for tool in load(tools).tools]
        assert all(tool.input_schema["additionalProperties"] is False for tool in listed)

    conversation(reach, way, era, tools, talk)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_whole_round(reach: Reach, way: str, era: str) -> None:
    """Start, list, send, wait, read, end; and nothing of it runs any more."""

    async def talk(client: Client) -> None:
        started = await structured(client, "start_session", command=["cat"], name=f"round-{way}-{era}", cwd="/")
        session = started["id"]
        listed = await structured(client, "list_sessions")
        assert session in [row["id"] for row in listed["sessions"]]
        sent = await structured(client, "send_input", session=session, text="a word")
        waited = await structured(
            client, "wait_session", session=session, until="text=a word", since=sent["cursor"], timeout="120s"
        )
        assert waited["met"].startswith("text")
        read = await structured(client, "read_output", session=session, mode="output")
        assert "a word" in read["text"]
        ended = await structured(client, "end_session", session=session)
        assert ended["state"] == "ended"
        assert (await structured(client, "get_session", session=session))["state"] == "ended"

    conversation(reach, way, era, "core", talk)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_what_is_wrong_is_told_by_the_tool(reach: Reach, way: str, era: str) -> None:
    async def talk(client: Client) -> None:
        before = await structured(client, "list_sessions", selection="state:running")
        wrong = await client.call_tool("cleanup_sessions", {"selection": "state:running", "dryRun": True})
        assert wrong.is_error
        assert "dryRun" in str(wrong.content)
        missing = await client.call_tool("get_session", {"session": "nobody"})
        assert missing.is_error
        assert "NOT_FOUND" in str(missing.content)
        assert await structured(client, "list_sessions", selection="state:running") == before

    conversation(reach, way, era, "core", talk)


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_resource_tells_of_its_change(reach: Reach, way: str) -> None:
    """In the way of 2026-07-28: a stream of what one listens to."""

    async def talk(client: Client) -> None:
        session = (await structured(client, "start_session", command=["cat"], name=f"heard-{way}", cwd="/"))["id"]
        uri = f"session://{session}/output"
        async with client.listen(resource_subscriptions=[uri]) as heard:
            await structured(client, "send_input", session=session, text="a word")
            event = await anext(aiter(heard))
            assert event.uri == uri
        read = await client.read_resource(uri)
        assert "a word" in read.contents[0].text
        await structured(client, "end_session", session=session)

    conversation(reach, way, "2026-07-28", "core", talk)


@pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed")
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_resource_tells_of_its_change_to_older_clients(reach: Reach, way: str) -> None:
    """Subscribed once, told until unsubscribed."""
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.put_nowait(str(message.params.uri))

    async def talk(client: Client) -> None:
        session = (await structured(client, "start_session", command=["cat"], name=f"told-{way}", cwd="/"))["id"]
        uri = f"session://{session}/output"
        await client.subscribe_resource(uri)
        for word in ("one", "two"):
            while not heard.empty():
                heard.get_nowait()
            await structured(client, "send_input", session=session, text=word)
            assert await asyncio.wait_for(heard.get(), 120) == uri
        await client.unsubscribe_resource(uri)
        await structured(client, "end_session", session=session)

    conversation(reach, way, "legacy", "core", talk, message_handler=hear)


@pytest.mark.parametrize("era", ERAS)
def test_the_daemon_is_killed_in_the_middle_of_a_call(reach: Reach, era: str) -> None:
    """The client is not told, and need not be: the call has its answer, and so has the next."""

    async def talk(client: Client) -> None:
        started = await structured(client, "start_session", command=["cat"], name=f"killed-{era}", cwd="/")
        session, since = started["id"], 0
        for word in ("before", "between"):
            waiting = asyncio.create_task(
                structured(client, "wait_session", session=session, until=f"text={word}", since=since, timeout="120s")
            )
            await structured(client, "get_session", session=session)  # so the wait, sent before it, is under way
            await asyncio.to_thread(reach.engine.kill, reach.engine.daemon())
            since = (await structured(client, "send_input", session=session, text=word))["cursor"]
            assert (await waiting)["met"].startswith("text")
        ended = await structured(client, "end_session", session=session)
        assert ended["state"] == "ended"

    conversation(reach, "stdio", era, "core", talk)
