"""The MCP server of a toolset, on the SDK's low-level server: tools, resources, subscriptions, errors, progress.

Knows MCP and toolsets; who the client is comes with each message. One server serves all connections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from lamplighter import __version__
from lamplighter.domain.call_key import new_key
from lamplighter.domain.permission import Act
from lamplighter.errors import Code, LampError, UnavailableError
from lamplighter.frontends.calls import expected
from lamplighter.frontends.mcp.consent import Consent
from lamplighter.frontends.mcp.hint_words import worded
from lamplighter.frontends.mcp.subscriptions import Subscriptions
from lamplighter.frontends.mcp.tool_context import McpClient, ToolContext, ticking
from lamplighter.frontends.mcp.toolset import Hints, Resource, Resources, Tool, Toolset
from lamplighter.frontends.refusals import Refusals
from lamplighter.lazy_dataclass import dataclass
from lamplighter.operations.permission import admitted

if TYPE_CHECKING:
    from lamplighter.app import App

Context = ServerRequestContext[Any, Any]
STATE = "lamplighter"
"""Where the HTTP door puts the client into a request's scope."""
_PAGE = 100
_NOTED = frozenset(
    {Code.BAD_INPUT, Code.BAD_NAME, Code.NOT_FOUND, Code.KEY_REUSED, Code.PLAN_EXPIRED, Code.PLAN_APPLIED}
)
"""What is refused for want of rights leaves its event where that is decided."""


@dataclass(frozen=True)
class Envelope:
    """What travels beside a message: who sent it, and the key under which it is carried out."""

    client: McpClient
    key: str


def build(app: App, toolset: Toolset, refusals: Refusals) -> Server[Any]:
    """A server that answers for this toolset."""
    desk = ToolHandlers(app, toolset, refusals)
    shelf = ResourceHandlers(app, toolset.resources(app)) if toolset.resources else None
    return Server(
        "lamplighter" if toolset.name == "core" else f"lamplighter-{toolset.name}",
        version=__version__,
        title=toolset.title,
        instructions=toolset.instructions,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        **(shelf.handlers() if shelf else {}),
    )


class ToolHandlers:
    """Where the calls of all clients of a toolset arrive."""

    def __init__(self, app: App, toolset: Toolset, refusals: Refusals) -> None:
        self.app = app
        self.toolset = toolset
        self.refusals = refusals
        self.consent = Consent(app)
        self._listed = types.ListToolsResult(tools=[_described(tool, brief=toolset.brief) for tool in toolset.tools])

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return self._listed

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = self.toolset.by_name.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:60]}")
        conversation = conversation_of(self.app, context)
        conversation.implicit_approval = self.toolset.implicit_approval
        await self.app.conversations.hear(conversation.caller.session, dict(params.meta or {}))
        await self.app.clients.take_back(conversation.caller)
        try:
            return await self.consent.given(
                context, params, conversation, lambda: self._run(tool, conversation, params.arguments or {})
            )
        except Exception as error:
            said = expected(error, f"the tool {tool.name}")
            if said.code in _NOTED:
                self.refusals.count(conversation.caller, said.message[:200], tool=tool.name, code=said.code.value)
            return self._failure(said)

    async def _run(self, tool: Tool, conversation: ToolContext, arguments: dict[str, Any]) -> types.CallToolResult:
        request = tool.parse(arguments)
        async with ticking(conversation):
            answer = await tool.run(conversation, request)
        if tool.result is None:
            parts = [answer.text or "", self.toolset.written(answer.structured)]
            return types.CallToolResult(content=[types.TextContent(text=part) for part in parts if part])
        text = self.toolset.written(answer.structured) if answer.text is None else answer.text
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer.structured)

    def _failure(self, error: LampError) -> types.CallToolResult:
        text, structured = self.toolset.failure(error)
        return types.CallToolResult(
            content=[types.TextContent(text=text)], structured_content=structured, is_error=True
        )


class ResourceHandlers:
    """What there is to read."""

    def __init__(self, app: App, resources: Resources) -> None:
        self.app = app
        self.resources = resources
        self.subscriptions = Subscriptions(resources, app.tasks)

    def handlers(self) -> dict[str, Any]:
        return {
            "on_list_resources": self.list,
            "on_list_resource_templates": self.templates,
            "on_read_resource": self.read,
            "on_subscribe_resource": self.subscribe,
            "on_unsubscribe_resource": self.unsubscribe,
            "on_subscriptions_listen": self.listen,
        }

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        conversation = await self._reader(context)
        try:
            found = await self.resources.list(conversation)
        except LampError as error:
            raise _said(error) from None
        after = params.cursor if params else None
        if after is not None:
            found = [one for one in found if one.uri > after]
        page = found[:_PAGE]
        following = page[-1].uri if len(found) > _PAGE else None
        return types.ListResourcesResult(resources=[_listed(one) for one in page], next_cursor=following)

    async def templates(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=one.uri,
                    name=one.name,
                    title=one.title,
                    description=one.description,
                    mime_type=one.mime_type,
                )
                for one in self.resources.templates
            ]
        )

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        conversation = await self._reader(context)
        try:
            kind, text = await self.resources.read(conversation, uri)
        except LampError as error:
            raise _said(worded(error, {}, implicit_approval=True), uri=uri[:200]) from None
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        await self._reader(context)
        await self.subscriptions.subscribe(context, envelope_of(context).client, str(params.uri))
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        await self._reader(context)
        return await self.subscriptions.listen(context, params)

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        await self.subscriptions.unsubscribe(envelope_of(context).client, str(params.uri))
        return types.EmptyResult()

    async def _reader(self, context: Context) -> ToolContext:
        """Whoever asks, and may read at all. That something changed is a thing to read too."""
        conversation = conversation_of(self.app, context)
        conversation.implicit_approval = True  # an address has no place for the id of one
        try:
            await admitted(self.app, conversation.caller, Act.READ)
        except LampError as error:
            raise _said(error) from None
        return conversation


def _said(error: LampError, **data: str) -> MCPError:
    """An error of ours where MCP has no place for a tool's: what a client did wrong is no fault inside."""
    code = types.INTERNAL_ERROR if isinstance(error, UnavailableError) else types.INVALID_PARAMS
    return MCPError(code, f"{error.code}: {error.message}; {error.hint}", data)


def envelope_of(context: Context) -> Envelope:
    """From the bridge's connection with the message; over HTTP from the request, and each request is a call of its own."""
    if isinstance(context.request, Envelope):
        return context.request
    assert context.request is not None, "a message without a sender"
    return Envelope(context.request.scope[STATE], new_key())


def conversation_of(app: App, context: Context) -> ToolContext:
    envelope = envelope_of(context)
    return ToolContext(app, envelope.client, envelope.key, context.session.report_progress)


def _described(tool: Tool, *, brief: bool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=None if brief else tool.title,  # its name, in other words
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=_brief(tool.hints) if brief else _whole(tool.hints),
    )


def _whole(hints: Hints) -> types.ToolAnnotations:
    return types.ToolAnnotations(
        read_only_hint=hints.read_only,
        destructive_hint=hints.destructive,
        idempotent_hint=hints.idempotent,
        open_world_hint=hints.open_world,
    )


def _brief(hints: Hints) -> types.ToolAnnotations:
    """Without what the protocol takes for granted: that a tool writes, destroys, is not idempotent and reaches beyond; and that
    one that only reads neither destroys nor differs the second time. Something is always said."""
    granted = hints.destructive and not hints.idempotent and hints.open_world
    return types.ToolAnnotations(
        read_only_hint=False if granted else hints.read_only or None,
        destructive_hint=None if hints.destructive or hints.read_only else False,
        idempotent_hint=None if hints.read_only else hints.idempotent or None,
        open_world_hint=None if hints.open_world else False,
    )


def _listed(one: Resource) -> types.Resource:
    return types.Resource(
        uri=one.uri, name=one.name, title=one.title, description=one.description, mime_type=one.mime_type
    )
