"""The openclaw toolset and what is not the caller's: approvals, found by the same call again, and tokens over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import scripted
from tests.support.engine import Engine, engine
from tests.support.mcp_client import LEGACY, MODERN, McpClient, ToolError, inhabitant
from tests.support.processes import wait_until
from tests.support.web import Web, web

pytestmark = pytest.mark.shared

PATH = "/mcp/openclaw"


def grant(lit: Engine, request: str) -> None:
    lit.call("decide_approval", request=request, decision="grant")


def needed(client: McpClient, tool: str, **arguments: Any) -> str:
    """The request that the operator can grant for this."""
    with pytest.raises(ToolError) as refused:
        client.call(tool, **arguments)
    assert refused.value.code == "APPROVAL_NEEDED"
    return refused.value.error["details"]["request"]


def test_the_same_call_again_is_carried_out_once_it_is_approved(lit: Engine) -> None:
    with inhabitant(lit, tools="openclaw") as one, inhabitant(lit, tools="openclaw") as two:
        theirs = lit.start("cat", parent=one.session, kind="cron")["id"]
        client = two.client()
        asked = needed(client, "sessions_kill", sessionKey=theirs, force=True)
        assert needed(client, "sessions_kill", sessionKey=theirs, force=True) == asked
        grant(lit, asked)
        needed(client, "sessions_kill", sessionKey=theirs)  # without force it is another call
        assert lit.show(theirs)["state"] == "running"
        assert client.call("sessions_kill", sessionKey=theirs, force=True)["status"] == "killed"
        assert lit.show(theirs)["ending"]["by"] == f"session:{two.session}"
        other = lit.start("cat", parent=one.session, kind="cron")["id"]
        needed(client, "sessions_kill", sessionKey=other, force=True)


def test_a_cleanup_asks_once_for_all_of_others() -> None:
    with (
        engine(LAMPLIGHTER_QUIET="1s") as lit,
        inhabitant(lit, tools="openclaw") as one,
        inhabitant(lit, tools="openclaw") as two,
    ):
        given: dict[str, Any] = {"kind": "cron", "headless": True}
        theirs = {lit.start("cat", parent=one.session, **given)["id"] for _ in range(3)}
        own = lit.start("cat", parent=two.session, **given)["id"]
        protected = lit.start("cat", parent=one.session, protect=True, **given)["id"]
        client = two.client()

        def preview() -> dict[str, str]:
            found = client.call("sessions_cleanup", filter="inactive,cron:*", dryRun=True)["results"]
            return {row["sessionId"]: row["outcome"] for row in found}

        expected = {own: "would_end", **dict.fromkeys(theirs, "would_need_approval")}
        assert wait_until(lambda: preview() == expected), preview()
        done = {row["sessionId"]: row for row in client.call("sessions_cleanup", filter="inactive,cron:*")["results"]}
        outcomes = {name: row["outcome"] for name, row in done.items()}
        assert outcomes == {own: "ended", **dict.fromkeys(theirs, "approval_needed")}
        (request,) = {done[name]["approval"] for name in theirs}
        again = client.call("sessions_cleanup", filter="inactive,cron:*")["results"]
        assert {row["approval"] for row in again} == {request}, "asking again is the same request"
        grant(lit, request)
        late = lit.start("cat", parent=one.session, **given)["id"]  # no row of what was granted
        assert wait_until(lambda: lit.show(late)["verdict"] == "idle")
        woken = sorted(theirs)[0]
        lit.call("send_input", session=woken, text="hello")  # looked at again, it has changed
        assert wait_until(lambda: lit.show(woken)["verdict"] == "idle")
        again = client.call("sessions_cleanup", filter="inactive,cron:*")["results"]
        outcomes = {row["sessionId"]: row["outcome"] for row in again}
        assert outcomes == {**dict.fromkeys(theirs, "ended"), woken: "skipped", late: "approval_needed"}
        assert {lit.show(name)["state"] for name in (protected, late, woken)} == {"running"}
        assert {lit.show(name)["ending"]["by"] for name in theirs - {woken}} == {f"session:{two.session}"}


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_a_token_does_what_its_scopes_say(protocol: str) -> None:
    with engine(LAMPLIGHTER_HTTP_PORT="0") as lit:
        scripted.configure(lit)

        def client(scope: str) -> Web:
            made = web(lit, scope, scope.replace(",", "-"), protocol)
            if protocol == LEGACY:
                made.initialize(PATH)
            return made

        task = {"task": "stay", "agentId": "scripted", "mode": "session", "cwd": "/"}
        reading, starting = client("read"), client("start,send")
        assert reading.call("sessions_spawn", PATH, **task)["structuredContent"]["status"] == "forbidden"
        assert reading.call("sessions_cleanup", PATH)["structuredContent"]["status"] == "forbidden"
        spawned = starting.call("sessions_spawn", PATH, **task)["structuredContent"]
        key = spawned["childSessionKey"]
        assert starting.call("sessions_list", PATH)["structuredContent"]["status"] == "forbidden"
        assert starting.call("sessions_kill", PATH, sessionKey=key)["structuredContent"]["status"] == "forbidden"
        sent = starting.call("sessions_send", PATH, sessionKey=key, message="hello")["structuredContent"]
        assert (sent["status"], "reply" in sent) == ("accepted", False)
        assert wait_until(lambda: "you said hello" in lit.output(spawned["sessionId"]))
        (row,) = reading.call("sessions_list", PATH)["structuredContent"]["sessions"]
        assert (row["key"], row["mine"]) == (key, False)
