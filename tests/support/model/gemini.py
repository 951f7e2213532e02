"""Gemini's generateContent and streamGenerateContent, as much of them as Gemini CLI needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model.asked import INPUT_TOKENS, OUTPUT_TOKENS, Answer, Asked, Refusal, Use, own_words

_USAGE = {
    "promptTokenCount": INPUT_TOKENS,
    "candidatesTokenCount": OUTPUT_TOKENS,
    "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(body: dict[str, Any]) -> Asked:
    said: list[str] = []
    results: list[str] = []
    for content in body["contents"]:
        if content.get("role") == "model":
            continue
        parts = content.get("parts", [])
        results += [json.dumps(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]
        if words := own_words(part["text"] for part in parts if "text" in part):
            said.append(words)
            results = []
    declared = (one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", []))
    return Asked("", tuple(said), tuple(results), tuple(one["name"] for one in declared))


def error(refusal: Refusal) -> dict[str, Any]:
    status = "RESOURCE_EXHAUSTED" if refusal.status == 429 else "INTERNAL"
    status = status if refusal.status >= 429 else "INVALID_ARGUMENT"
    return {"error": {"code": refusal.status, "message": refusal.text, "status": status}}


def whole(_body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    return _candidate(_part(answer), last=True)


def events(_body: dict[str, Any], answer: Answer) -> Iterator[str]:
    if not isinstance(answer, Use):
        for piece in answer:
            yield _event(_candidate({"text": piece}, last=False))
        answer = iter([""])
    yield _event(_candidate(_part(answer), last=True))


def _part(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Use):
        return {"functionCall": {"name": answer.name, "args": answer.arguments}}
    return {"text": "".join(answer)}


def _candidate(part: dict[str, Any], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "usageMetadata": _USAGE}


def _event(document: dict[str, Any]) -> str:
    return f"data: {json.dumps(document)}\r\n\r\n"
