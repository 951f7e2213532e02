"""OpenAI's Responses, as much of it as Codex needs. Streamed only: Codex asks for nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model.asked import INPUT_TOKENS, OUTPUT_TOKENS, Answer, Asked, Refusal, Use, own_words


def read(body: dict[str, Any]) -> Asked:
    said: list[str] = []
    results: list[str] = []
    for item in body["input"]:
        if item.get("type") in ("function_call_output", "custom_tool_call_output"):
            results.append(_text(item["output"]))
        elif item.get("role") == "user" and (words := own_words(_texts(item["content"]))):
            said.append(words)
            results = []
    tools = tuple(_names(body.get("tools", [])))
    return Asked(str(body.get("prompt_cache_key")), tuple(said), tuple(results), tools)


def error(refusal: Refusal) -> dict[str, Any]:
    kind = "rate_limit_exceeded" if refusal.status == 429 else "server_error"
    kind = kind if refusal.status >= 429 else "invalid_request_error"
    return {"error": {"message": refusal.text, "type": kind, "code": kind}}


def whole(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    return {"id": _id(body), "object": "response", "status": "completed", "output": [_item(body, answer)]}


def events(body: dict[str, Any], answer: Answer) -> Iterator[str]:
    yield _event("response.created", response={"id": _id(body)})
    if isinstance(answer, Use):
        item = _item(body, answer)
    else:
        empty = _message(body, "")
        yield _event("response.output_item.added", output_index=0, item={**empty, "content": []})
        pieces: list[str] = []
        for piece in answer:
            pieces.append(piece)
            place = {"item_id": empty["id"], "output_index": 0, "content_index": 0}
            yield _event("response.output_text.delta", delta=piece, **place)
        item = _message(body, "".join(pieces))
    yield _event("response.output_item.done", output_index=0, item=item)
    usage = {
        "input_tokens": INPUT_TOKENS,
        "output_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }
    yield _event("response.completed", response={"id": _id(body), "usage": usage})


def _item(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    if not isinstance(answer, Use):
        return _message(body, "".join(answer))
    space, _, own = answer.name.rpartition(" ")
    item = {"type": "function_call", "id": f"fc_{answer.id}", "call_id": answer.id, "name": own}
    return item | {"arguments": json.dumps(answer.arguments)} | ({"namespace": space} if space else {})


def _message(body: dict[str, Any], text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "id": f"msg_{len(body['input'])}", "role": "assistant", "content": content}


def _names(tools: list[dict[str, Any]]) -> Iterator[str]:
    """A tool in a namespace has that before it, and a blank."""
    for tool in tools:
        if tool["type"] == "namespace":
            yield from (f"{tool['name']} {inner['name']}" for inner in tool["tools"])
        elif "name" in tool:
            yield tool["name"]


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [part.get("text", "") for part in content]


def _text(output: Any) -> str:
    return output if isinstance(output, str) else "\n".join(_texts(output))


def _id(body: dict[str, Any]) -> str:
    return f"resp_{len(body['input'])}"


def _event(name: str, **data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
