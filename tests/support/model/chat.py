"""OpenAI's Chat Completions, as much of it as opencode, Qwen Code, Copilot CLI, pi and aider need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model.asked import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    TOOLLESS,
    Answer,
    Asked,
    Refusal,
    Use,
    own_words,
)

_USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(body: dict[str, Any]) -> Asked:
    said: list[str] = []
    results: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            results.append("\n".join(_texts(message["content"])))
        elif message["role"] == "user" and (words := own_words(_texts(message["content"]))):
            said.append(words)
            results = []
    tools = tuple(tool["function"]["name"] for tool in body.get("tools", []))
    return Asked("", tuple(said), tuple(results), tools, toolless=body.get("model") == TOOLLESS)


def error(refusal: Refusal) -> dict[str, Any]:
    kind = "rate_limit_exceeded" if refusal.status == 429 else "server_error"
    kind = kind if refusal.status >= 429 else "invalid_request_error"
    return {"error": {"message": refusal.text, "type": kind, "code": kind}}


def whole(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    message |= {"tool_calls": [_call(answer)]} if isinstance(answer, Use) else {"content": "".join(answer)}
    choice = {"index": 0, "message": message, "finish_reason": _reason(answer)}
    return {**_frame(body, "chat.completion"), "choices": [choice], "usage": _USAGE}


def events(body: dict[str, Any], answer: Answer) -> Iterator[str]:
    yield _event(body, {"role": "assistant", "content": ""})
    if isinstance(answer, Use):
        yield _event(body, {"tool_calls": [{"index": 0, **_call(answer)}]})
    else:
        for piece in answer:
            yield _event(body, {"content": piece})
    yield _event(body, {}, _reason(answer))
    yield f"data: {json.dumps({**_frame(body, 'chat.completion.chunk'), 'choices': [], 'usage': _USAGE})}\n\n"
    yield "data: [DONE]\n\n"


def _call(use: Use) -> dict[str, Any]:
    return {
        "id": use.id,
        "type": "function",
        "function": {"name": use.name, "arguments": json.dumps(use.arguments)},
    }


def _event(body: dict[str, Any], delta: dict[str, Any], reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps({**_frame(body, 'chat.completion.chunk'), 'choices': [choice]})}\n\n"


def _frame(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": f"chat_{len(body['messages'])}", "object": kind, "created": 0, "model": body.get("model", "")}


def _reason(answer: Answer) -> str:
    return "tool_calls" if isinstance(answer, Use) else "stop"


def _texts(content: str | list[dict[str, Any]] | None) -> list[str]:
    return [content] if isinstance(content, str) else [part.get("text", "") for part in content or []]
