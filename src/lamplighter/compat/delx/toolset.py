"""The delx toolset: six tools for agents that tell of their own sessions, on logical sessions of ours."""

from __future__ import annotations

from typing import Any

from lamplighter.compat.delx.close import CLOSE, SUMMARY
from lamplighter.compat.delx.resume import HANDOFF, RESUME, START, START_THERAPY
from lamplighter.errors import LampError
from lamplighter.frontends.mcp.hint_words import worded
from lamplighter.frontends.mcp.toolset import Toolset, failed

_WORDS = {
    "start": "start_session",
    "show": "get_session_summary",
    "end": "close_session",
    "kill": "close_session",
    "handoff": "agent_handoff",
}


def failure(error: LampError) -> tuple[str, dict[str, Any]]:
    return failed({"error": worded(error, _WORDS, implicit_approval=True).document()})


TOOLSET = Toolset(
    name="delx",
    title="Lamplighter's delx tools",
    instructions=(
        "Sessions that you tell of yourself; no process is started or ended here. start_session begins one, agent_handoff gives "
        "work to another's, close_session ends yours with a policy of succession and a recovery token, resume_session goes on "
        "from your last one. A session of which nothing is heard for a day ends by itself."
    ),
    tools=(START, START_THERAPY, CLOSE, SUMMARY, RESUME, HANDOFF),
    failure=failure,
    implicit_approval=True,
    aliases=dict.fromkeys(("start_witness_session", "open_session", "session_start"), START_THERAPY.name),
)
