"""Tools of the conformance suite that need an answer before they go on, in the way of 2026-07-28: asked, and called again.

Knows the keys and words that the suite looks for. The state that travels with the client is sealed by the SDK.
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types

from everything.contents import Context, Handler, Result, said

_STATE = "as it was"


def form(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    schema: dict[str, Any] = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(text: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=50))


def required(state: str | None = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def written(params: types.InputResponseRequestParams, key: str, field: str) -> str | None:
    """What a form has brought back; None when it was not filled in, or not with that."""
    answer = (params.input_responses or {}).get(key)
    if not isinstance(answer, types.ElicitResult) or not answer.content:
        return None
    return str(answer.content.get(field, ""))


async def elicitation(_: Context, params: types.CallToolRequestParams) -> Result:
    name = written(params, "user_name", "name")
    return said(f"Hello, {name}!") if name else required(user_name=form("What is your name?", "name"))


async def sampling(_: Context, params: types.CallToolRequestParams) -> Result:
    if "capital_question" in (params.input_responses or {}):
        return said("the model has answered")
    return required(capital_question=sample("What is the capital of France?"))


async def roots(_: Context, params: types.CallToolRequestParams) -> Result:
    if "client_roots" in (params.input_responses or {}):
        return said("the roots have come")
    return required(client_roots=types.ListRootsRequest())


async def state(_: Context, params: types.CallToolRequestParams) -> Result:
    if params.request_state == _STATE and "confirm" in (params.input_responses or {}):
        return said("state-ok")
    return required(_STATE, confirm=form("Please confirm", "ok", "boolean"))


async def several(_: Context, params: types.CallToolRequestParams) -> Result:
    asked = {
        "user_name": form("What is your name?", "name"),
        "greeting": sample("Generate a greeting"),
        "client_roots": types.ListRootsRequest(),
    }
    if set(asked) <= set(params.input_responses or {}):
        return said("all of it has come")
    return required(_STATE, **asked)


async def rounds(_: Context, params: types.CallToolRequestParams) -> Result:
    """Three rounds; the state says which answers there are so far."""
    known: dict[str, str] = json.loads(params.request_state or "{}")
    for key, field in (("step1", "name"), ("step2", "color")):
        given = written(params, key, field)
        if given is not None:
            known[key] = given
        if key not in known:
            return required(json.dumps(known), **{key: form(f"And your {field}?", field)})
    return said(f"{known['step1']} likes {known['step2']}")


async def capabilities(context: Context, _: types.CallToolRequestParams) -> Result:
    able = context.session.client_capabilities or types.ClientCapabilities()
    asked: dict[str, Any] = {}
    if able.sampling is not None:
        asked["sample"] = sample("Say hello")
    if able.elicitation is not None:
        asked["ask"] = form("What is your name?", "name")
    return required(_STATE, **asked)


async def prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
    context = written(params, "user_context", "context")
    if context is None:
        return required(user_context=form("What context should the prompt use?", "context"))
    message = types.PromptMessage(role="user", content=types.TextContent(text=context))
    return types.GetPromptResult(messages=[message])


_NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS: dict[str, tuple[Handler, dict[str, Any]]] = {
    "test_streaming_elicitation": (elicitation, _NOTHING),
} | {
    f"test_input_required_result_{name}": (handler, _NOTHING)
    for name, handler in {
        "elicitation": elicitation,
        "sampling": sampling,
        "list_roots": roots,
        "request_state": state,
        "tampered_state": state,
        "multiple_inputs": several,
        "multi_round": rounds,
        "capabilities": capabilities,
    }.items()
}
