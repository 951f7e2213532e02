"""Who wants to hear of which resource. One watch for each address, however many listen; none when nobody does.

Knows both eras: subscribe and unsubscribe of a connection, and the listen stream of 2026-07-28.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated

from lamplighter.engine.core.tasks import Tasks
from lamplighter.frontends.mcp.tool_context import McpClient
from lamplighter.frontends.mcp.toolset import Resources

log = logging.getLogger(__name__)
Context = ServerRequestContext[Any, Any]
_LIST = ""


class Subscriptions:
    def __init__(self, resources: Resources, tasks: Tasks) -> None:
        self.resources = resources
        self.tasks = tasks
        self.bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self.bus)
        self._watches: dict[str, tuple[int, asyncio.Task[Any]]] = {}
        self._held: dict[tuple[int, str], Callable[[], None]] = {}

    # -- 2026-07-28

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        wanted = params.notifications
        with contextlib.ExitStack() as stack:
            for uri in wanted.resource_subscriptions or ():
                stack.enter_context(self._watched(str(uri)))
            if wanted.resources_list_changed:
                stack.enter_context(self._watched(_LIST))
            return await self._listen(context, params)

    # -- before it

    async def subscribe(self, context: Context, client: McpClient, uri: str) -> None:
        """Until the client unsubscribes or leaves. Twice is once."""
        key = (id(client), uri)
        if key in self._held:
            return
        session = context.session
        stack = contextlib.ExitStack()
        stack.enter_context(self._watched(uri))

        def hear(event: Any) -> None:
            if isinstance(event, ResourceUpdated) and event.uri == uri:
                self.tasks.begin(_tell(session, uri), f"tell of {uri}")

        stack.callback(self.bus.subscribe(hear))
        leaving = self.tasks.begin(self._until_gone(client, key), f"subscription to {uri}")
        stack.callback(leaving.cancel)
        self._held[key] = stack.close

    async def unsubscribe(self, client: McpClient, uri: str) -> None:
        close = self._held.pop((id(client), uri), None)
        if close is not None:
            close()

    async def _until_gone(self, client: McpClient, key: tuple[int, str]) -> None:
        await client.gone.wait()
        close = self._held.pop(key, None)
        if close is not None:
            close()

    # -- watching

    @contextlib.contextmanager
    def _watched(self, uri: str) -> Generator[None]:
        count, watch = self._watches.get(uri, (0, None))
        if watch is None:
            watch = self.tasks.begin(self._watch(uri), f"watch of {uri or 'all resources'}")
        self._watches[uri] = (count + 1, watch)
        try:
            yield
        finally:
            count, watch = self._watches.pop(uri)
            if count > 1:
                self._watches[uri] = (count - 1, watch)
            else:
                watch.cancel()

    async def _watch(self, uri: str) -> None:
        changes: AsyncIterator[None] = self.resources.changes(uri) if uri else self.resources.list_changes()
        async for _ in changes:
            await self.bus.publish(ResourceUpdated(uri=uri) if uri else ResourcesListChanged())


async def _tell(session: Any, uri: str) -> None:
    try:
        await session.send_resource_updated(uri)
    except Exception as error:
        # Whoever subscribed has left between the change and its telling: there is nobody to tell.
        log.debug("nobody hears of %s: %s", uri, error)
