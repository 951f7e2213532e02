"""Hints are for who reads them: an agent that has the tools has no command line."""

from __future__ import annotations

import json

import pytest

from lamplighter.errors import Code, ConflictError, ForbiddenError, LampError
from lamplighter.frontends.mcp.core import TOOLSET as CORE
from lamplighter.frontends.mcp.toolsets.openclaw import TOOLSET as OPENCLAW
from lamplighter.testing.engine import Engine
from lamplighter.testing.mcp_client import ToolError, outside

CASES = {
    "end it politely with lamp end, or kill it with --force": "end it politely with end_session, or kill it with force: true",
    "lamp ls --all lists those that there are and were": "list_sessions lists those that there are and were",
    "apply it with lamp cleanup --apply plan-1, or make another without --apply": (
        "apply it with cleanup_sessions and apply: plan-1, or make another without apply"
    ),
    "a shell's own words need a shell: lamp start -- sh -c '…'": (
        'a shell\'s own words need a shell: command: ["sh", "-c", "…"]'
    ),
    "give --cwd a folder that exists": "give cwd a folder that exists",
    "lamp show 0smgmbxp says more": "get_session of 0smgmbxp says more",
    "lamp doctor says more": "lamp doctor says more",
}


@pytest.mark.parametrize("hint", CASES)
def test_a_hint_names_tools(hint: str) -> None:
    text, structured = CORE.failure(ConflictError(Code.ACTIVE, "x", hint, a=1))
    assert text == f"ACTIVE: x. Next: {CASES[hint]}"
    assert structured == {"error": {"code": "ACTIVE", "message": "x", "hint": CASES[hint], "details": {"a": 1}}}


def test_nobody_is_told_to_give_what_a_tool_does_not_take() -> None:
    hint = (
        "the operator grants it with lamp approve ap-1; then repeat exactly this call with approval ap-1; it holds once"
    )
    error: LampError = ForbiddenError(Code.APPROVAL_NEEDED, "x", hint)
    said = json.loads(OPENCLAW.failure(error)[0])["error"]["hint"]
    assert said == "the operator grants it with lamp approve ap-1; then repeat exactly this call; it holds once"
    assert CORE.failure(error)[0].endswith(hint)


def test_an_active_session(lit: Engine) -> None:
    with outside(lit) as (client, _):
        session = client.call("start_session", command=["cat"])["id"]
        with pytest.raises(ToolError, match="kill it with force: true"):
            client.call("kill_session", session=session)
