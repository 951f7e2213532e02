"""The MCP server of a toolset, on the SDK's low-level server: tools, resources, errors, progress, questions to the person.

Knows MCP and toolsets; who the client is comes with each message. One server serves all connections.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from lamplighter import __version__
from lamplighter.errors import Code, LampError, UnavailableError
from lamplighter.frontends.mcp.conversation import Client, Conversation
from lamplighter.frontends.mcp.toolset import Answer, Tool, Toolset

if TYPE_CHECKING:
    from lamplighter.app import App

log = logging.getLogger(__name__)
Context = ServerRequestContext[Any, Any]
_PROGRESS_SECONDS = 5.0
STATE = "lamplighter"
"""Where the HTTP door puts the client into a request's scope."""


@dataclass(frozen=True)
class Envelope:
    """What travels beside a message: who sent it, and the key under which it is carried out."""

    client: Client
    key: str


def build(app: App, toolset: Toolset) -> Server[Any]:
    """A server that answers for this toolset."""
    desk = Desk(app, toolset)
    return Server(
        "lamplighter" if toolset.name == "core" else f"lamplighter-{toolset.name}",
        version=__version__,
        title=toolset.title,
        instructions=toolset.instructions,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
    )


class Desk:
    """Where the messages of all clients of a toolset arrive."""

    def __init__(self, app: App, toolset: Toolset) -> None:
        self.app = app
        self.toolset = toolset
        self._listed = types.ListToolsResult(tools=[_described(tool) for tool in toolset.tools])

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return self._listed

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self.toolset.by_name.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:60]}")
        envelope = envelope_of(context)
        conversation = Conversation(self.app, envelope.client, envelope.key, context.session.report_progress)
        try:
            request = tool.parse(params.arguments or {})
            async with _ticking(conversation):
                answer = await tool.run(conversation, request)
        except LampError as error:
            return self._failure(error)
        except Exception:
            log.exception("the tool %s failed", tool.name)
            return self._failure(
                UnavailableError(
                    Code.INTERNAL, "something went wrong inside", "the daemon's log says what; please report it"
                )
            )
        return _result(answer)

    def _failure(self, error: LampError) -> types.CallToolResult:
        text, structured = self.toolset.failure(error)
        return types.CallToolResult(
            content=[types.TextContent(text=text)], structured_content=structured, is_error=True
        )


def envelope_of(context: Context) -> Envelope:
    """From the bridge's connection with the message; over HTTP from the request, and each request is a call of its own."""
    if isinstance(context.request, Envelope):
        return context.request
    assert context.request is not None, "a message without a sender"
    return Envelope(context.request.scope[STATE], uuid.uuid4().hex)


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.hints.read_only,
            destructive_hint=tool.hints.destructive,
            idempotent_hint=tool.hints.idempotent,
            open_world_hint=tool.hints.open_world,
        ),
    )


def _result(answer: Answer) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=answer.text)], structured_content=answer.structured)


@asynccontextmanager
async def _ticking(conversation: Conversation) -> AsyncGenerator[None]:
    """A sign of life every few seconds, for clients that ask for progress: many give up on a call that says nothing."""

    told = False

    async def tick() -> None:
        seconds = 0.0
        while not told:
            await asyncio.sleep(_PROGRESS_SECONDS)
            seconds += _PROGRESS_SECONDS
            await plain(seconds, None, f"still at it after {seconds:.0f} s")

    plain = conversation.tell

    async def tell(done: float, total: float | None, message: str) -> None:
        nonlocal told
        told = True  # it has steps of its own, and two ways of counting would run backwards
        await plain(done, total, message)

    conversation.tell = tell
    ticking = asyncio.ensure_future(tick())
    try:
        yield
    finally:
        ticking.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await ticking
