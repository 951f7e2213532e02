"""Sessions that speak ACP: prompts, answers as they stream, permissions, cancelling, going on, ending."""

from __future__ import annotations

import json
from typing import Any

from lamplighter.testing import acp_agent
from lamplighter.testing.engine import Engine

AGENT = acp_agent.__file__


def begin(lit: Engine, *options: str, **arguments: Any) -> str:
    """A session with the scripted agent, which notes all that it is sent."""
    log = ["--log", str(lit.folder / "heard")]
    return lit.start(lit.python, AGENT, *log, *options, acp=True, **arguments)["id"]


def heard(lit: Engine, method: str | None = None) -> list[dict[str, Any]]:
    """What the agent was sent, in order."""
    path = lit.folder / "heard"
    messages = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [message for message in messages if method is None or message.get("method") == method]


def ask(lit: Engine, session: str, text: str) -> str:
    """A prompt, and what came of it."""
    cursor = lit.call("send_input", session=session, text=text)["cursor"]
    lit.call("wait_session", session=session, until="reply", timeout="30s")
    return lit.call("read_output", session=session, mode="output", since=cursor)["text"]


def test_a_prompt_and_its_answer(lit: Engine) -> None:
    session = begin(lit)
    assert ask(lit, session, "say hello there") == "> say hello there\nhello there"
    assert ask(lit, session, "recall").endswith("> recall\nsay hello there")
    shown = lit.show(session)
    assert (shown["driver"], shown["state"], shown["verdict"]) == ("acp", "running", "idle"), shown
    assert "end_turn" in shown["evidence"][0]
    (greeting,) = heard(lit, "initialize")
    assert greeting["params"]["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    }
    assert len(heard(lit, "session/new")) == 1
    ended = lit.call("end_session", session=session, grace="1s")
    assert ended["how"] == "asked"
    assert len(heard(lit, "session/close")) == 1
