"""Our own server for the toolset, and beside its tools what we have no use for and the suite asks for all the same.

Knows the SDK's handlers; what they do stands in the other modules. Loaded by the daemon, when the toolset is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from everything import contents, reading, rounds
from everything.toolset import TOOLSET
from lamplighter.frontends.mcp import server as ours
from lamplighter.frontends.mcp.toolset import Toolset
from lamplighter.frontends.refusals import Refusals

if TYPE_CHECKING:
    from lamplighter.app import App

_build = ours.build


def build(app: App, toolset: Toolset, refusals: Refusals) -> Server[Any]:
    made = _build(app, toolset, refusals)
    return extended(made) if toolset is TOOLSET else made


def extended(server: Server[Any]) -> Server[Any]:
    list_ours, call_ours = _handler(server, "tools/list"), _handler(server, "tools/call")
    bus = _handler(
        server, "subscriptions/listen"
    ).__self__.subscriptions.bus  # who listens to us hears of what the suite changes
    beside = {**contents.TOOLS, **rounds.TOOLS, **contents.triggers(bus)}
    listed = [
        types.Tool(name=name, description="For the conformance suite.", input_schema=schema)
        for name, (_, schema) in beside.items()
    ]

    async def list_tools(context: contents.Context, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        found = await list_ours(context, params)
        return found.model_copy(update={"tools": [*found.tools, *listed]})

    async def call_tool(context: contents.Context, params: types.CallToolRequestParams) -> contents.Result:
        return await (beside[params.name][0] if params.name in beside else call_ours)(context, params)

    for method, parameters, handler in (
        ("tools/list", types.PaginatedRequestParams, list_tools),
        ("tools/call", types.CallToolRequestParams, call_tool),
        ("resources/list", types.PaginatedRequestParams, reading.list_resources(_handler(server, "resources/list"))),
        ("resources/read", types.ReadResourceRequestParams, reading.read_resource(_handler(server, "resources/read"))),
        ("prompts/list", types.PaginatedRequestParams, reading.list_prompts),
        ("prompts/get", types.GetPromptRequestParams, reading.get_prompt),
        ("completion/complete", types.CompleteRequestParams, reading.complete),
        ("logging/setLevel", types.SetLevelRequestParams, reading.set_level),
    ):
        server.add_request_handler(method, parameters, cast("Any", handler))
    if not any(isinstance(part, RequestStateBoundary) for part in server.middleware):
        server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    return server


def _handler(server: Server[Any], method: str) -> Any:
    found = server.get_request_handler(method)
    assert found is not None
    return found.handler


ours.build = build
