"""What is not a caller's own on the user's tmux: asked of the operator, and done once by the same call again."""

from __future__ import annotations

import os
import re
import sys

import pytest

from tests.support.engine import ESCAPEES, Engine, engine
from tests.support.mcp_client import LEGACY, MODERN, Inhabitant, McpClient, ToolError, outside
from tests.support.processes import marked, none_left, wait_until
from tests.support.tmux import Tmux, tmux_of
from tests.support.web import web

pytestmark = pytest.mark.shared

FORM = {"form": {}}
YES = {"action": "accept", "content": {"grant": True}}
NO = {"action": "decline"}


def request_of(client: McpClient, tool: str, **arguments: object) -> str:
    """The id that the operator is to grant, from the plain text of the refusal."""
    with pytest.raises(ToolError) as caught:
        client.call(tool, **arguments)
    found = re.search(r"lamp approve (ap-\w+); then make the same call again", caught.value.text)
    assert found, caught.value.text
    return found[1]


def test_an_agent_with_the_operators_word(lit: Engine, tmux: Tmux, mark: str) -> None:
    """Typed once, killed once; and only the very session that was asked about."""
    tmux.new("other", "cat")
    tmux.new("hand", f"{sys.executable} {ESCAPEES} nohup setsid --mark {mark}; cat")
    assert wait_until(lambda: len(marked(mark)) >= 2)
    own = {"PATH": os.environ["PATH"], "LAMPLIGHTER_HOME": str(lit.folder), "TMUX_TMPDIR": str(lit.folder)}
    agent = Inhabitant(lit, tools="tmux", environment=own)
    try:
        client = agent.client()
        typing = request_of(client, "send_keys", name="hand", keys="hello")
        killing = request_of(client, "kill_session", name="hand")
        assert "tmux session hand, made by hand" in lit.cli("approve").stdout
        assert lit.cli("approve", typing, "--yes").returncode == 0
        request_of(client, "send_keys", name="hand", keys="rm -rf /")
        assert client.call("send_keys", name="hand", keys="hello")["session"] == "hand"
        assert wait_until(lambda: "hello" in client.call("capture_pane", name="hand")["text"])
        assert request_of(client, "send_keys", name="hand", keys="hello") != typing
        assert request_of(client, "kill_session", name="hand") == killing
        assert request_of(client, "kill_session", name="other") != killing
        assert lit.cli("approve", killing, "--yes").returncode == 0
        assert client.call("kill_session", name="hand") == {"session": "hand", "killed": True}
        assert none_left(mark)
        tmux.new("hand", "cat")  # another one of this name
        assert request_of(client, "kill_session", name="hand") != killing
    finally:
        agent.close()
    assert sorted(tmux.sessions()) == ["hand", "other"]


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_the_person_at_a_client_in_no_session_is_asked(lit: Engine, tmux: Tmux, protocol: str) -> None:
    tmux.new("hand", "cat")
    with outside(lit, tools="tmux", protocol=protocol, elicitation=FORM) as (client, _):
        for answer, dies in ((NO, False), (YES, True)):
            if protocol == LEGACY:
                client.answer = lambda _, answer=answer: answer
                result = client.raw("kill_session", {"name": "hand"})
            else:
                asked = client.raw("kill_session", {"name": "hand"})
                assert "hand" in asked["inputRequests"]["approval"]["params"]["message"]
                state = {"requestState": asked["requestState"], "inputResponses": {"approval": answer}}
                result = client.raw("kill_session", {"name": "hand"}, **state)
            assert bool(result.get("isError")) is not dies
            assert tmux.sessions() == ([] if dies else ["hand"])


def test_a_granted_request_waits_for_nobody_else(lit: Engine, tmux: Tmux) -> None:
    tmux.new("hand", "cat")
    with outside(lit, tools="tmux") as (first, _), outside(lit, tools="tmux") as (second, _):
        assert lit.cli("approve", request_of(first, "kill_session", name="hand"), "--yes").returncode == 0
        request_of(second, "kill_session", name="hand")
        assert tmux.sessions() == ["hand"]
        # Another server at the same place, and another session of that name: not what was granted.
        lit.kill(tmux.server())
        tmux.new("hand", "cat")
        request_of(first, "kill_session", name="hand")
    assert tmux.sessions() == ["hand"]


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_over_http_a_token_does_what_its_scopes_say(protocol: str) -> None:
    with engine(LAMPLIGHTER_HTTP_PORT="0", SHELL="/bin/sh") as lit, tmux_of(lit) as tmux:
        tmux.new("hand", "cat")
        reader, starter = web(lit, "read", "reader", protocol), web(lit, "start,end", "starter", protocol)
        for client in (reader, starter):
            if protocol == LEGACY:
                client.initialize("/mcp/tmux")
        assert reader.call("list_sessions", "/mcp/tmux")["structuredContent"]["count"] == 1
        assert starter.call("list_sessions", "/mcp/tmux")["isError"] is True
        assert starter.call("capture_pane", "/mcp/tmux", name="hand")["isError"] is True
        assert reader.call("new_session", "/mcp/tmux", name="work")["isError"] is True
        assert reader.call("kill_session", "/mcp/tmux", name="hand")["isError"] is True
        assert tmux.sessions() == ["hand"]
        both = web(lit, "read,start,end", "both", protocol)
        if protocol == LEGACY:
            both.initialize("/mcp/tmux")
        assert both.call("new_session", "/mcp/tmux", name="work")["structuredContent"]["status"] == "running"
        assert sorted(tmux.sessions()) == ["hand", "work"]
        assert both.call("kill_session", "/mcp/tmux", name="work")["structuredContent"]["killed"] is True
        assert both.call("kill_session", "/mcp/tmux", name="hand")["isError"] is True
        assert tmux.sessions() == ["hand"]
