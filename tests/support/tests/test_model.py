"""The model of the agents' tests: each API asked as agents ask it, and what comes back."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.model import Call, Gate, Hang, Model, Run, Say, Stream
from tests.support.model.steps import Script
from tests.support.processes import wait_until
from tests.support.scripted_model import scripted

Ask = Callable[..., str]
Told = tuple[str, str]
"""Who, and what: user, call or result."""


def anthropic(told: list[Told], tools: list[str]) -> tuple[str, dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for who, what in told:
        if who == "call":
            used: dict[str, Any] = {"type": "tool_use", "id": what, "name": "x", "input": {}}
            messages.append({"role": "assistant", "content": [used]})
        else:
            reminder = {"type": "text", "text": "<system-reminder>not the user's"}
            part = (
                {"type": "text", "text": what}
                if who == "user"
                else {"type": "tool_result", "tool_use_id": "c", "content": what}
            )
            messages.append({"role": "user", "content": [reminder, part]})
    return "/v1/messages", {"model": "m", "messages": messages, "tools": [{"name": name} for name in tools]}


def responses(told: list[Told], tools: list[str]) -> tuple[str, dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "<environment_context>here"}]}]
    for who, what in told:
        if who == "user":
            items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": what}]})
        elif who == "result":
            items.append({"type": "function_call_output", "call_id": "c", "output": what})
    return "/v1/responses", {"input": items, "tools": [{"type": "function", "name": name} for name in tools]}


def chat(told: list[Told], tools: list[str]) -> tuple[str, dict[str, Any]]:
    roles = {"user": "user", "result": "tool", "call": "assistant"}
    messages = [{"role": roles[who], "content": what} for who, what in told]
    return "/v1/chat/completions", {"messages": messages, "tools": [{"function": {"name": name}} for name in tools]}


def gemini(told: list[Told], tools: list[str]) -> tuple[str, dict[str, Any]]:
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "<session_context>here"}]}]
    for who, what in told:
        part = {"text": what} if who == "user" else {"functionResponse": {"name": "x", "response": {"output": what}}}
        if who != "call":
            contents.append({"role": "user", "parts": [part]})
    declared = [{"functionDeclarations": [{"name": name} for name in tools]}]
    return "/v1beta/models/g:streamGenerateContent", {"contents": contents, "tools": declared if tools else []}


APIS = {"anthropic": anthropic, "responses": responses, "chat": chat, "gemini": gemini}
SHELLS = {"anthropic": "Bash", "responses": "exec_command", "chat": "bash", "gemini": "run_shell_command"}


def asker(model: Model, api: str) -> Ask:
    """Asks with all that was told so far, and gives back the stream as it came."""

    def ask(*told: Told, tools: tuple[str, ...] = ("srv_poke",)) -> str:
        path, body = APIS[api](list(told), [*tools, SHELLS[api]] if tools else [])
        request = urllib.request.Request(
            model.url + path, json.dumps({**body, "stream": True}).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=200) as answer:
            return answer.read().decode()

    return ask


@pytest.fixture(params=list(APIS))
def talk(request: pytest.FixtureRequest) -> Iterator[Callable[[Script], tuple[Model, Ask]]]:
    made: list[Any] = []

    def make(script: Script) -> tuple[Model, Ask]:
        context = scripted(script)
        made.append(context)
        model = context.__enter__()
        return model, asker(model, request.param)

    yield make
    for context in made:
        context.__exit__(None, None, None)


def test_a_turn_with_tools(talk: Callable[[Script], tuple[Model, Ask]]) -> None:
    model, ask = talk([[Run("ls -l"), Call("poke", {"hard": True}), Say("fine")], "second"])
    said: list[Told] = [("user", "go")]
    assert "ls -l" in ask(*said)
    assert "ls -l" in ask(*said), "asked again, the answer is the same"
    said += [("call", "c"), ("result", "two files")]
    assert "srv_poke" in ask(*said)
    said += [("call", "c"), ("result", "ouch")]
    assert "fine" in ask(*said)
    assert "second" in ask(*said, ("user", "go"))
    assert model.said == ["go", "go"]
    assert "two files" in model.results["call_1_0"]
    assert "ouch" in model.results["call_1_1"]
    assert "done" in ask(*said, ("user", "go"), ("user", "after the script"))


def test_what_is_no_turn_eats_no_step(talk: Callable[[Script], tuple[Model, Ask]]) -> None:
    model, ask = talk(["only"])
    assert "done" in ask(("user", "a title for this, please"), tools=())
    assert "done" in ask(("user", "Your task is to create a detailed summary of this"))
    assert "only" in ask(("user", "go"))
    assert (model.said, model.asides) == (["go"], 2)


def test_it_hangs_until_released(talk: Callable[[Script], tuple[Model, Ask]]) -> None:
    gate = Gate()
    _, ask = talk([[Hang(gate), Say("at last")]])
    heard: list[str] = []
    asking = threading.Thread(target=lambda: heard.append(ask(("user", "go"))))
    asking.start()
    assert gate.reached.wait(200)
    assert heard == []
    gate.release()
    asking.join(30)
    assert "at last" in heard[0]


def test_it_streams_slowly_until_released(talk: Callable[[Script], tuple[Model, Ask]]) -> None:
    gate = Gate()
    _, ask = talk(lambda said, number: Stream(gate, pause=0.01))
    heard: list[str] = []
    asking = threading.Thread(target=lambda: heard.append(ask(("user", "go"))))
    asking.start()
    assert gate.reached.wait(200)
    gate.release()
    assert wait_until(lambda: heard)
    asking.join(30)
    assert "piece-0 " in heard[0]
    assert "piece-9999" not in heard[0]
