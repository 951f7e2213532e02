"""Tools of the conformance suite that give what ours never do: pictures, sounds, files, and questions in the middle of a call.

Knows the names and texts that the suite asks for. None of this runs on our toolsets; it shows that our doors carry it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import PromptsListChanged, SubscriptionBus, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult
Handler = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def picture() -> types.ImageContent:
    return types.ImageContent(data=PIXEL, mime_type="image/png")


def enclosed(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=text))


async def image(_: Context, __: types.CallToolRequestParams) -> Result:
    return types.CallToolResult(content=[picture()])


async def audio(_: Context, __: types.CallToolRequestParams) -> Result:
    return types.CallToolResult(content=[types.AudioContent(data=SILENCE, mime_type="audio/wav")])


async def embedded(_: Context, __: types.CallToolRequestParams) -> Result:
    text = "This is an embedded resource content."
    return types.CallToolResult(content=[enclosed("test://embedded-resource", "text/plain", text)])


async def mixed(_: Context, __: types.CallToolRequestParams) -> Result:
    document = enclosed("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return types.CallToolResult(content=[types.TextContent(text="Multiple content types test:"), picture(), document])


async def logging(context: Context, _: types.CallToolRequestParams) -> Result:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        note = types.LoggingMessageNotification(params=types.LoggingMessageNotificationParams(level="info", data=line))
        # Not send_log_message: it warns of its own deprecation. From 2026-07-28 on it is sent to those who ask for it.
        if context.protocol_version < "2026":
            await context.session.send_notification(note, context.request_id)
    return said("logged three times")


async def sampling(context: Context, params: types.CallToolRequestParams) -> Result:
    asked = types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=types.TextContent(text=_argument(params, "prompt")))],
            max_tokens=100,
        )
    )
    answer = await _ask(context, asked, types.CreateMessageResult)
    text = answer.content.text if isinstance(answer.content, types.TextContent) else "no text"
    return said(f"LLM response: {text}")


def elicitation(schema: dict[str, Any]) -> Handler:
    """A tool that asks the person with this schema and tells what came back."""

    async def ask(context: Context, params: types.CallToolRequestParams) -> Result:
        message = _argument(params, "message") or "Please fill this in"
        form = types.ElicitRequestFormParams(message=message, requested_schema=schema)
        answer = await _ask(context, types.ElicitRequest(params=form), types.ElicitResult)
        return said(f"Elicitation completed: action={answer.action}, content={answer.content}")

    return ask


async def missing_capability(context: Context, _: types.CallToolRequestParams) -> Result:
    able = context.session.client_capabilities
    if able is None or able.sampling is None:
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool samples, and the client does not", needed)
    return said("the client can sample")


def changed(bus: SubscriptionBus, event: ToolsListChanged | PromptsListChanged) -> Handler:
    """A tool after which this is told to those who listen."""

    async def tell(_: Context, __: types.CallToolRequestParams) -> Result:
        await bus.publish(event)
        return said("told")

    return tell


def triggers(bus: SubscriptionBus) -> dict[str, tuple[Handler, dict[str, Any]]]:
    return {
        "test_trigger_tool_change": (changed(bus, ToolsListChanged()), _closed()),
        "test_trigger_prompt_change": (changed(bus, PromptsListChanged()), _closed()),
    }


async def nothing(_: Context, __: types.CallToolRequestParams) -> Result:
    return said("done")


def _argument(params: types.CallToolRequestParams, name: str) -> str:
    return str((params.arguments or {}).get(name, ""))


async def _ask(context: Context, request: Any, result: Any) -> Any:
    beside = ServerMessageMetadata(related_request_id=context.request_id)
    return await context.session.send_request(request, result, metadata=beside)


def _closed(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


_TEXT = {"type": "string"}
_CHOICES = ["one", "two", "three"]
_TITLED = [{"const": choice, "title": choice.title()} for choice in _CHOICES]
_USER = {**_closed(username=_TEXT, email=_TEXT), "required": ["username", "email"]}
_DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_ENUMS = {
    "untitledSingle": {"type": "string", "enum": _CHOICES},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {"type": "string", "enum": _CHOICES, "enumNames": [choice.title() for choice in _CHOICES]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _CHOICES}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}
_ADDRESS = {"$anchor": "addressDef", **_closed(street=_TEXT, city=_TEXT)}
_EVERY_KEYWORD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"address": _ADDRESS},
    **_closed(
        name=_TEXT,
        address={"$ref": "#/$defs/address"},
        contactMethod={"type": "string", "enum": ["phone", "email"]},
        phone=_TEXT,
        email=_TEXT,
    ),
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
}

TOOLS: dict[str, tuple[Handler, dict[str, Any]]] = {
    "test_image_content": (image, _closed()),
    "test_audio_content": (audio, _closed()),
    "test_embedded_resource": (embedded, _closed()),
    "test_multiple_content_types": (mixed, _closed()),
    "test_tool_with_logging": (logging, _closed()),
    "test_logging_tool": (logging, _closed()),
    "test_sampling": (sampling, {**_closed(prompt=_TEXT), "required": ["prompt"]}),
    "test_elicitation": (elicitation(_USER), {**_closed(message=_TEXT), "required": ["message"]}),
    "test_elicitation_sep1034_defaults": (elicitation({"type": "object", "properties": _DEFAULTS}), _closed()),
    "test_elicitation_sep1330_enums": (elicitation({"type": "object", "properties": _ENUMS}), _closed()),
    "test_missing_capability": (missing_capability, _closed()),
    "json_schema_2020_12_tool": (nothing, _EVERY_KEYWORD),
    "test_x_mcp_header": (nothing, _closed(region={"type": "string", "x-mcp-header": "Region"})),
}
"""By name: what it does, and its input schema."""
