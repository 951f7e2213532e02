"""What can be read beside the tools, and what is told of its changes, in both eras."""

from __future__ import annotations

import json

import pytest

from tests.support.engine import Engine
from tests.support.mcp_client import LEGACY, MODERN, McpClient, RpcError, outside
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared

UPDATED = "notifications/resources/updated"


def listen(client: McpClient, *uris: str, **more: bool) -> int:
    """Hear of these, whichever way this client's era has."""
    if client.protocol == MODERN:
        wanted = {"resourceSubscriptions": list(uris), **more}
        number = client.begin("subscriptions/listen", {"notifications": wanted})
        assert wait_until(lambda: client.noticed("notifications/subscriptions/acknowledged"))
        return number
    for uri in uris:
        client.request("resources/subscribe", {"uri": uri})
    return 0


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_sessions_can_be_read(lit: Engine, protocol: str) -> None:
    session = lit.start("sh", "-c", "echo hello; exec cat", name="one")["id"]
    lit.call("wait_session", session=session, until="text=hello", since=0)
    with outside(lit, protocol=protocol) as (client, _):
        listed = client.request("resources/list", {})["resources"]
        assert [(one["uri"], one["name"]) for one in listed] == [(f"session://{session}", "one")]
        templates = client.request("resources/templates/list", {})["resourceTemplates"]
        assert [one["uriTemplate"] for one in templates] == ["session://{id}", "session://{id}/output"]
        whole = client.request("resources/read", {"uri": f"session://{session}"})["contents"][0]
        assert json.loads(whole["text"])["name"] == "one"
        output = client.request("resources/read", {"uri": f"session://{session}/output"})["contents"][0]
        assert (output["mimeType"], output["text"].strip()) == ("text/plain", "hello")


@pytest.mark.parametrize(
    "uri",
    [
        "session://nobody",
        "session://../etc/passwd",
        "session://a/../../etc/passwd",
        "session://' OR 1=1",
        "session://x\u0000y",
        "file:///etc/passwd",
        "session://",
    ],
)
def test_what_is_not_there_cannot_be_read(lit: Engine, uri: str) -> None:
    lit.start("cat", name="one")
    with outside(lit) as (client, _), pytest.raises(RpcError) as refused:
        client.request("resources/read", {"uri": uri})
    assert refused.value.code == -32602


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_a_change_is_told_to_who_asked_for_it(lit: Engine, protocol: str) -> None:
    session = lit.start("cat")["id"]
    other = lit.start("cat")["id"]
    with outside(lit, protocol=protocol) as (client, _):
        listen(client, f"session://{session}", f"session://{session}/output")
        lit.call("send_input", session=other, text="not for you")
        lit.call("send_input", session=session, text="hello")
        assert wait_until(lambda: client.noticed(UPDATED))
        assert {told["uri"] for told in client.noticed(UPDATED)} == {f"session://{session}/output"}
        lit.call("kill_session", session=session, force=True)
        assert wait_until(lambda: f"session://{session}" in {told["uri"] for told in client.noticed(UPDATED)})


def test_no_more_is_told_after_unsubscribing(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    with outside(lit) as (client, _):
        uri = f"session://{session}/output"
        for _ in range(3):
            client.request("resources/subscribe", {"uri": uri})
        client.request("resources/unsubscribe", {"uri": uri})
        lit.call("send_input", session=session, text="hello")
        lit.call("wait_session", session=session, until="text=hello")
        client.call("list_sessions")
        assert client.noticed(UPDATED) == []


@pytest.mark.alone
def test_new_sessions_are_told_of(lit: Engine) -> None:
    lit.call("get_status")
    with outside(lit, protocol=MODERN) as (client, _):
        listen(client, resourcesListChanged=True)
        lit.start("cat")
        assert wait_until(lambda: client.noticed("notifications/resources/list_changed"))


@pytest.mark.alone
def test_a_listen_stream_outlives_the_daemon(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    with outside(lit, protocol=MODERN) as (client, _):
        listen(client, f"session://{session}/output")
        lit.kill(lit.daemon())
        assert wait_until(lambda: client.noticed(UPDATED)), "what may have been missed is said"
        lit.call("send_input", session=session, text="hello")
        assert wait_until(lambda: len(client.noticed(UPDATED)) >= 2)
        assert len(client.noticed("notifications/subscriptions/acknowledged")) == 1


def test_what_prints_without_end_is_told_of_now_and_then(lit: Engine) -> None:
    session = lit.start("sh", "-c", "while :; do echo y; done")["id"]
    with outside(lit) as (client, _):
        listen(client, f"session://{session}/output")
        assert wait_until(lambda: len(client.noticed(UPDATED)) >= 3)
        cursor = lit.show(session)["output"]
        assert cursor > 10_000, "it printed much more often than that"
        assert len(client.noticed(UPDATED)) < 50
