"""The core tools, made from the operations of the same names."""

from __future__ import annotations

from lamplighter.frontends.mcp.core.cleanup import CLEANUP_SESSIONS
from lamplighter.frontends.mcp.core.end import END_SESSION, KILL_SESSION
from lamplighter.frontends.mcp.core.records import LOAD_HANDOFF, SEARCH_RECORDS, STORE_RECORDS, UPDATE_RECORD
from lamplighter.frontends.mcp.core.resources import SessionResources
from lamplighter.frontends.mcp.core.result_text import outlined
from lamplighter.frontends.mcp.core.scan import SCAN_HOST
from lamplighter.frontends.mcp.core.sessions import GET_SESSION, LIST_SESSIONS
from lamplighter.frontends.mcp.core.start import START_SESSION
from lamplighter.frontends.mcp.core.talk import READ_OUTPUT, SEND_INPUT, WAIT_SESSION
from lamplighter.frontends.mcp.toolset import Toolset

TOOLSET = Toolset(
    name="core",
    title="Lamplighter",
    instructions="Lamplighter starts, watches, talks to and ends sessions: agents and other programs with all that they start. "
    "What you start is yours, and goes on without you until you end it: before you finish, look at list_sessions and clean up "
    "with cleanup_sessions. Begin with load_handoff, which has what those before you left, and hand over what you know with "
    "end_session. You may type into, end and kill yourself and what you started, unless it is protected or people are attached. "
    "Else the error APPROVAL_NEEDED has an id: once the operator has granted it, repeat the very same call with it as approval.",
    tools=(
        START_SESSION,
        LIST_SESSIONS,
        GET_SESSION,
        SEND_INPUT,
        READ_OUTPUT,
        WAIT_SESSION,
        END_SESSION,
        KILL_SESSION,
        CLEANUP_SESSIONS,
        SCAN_HOST,
        LOAD_HANDOFF,
        STORE_RECORDS,
        SEARCH_RECORDS,
        UPDATE_RECORD,
    ),
    written=outlined,
    resources=SessionResources,
    brief=True,
)
