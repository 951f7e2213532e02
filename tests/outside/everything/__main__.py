"""A server with all that the conformance suite asks for, on our own server code. It prints its address and serves until its input ends."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any, cast

import contents
import mcp_types as types
import plain
import reading
import rounds
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler
from starlette.types import ASGIApp, Receive, Scope, Send

from lamplighter.domain.permission import Caller, Rank
from lamplighter.frontends.mcp.conversation import Client
from lamplighter.frontends.mcp.server import STATE, build

BESIDE = {**contents.TOOLS, **rounds.TOOLS}


def everything(server: Server[Any]) -> Server[Any]:
    """Our server with more beside its toolset: what we have no use for, the suite asks for all the same."""
    list_tools, call_tool = (_handler(server, method) for method in ("tools/list", "tools/call"))
    listed = [
        types.Tool(name=name, description="For the conformance suite.", input_schema=schema)
        for name, (_, schema) in BESIDE.items()
    ]

    async def list_all(context: contents.Context, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        ours = await list_tools(context, params)
        return ours.model_copy(update={"tools": [*ours.tools, *listed]})

    async def call(context: contents.Context, params: types.CallToolRequestParams) -> contents.Result:
        return await (BESIDE[params.name][0] if params.name in BESIDE else call_tool)(context, params)

    for method, parameters, handler in (
        ("tools/list", types.PaginatedRequestParams, list_all),
        ("tools/call", types.CallToolRequestParams, call),
        ("resources/list", types.PaginatedRequestParams, reading.list_resources),
        ("resources/templates/list", types.PaginatedRequestParams, reading.list_templates),
        ("resources/read", types.ReadResourceRequestParams, reading.read),
        ("resources/subscribe", types.SubscribeRequestParams, reading.subscribe),
        ("resources/unsubscribe", types.UnsubscribeRequestParams, reading.unsubscribe),
        ("subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(contents.BUS)),
        ("prompts/list", types.PaginatedRequestParams, reading.list_prompts),
        ("prompts/get", types.GetPromptRequestParams, reading.get_prompt),
        ("completion/complete", types.CompleteRequestParams, reading.complete),
        ("logging/setLevel", types.SetLevelRequestParams, reading.set_level),
    ):
        server.add_request_handler(method, parameters, cast("Any", handler))
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    return server


def _handler(server: Server[Any], method: str) -> Any:
    found = server.get_request_handler(method)
    assert found is not None
    return found.handler


def known(app: ASGIApp) -> ASGIApp:
    client = Client(Caller(Rank.CLIENT, "suite"), None, None, asyncio.Event())

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, STATE: client} if scope["type"] == "http" else scope, receive, send)

    return serve


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    app = everything(build(cast("Any", None), plain.TOOLSET)).streamable_http_app(json_response="json" in sys.argv)
    server = uvicorn.Server(uvicorn.Config(known(app), log_level="warning"))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    serving = asyncio.create_task(server.serve([listener]))
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


asyncio.run(main())
