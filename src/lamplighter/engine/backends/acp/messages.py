"""The words of the Agent Client Protocol: what we say, and what the agent's answers and notices come to.

The one module that knows the SDK's models; imported when the first session speaks ACP. What an agent says that is not in the
schema is taken as far as it can be understood: one odd field must not lose a message. Knows nothing of sessions.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, TypeVar, cast

from acp import schema
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from pydantic import BaseModel, ValidationError

INITIALIZE = AGENT_METHODS["initialize"]
AUTHENTICATE = AGENT_METHODS["authenticate"]
NEW = AGENT_METHODS["session_new"]
LOAD = AGENT_METHODS["session_load"]
RESUME = AGENT_METHODS["session_resume"]
LIST = AGENT_METHODS["session_list"]
CLOSE = AGENT_METHODS["session_close"]
PROMPT = AGENT_METHODS["session_prompt"]
CANCEL = AGENT_METHODS["session_cancel"]
SET_OPTION = AGENT_METHODS["session_set_config_option"]
SET_MODEL = "session/set_model"
"""What came before options, and is in the schema no more; Gemini CLI has it alone."""
UPDATE = CLIENT_METHODS["session_update"]
PERMISSION = CLIENT_METHODS["session_request_permission"]
LOGIN_NEEDED = -32000
UNKNOWN_METHOD = -32601
BAD_PARAMETERS = -32602
_WRITES = frozenset({"edit", "delete", "move"})
_LONGEST_INPUT = 4000

Document = dict[str, Any]
Model = TypeVar("Model", bound=BaseModel)


# -- what we say


def initialize(version: str) -> Document:
    """We have neither files nor terminals for the agent: it uses its own."""
    nothing = schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
    )
    us = schema.Implementation(name="lamplighter", title="Lamplighter", version=version)
    return _said(
        schema.InitializeRequest(protocol_version=PROTOCOL_VERSION, client_capabilities=nothing, client_info=us)
    )


def authenticate(method: str) -> Document:
    return _said(schema.AuthenticateRequest(method_id=method))


def new_session(cwd: str) -> Document:
    return _said(schema.NewSessionRequest(cwd=cwd, mcp_servers=[]))


def load_session(conversation: str, cwd: str) -> Document:
    return _said(schema.LoadSessionRequest(session_id=conversation, cwd=cwd, mcp_servers=[]))


def resume_session(conversation: str, cwd: str) -> Document:
    return _said(schema.ResumeSessionRequest(session_id=conversation, cwd=cwd, mcp_servers=[]))


def list_sessions(cwd: str) -> Document:
    return _said(schema.ListSessionsRequest(cwd=cwd))


def close_session(conversation: str) -> Document:
    return _said(schema.CloseSessionRequest(session_id=conversation))


def prompt(conversation: str, text: str) -> Document:
    block = schema.TextContentBlock(type="text", text=text)
    return _said(schema.PromptRequest(session_id=conversation, prompt=[block]))


def choose_model(conversation: str, models: Models, model: str) -> tuple[str, Document]:
    """Which request chooses it. One that the agent did not list is asked for all the same: the agent says whether it has it."""
    named = (value for value, name in models.known.items() if model.casefold() in (value.casefold(), name.casefold()))
    value = model if model in models.known else next(named, model)
    if models.option is None:
        return SET_MODEL, {"sessionId": conversation, "modelId": value}
    choice = schema.SetSessionConfigOptionSelectRequest(session_id=conversation, config_id=models.option, value=value)
    return SET_OPTION, _said(choice)


def cancel(conversation: str) -> Document:
    return _said(schema.CancelNotification(session_id=conversation))


def chosen(option: str | None) -> Document:
    """The answer to a request for permission; None: the turn is over, nobody decides any more."""
    if option is None:
        return _said(schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled")))
    return _said(schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=option)))


# -- what the agent says


def abilities(result: Any) -> Document:
    """What it can do beside prompts, and how it may be logged in to."""
    said = _read(schema.InitializeResponse, result)
    if said is None:
        raw = _dict(_dict(result).get("agentCapabilities"))
        more = _dict(raw.get("sessionCapabilities"))
        can = {name: more.get(name) is not None for name in ("list", "resume", "close")}
        return {**can, "load": bool(raw.get("loadSession")), "logins": [], "version": None}
    able = said.agent_capabilities
    more = able.session_capabilities if able else None
    return {
        "load": bool(able and able.load_session),
        "list": bool(more and more.list is not None),
        "resume": bool(more and more.resume is not None),
        "close": bool(more and more.close is not None),
        "logins": [method.id for method in said.auth_methods or ()],
        "version": said.protocol_version,
    }


def begun(result: Any) -> str | None:
    """What the agent calls the conversation that it has begun."""
    identifier = _dict(result).get("sessionId")
    return identifier if isinstance(identifier, str) and identifier else None


class Models(NamedTuple):
    """The models that an agent offers, value to name. `option` of its own chooses among them; None: a request that has a name."""

    option: str | None
    known: dict[str, str]


def models(result: Any) -> Models | None:
    """From the beginning of a conversation; None when the agent lets nobody choose."""
    said = _dict(result)
    for option in _dicts(said.get("configOptions")):
        if "model" in (option.get("category"), option.get("id")) and isinstance(option.get("id"), str):
            groups = _dicts(option.get("options"))
            values = [value for group in groups for value in _dicts(group.get("options")) or [group]]
            return Models(option["id"], _named(values, "value"))
    listed = said.get("models")
    return Models(None, _named(_dicts(_dict(listed).get("availableModels")), "modelId")) if listed else None


def _named(values: list[Document], key: str) -> dict[str, str]:
    return {str(value[key]): str(value.get("name") or value[key]) for value in values if value.get(key)}


def newest(result: Any) -> str | None:
    """The conversation that was last spoken in."""
    said = _read(schema.ListSessionsResponse, result)
    found = sorted(said.sessions, key=lambda each: each.updated_at or "") if said else []
    return found[-1].session_id if found else None


def stop(result: Any) -> tuple[str, dict[str, int]]:
    """Why the turn is over, and the tokens that it took."""
    said = _read(schema.PromptResponse, result)
    if said is None:
        return str(_dict(result).get("stopReason") or "end_turn"), {}
    used = said.usage
    counts = (
        {"input": used.input_tokens, "output": used.output_tokens, "cached": used.cached_read_tokens}
        if used
        else _quota(said.field_meta)
    )
    return said.stop_reason, {kind: count for kind, count in counts.items() if count}


def _quota(meta: Any) -> dict[str, int]:
    """Tokens as they are told beside the answer by those who have no usage in it."""
    told = _dict(_dict(_dict(meta).get("quota")).get("token_count"))
    counts = {kind: told.get(f"{kind}_tokens") for kind in ("input", "output")}
    return {kind: count for kind, count in counts.items() if isinstance(count, int)}


class Permission(NamedTuple):
    """What the agent wants to do, and the answers it takes, by kind."""

    title: str
    tool: str
    input: str
    files: list[str]
    options: dict[str, str]


def permission(params: Any) -> Permission | None:
    """None when it cannot be understood."""
    said = _read(schema.RequestPermissionRequest, params)
    if said is None:
        return None
    call = said.tool_call
    options: dict[str, str] = {}
    for option in said.options:
        options.setdefault(option.kind, option.option_id)
    shown = "" if call.raw_input is None else _shown(call.raw_input)
    files = [place.path for place in call.locations or ()]
    return Permission(call.title or call.kind or "a tool", call.kind or "other", shown, files, options)


def update(params: Any) -> tuple[str | None, Document | None]:
    """Which conversation it is of, and what is kept of it; None when that is nothing."""
    said = _read(schema.SessionNotification, params)
    if said is None:
        return _dict(params).get("sessionId"), _guess(_dict(_dict(params).get("update")))
    return said.session_id, _kept(said.update)


def _kept(update: Any) -> Document | None:
    match update:
        case schema.AgentMessageChunk():
            return {"kind": "agent", **_piece(update)}
        case schema.AgentThoughtChunk():
            return {"kind": "thought", **_piece(update)}
        case schema.UserMessageChunk():
            return {"kind": "user", **_piece(update)}
        case schema.ToolCallStart() | schema.ToolCallProgress():
            paths = [place.path for place in update.locations or ()] if update.kind in _WRITES else []
            told = {"title": update.title, "tool": update.kind, "status": update.status, "files": paths}
            return {"kind": "tool", "id": update.tool_call_id, **{name: value for name, value in told.items() if value}}
        case schema.AgentPlanUpdate():
            return {"kind": "plan", "todos": [[entry.content, entry.status == "completed"] for entry in update.entries]}
        case _:
            return None


def _guess(update: Document) -> Document | None:
    """Of an update that is not as the schema has it: its text, if it is a message."""
    kinds = {"agent_message_chunk": "agent", "agent_thought_chunk": "thought", "user_message_chunk": "user"}
    text = _dict(update.get("content")).get("text")
    kind = kinds.get(str(update.get("sessionUpdate")))
    return {"kind": kind, "text": text} if kind and isinstance(text, str) else None


def _piece(chunk: schema.ContentChunk) -> Document:
    """Of the message that the agent says, if it says of which."""
    return {"text": _text(chunk.content), **({"message": chunk.message_id} if chunk.message_id else {})}


def _text(block: Any) -> str:
    if isinstance(block, schema.TextContentBlock):
        return block.text
    return f"[{getattr(block, 'type', 'something')}]"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_INPUT else text[:_LONGEST_INPUT] + " […]"


def _said(model: BaseModel) -> Document:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)


def _dict(value: Any) -> Document:
    return cast("Document", value) if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Document]:
    return [_dict(each) for each in cast("list[Any]", value)] if isinstance(value, list) else []


def _read(model: type[Model], value: Any) -> Model | None:
    try:
        return model.model_validate(value)
    except ValidationError:
        return None
