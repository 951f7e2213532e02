"""Anthropic's Messages, as much of it as Claude Code needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model.asked import INPUT_TOKENS, OUTPUT_TOKENS, Answer, Asked, Refusal, Use, own_words

_USAGE = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}


def read(body: dict[str, Any]) -> Asked:
    said: list[str] = []
    results: list[str] = []
    waited = False
    for message in body["messages"]:
        if message["role"] != "user":
            continue
        parts = _parts(message["content"])
        for part in parts:
            if part["type"] == "tool_result" and part["tool_use_id"].startswith("wait_"):
                waited = True
            elif part["type"] == "tool_result":
                results.append(_text(part.get("content")))
        if words := own_words(part["text"] for part in parts if part["type"] == "text"):
            said.append(words)
            results, waited = [], False
    tools = tuple(tool["name"] for tool in body.get("tools", []))
    return Asked(str(body.get("metadata")), tuple(said), tuple(results), tools, waited)


def error(refusal: Refusal) -> dict[str, Any]:
    kind = "rate_limit_error" if refusal.status == 429 else "api_error"
    kind = kind if refusal.status >= 429 else "invalid_request_error"
    return {"type": "error", "error": {"type": kind, "message": refusal.text}}


def whole(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    block: dict[str, Any]
    if isinstance(answer, Use):
        block = {"type": "tool_use", "id": answer.id, "name": answer.name, "input": answer.arguments}
    else:
        block = {"type": "text", "text": "".join(answer)}
    return _message(body, [block], _reason(answer))


def events(body: dict[str, Any], answer: Answer) -> Iterator[str]:
    yield _event("message_start", message=_message(body, [], None))
    if isinstance(answer, Use):
        block: dict[str, Any] = {"type": "tool_use", "id": answer.id, "name": answer.name, "input": {}}
        yield _event("content_block_start", index=0, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
        yield _event("content_block_delta", index=0, delta=delta)
    else:
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in answer:
            yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    yield _event("content_block_stop", index=0)
    ending = {"stop_reason": _reason(answer), "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage=_USAGE)
    yield _event("message_stop")


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
    return str(content or "")


def _message(body: dict[str, Any], content: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    kept = {"type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None, "usage": _USAGE}
    return {"id": f"msg_{len(body['messages'])}", **kept, "content": content, "stop_reason": reason}


def _reason(answer: Answer) -> str:
    return "tool_use" if isinstance(answer, Use) else "end_turn"


def _event(name: str, **data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
