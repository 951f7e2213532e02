"""The operator's word, asked for in the client that made the call: only where that client runs outside any session.

An agent's own client would accept for it: in a session the error stands, and the operator grants with lamp approve. Knows both
eras: a question in between (elicitation), and since 2026-07-28 a result that asks for more and the same call again.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from lamplighter.errors import Code, ForbiddenError
from lamplighter.frontends.mcp.tool_context import ToolContext

if TYPE_CHECKING:
    from lamplighter.app import App

Context = ServerRequestContext[Any, Any]
_NAME = "approval"
_ROWS_NAMED = 100
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "grant": {
            "type": "boolean",
            "title": "Let it happen",
            "description": "once, and exactly this",
            "default": False,
        }
    },
    "required": ["grant"],
}


class Consent:
    def __init__(self, app: App) -> None:
        self.app = app

    async def given(
        self,
        context: Context,
        params: types.CallToolRequestParams,
        conversation: ToolContext,
        run: Callable[[], Awaitable[types.CallToolResult]],
    ) -> types.CallToolResult | types.InputRequiredResult:
        """What comes of the call, after the person has been asked if need be."""
        answer = (params.input_responses or {}).get(_NAME)
        if params.request_state is not None and isinstance(answer, types.ElicitResult):
            return await self._granted(params.request_state, answer, conversation, run)
        try:
            return await run()
        except ForbiddenError as error:
            if error.code is not Code.APPROVAL_NEEDED or not _can_ask(context, conversation):
                raise
            request = str(error.details["request"])
            question = _question(error, params, await self._rows(request, error))
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return types.InputRequiredResult(
                input_requests={_NAME: types.ElicitRequest(params=question)}, request_state=request
            )
        answer = await context.session.elicit_form(question.message, _SCHEMA, context.request_id)
        return await self._granted(request, answer, conversation, run)

    async def _rows(self, request: str, error: ForbiddenError) -> list[dict[str, Any]]:
        """All of a plan's; the error has the first ones."""
        if "plan" not in error.details:
            return []
        return ((await self.app.approvals.find(request)).arguments or {}).get("rows", [])

    async def _granted(
        self,
        request: str,
        answer: types.ElicitResult,
        conversation: ToolContext,
        run: Callable[[], Awaitable[types.CallToolResult]],
    ) -> types.CallToolResult:
        """Only by a client that may be asked, only for its own open request; then the call finds what was granted for it."""
        granted = answer.action == "accept" and (answer.content or {}).get("grant") is True  # a form may say "false"
        if not conversation.client.can_be_asked or not granted:
            await self.app.registry.note_if_possible(
                None, conversation.caller, "approval declined", request=request[:7]
            )
            raise ForbiddenError(
                Code.FORBIDDEN, "the person at this client was asked, and did not let it happen", "do without it"
            )
        await self.app.approvals.grant(request, f"the person at {conversation.caller.name}", conversation.caller)
        conversation.implicit_approval = True
        return await run()


def _can_ask(context: Context, conversation: ToolContext) -> bool:
    capabilities = context.session.client_capabilities
    return conversation.client.can_be_asked and capabilities is not None and capabilities.elicitation is not None


def _question(
    error: ForbiddenError, params: types.CallToolRequestParams, rows: list[dict[str, Any]]
) -> types.ElicitRequestFormParams:
    """With all that the call would do: nobody can let happen what they do not see. A plan that no dialog can hold is counted,
    and where all of it can be read is said."""
    call = f"{params.name} {json.dumps(params.arguments or {}, ensure_ascii=False)}"
    if rows:
        named = ", ".join(f"{row['name']} ({row['id']}, {row['verdict']})" for row in rows[:_ROWS_NAMED])
        more = len(rows) - _ROWS_NAMED
        call += f" with {named}"
        call += f" and {more} more; lamp approve {error.details['request']} shows all of them" if more > 0 else ""
    shown = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in call)
    return types.ElicitRequestFormParams(
        message=f"{error.message}. The call is: {shown}. Let it happen, this once?", requested_schema=_SCHEMA
    )
