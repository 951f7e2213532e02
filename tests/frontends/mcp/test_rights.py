"""Who may what over MCP: the bridge's place in the process tree counts, not what it says. Each attack is refused, and noted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import mcp_agent
from tests.support.engine import Engine
from tests.support.mcp_client import (
    LEGACY,
    MODERN,
    McpClient,
    ToolError,
    bridge_command,
    connected,
    inhabitant,
    outside,
)
from tests.support.processes import none_left, wait_until

pytestmark = pytest.mark.shared

FORM = {"form": {}}
YES = {"action": "accept", "content": {"grant": True}}
BOTH = pytest.mark.parametrize("protocol", [LEGACY, MODERN])
AWAY = (  # forks away from whoever started it, and becomes the bridge once nobody it knew is above it
    "import os, sys, time\n"
    "if os.fork(): time.sleep(1000)\n"
    "os.setsid()\n"
    "first = os.getpid()\n"
    "if os.fork(): os._exit(0)\n"
    "while os.getppid() == first: time.sleep(0.01)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)


def refused(client: McpClient, tool: str, **arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        client.call(tool, **arguments)
    return caught.value


def asked_by(lit: Engine, action: str) -> set[str]:
    return {event["by"] for event in lit.events() if event["action"] == action}


def test_many_of_others_are_ended_with_one_approval(lit: Engine) -> None:
    """By an agent in a session, after lamp approve; by a client outside, after its person has read every name."""
    for word in ("agents", "persons"):
        for number in range(3):
            lit.start("sleep", "300", name=f"{word}-{number}", headless=True)
    with inhabitant(lit) as agent:
        client = agent.client()
        assert client.call("cleanup_sessions", selection="agents-*", force=True)["rows"] == []
        plan = client.call("cleanup_sessions", selection="agents-*", force=True, others=True)
        assert len(plan["rows"]) == 3, plan["not_in_plan"]
        error = refused(client, "cleanup_sessions", apply=plan["plan"])
        assert error.code == "APPROVAL_NEEDED"
        request = error.error["details"]["request"]
        lit.call("decide_approval", request=request, decision="grant")
        done = client.call("cleanup_sessions", apply=plan["plan"], approval=request)
        assert [row["outcome"] for row in done["rows"]] == ["ended"] * 3
    with outside(lit, elicitation=FORM) as (client, _):
        client.answer = lambda _: YES
        plan = client.call("cleanup_sessions", selection="persons-*", force=True, others=True)
        done = client.call("cleanup_sessions", apply=plan["plan"])
        assert [row["outcome"] for row in done["rows"]] == ["ended"] * 3
        (question,) = client.questions
        assert all(f"persons-{number}" in question["params"]["message"] for number in range(3))


# -- agents in sessions


@BOTH
def test_another_agents_session_is_beyond_it(lit: Engine, protocol: str) -> None:
    theirs = lit.start("cat", name="theirs")["id"]
    with inhabitant(lit, name="agent") as agent:
        client = agent.client(protocol)
        for tool, more in (
            ("end_session", {}),
            ("kill_session", {"force": True}),
            ("send_input", {"text": "rm -rf /"}),
        ):
            error = refused(client, tool, session=theirs, **more)
            assert error.code == "APPROVAL_NEEDED", tool
            assert error.error["details"]["request"].startswith("ap-")
        plan = client.call("cleanup_sessions", selection="theirs+agent", force=True)
        assert plan["rows"] == []
        assert {row["name"] for row in plan["not_in_plan"]} == {"theirs", "agent"}
        assert client.call("get_session", session=theirs)["state"] == "running", "to look is free"
    assert lit.output(theirs) == ""
    assert asked_by(lit, "approval asked") == {f"session:{agent.session}"}


@pytest.mark.parametrize("disguise", ["forged", "empty", "setsid", "away"])
def test_no_disguise_makes_a_session_anybody_else(lit: Engine, disguise: str) -> None:
    theirs = lit.start("cat", name="theirs")["id"]
    own = f"LAMPLIGHTER_HOME={lit.folder}"
    command = {
        "forged": ["env", f"LAMPLIGHTER_SESSION={theirs}", *bridge_command()],
        "empty": ["env", "-i", own, *bridge_command()],
        "setsid": ["setsid", *bridge_command()],
        "away": [sys.executable, "-c", AWAY, *bridge_command()],
    }[disguise]
    with inhabitant(lit, bridge=command) as agent:
        client = agent.client(elicitation=FORM)
        client.answer = lambda _: YES
        assert refused(client, "kill_session", session=theirs, force=True).code == "APPROVAL_NEEDED"
        assert client.questions == []
        child = client.call("start_session", command=["cat"])
        assert child["parent"] == agent.session
    assert asked_by(lit, "approval asked") == {f"session:{agent.session}"}
    assert lit.show(theirs)["state"] == "running"


def test_its_own_client_cannot_accept_for_it(lit: Engine) -> None:
    theirs = lit.start("cat", name="theirs")["id"]
    arguments = {"session": theirs, "force": True}
    with inhabitant(lit) as agent:
        client = agent.client(elicitation=FORM)
        client.answer = lambda _: YES
        request = refused(client, "kill_session", **arguments).error["details"]["request"]
        assert client.questions == []
        modern = agent.client(MODERN, elicitation=FORM)
        forged = modern.raw("kill_session", arguments, requestState=request, inputResponses={"approval": YES})
        assert forged["isError"] is True
        assert forged["structuredContent"]["error"]["code"] == "FORBIDDEN"
        assert refused(client, "kill_session", **arguments, approval=request).code == "APPROVAL_NEEDED"
    assert lit.show(theirs)["state"] == "running"


def test_it_may_end_what_it_started_and_all_below(lit: Engine, mark: str) -> None:
    with inhabitant(lit) as agent, inhabitant(lit, parent=agent.session) as child:
        grandchild = child.client().call("start_session", command=["sleep", "1000"])["id"]
        assert agent.client().call("kill_session", session=grandchild, force=True)["state"] == "ended"
        assert refused(child.client(), "kill_session", session=agent.session, force=True).code == "APPROVAL_NEEDED"


def test_a_granted_request_is_carried_out_once_and_as_it_was_asked(lit: Engine) -> None:
    theirs = lit.start("cat", name="theirs")["id"]
    with inhabitant(lit) as agent, inhabitant(lit) as other:
        client = agent.client()
        request = refused(client, "kill_session", session=theirs, force=True).error["details"]["request"]
        assert lit.cli("approve", request, "--yes").returncode == 0
        assert refused(client, "end_session", session=theirs, approval=request).code == "FORBIDDEN"
        assert refused(client, "kill_session", session=theirs, approval=request).code == "FORBIDDEN", "without force"
        stolen = refused(other.client(), "kill_session", session=theirs, force=True, approval=request)
        assert stolen.code == "FORBIDDEN"
        assert client.call("kill_session", session=theirs, force=True, approval=request)["state"] == "ended"
    assert lit.show(theirs)["ending"]["by"] == f"session:{agent.session}"


@pytest.mark.parametrize(
    "words",
    [
        ["approve"],
        ["approve", "ap-0000", "--yes"],
        ["token", "create", "mine", "--scope", "read"],
        ["down", "--all", "--yes"],
    ],
)
def test_what_is_the_operators_own_is_not_an_agents(lit: Engine, words: list[str]) -> None:
    lamp = [sys.executable, "-m", "lamplighter.frontends.cli.main"]
    environment = {"PATH": os.environ["PATH"], "LAMPLIGHTER_HOME": str(lit.folder)}
    session = lit.start(*lamp, *words, "--json", headless=True, environment=environment)["id"]
    lit.call("wait_session", session=session, timeout="120s")
    assert lit.show(session)["exit"]["code"] == 6
    assert "FORBIDDEN" in lit.output(session)
    assert [event["by"] for event in lit.events() if event["action"] == "refused"] == [f"session:{session}"]


# -- agents outside any session


def agent_outside(lit: Engine, name: str, *bridge: str) -> Any:
    """A program that is called like an agent, in no session; its bridge speaks on the socket that comes back."""
    folder = lit.folder / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / name
    if not program.exists():
        program.symlink_to(sys.executable)
    path = f"{lit.folder}/outside-{name}"
    return path, subprocess.Popen(
        [str(program), mcp_agent.__file__, path, *bridge], env=lit.environment, stdout=subprocess.DEVNULL
    )


@pytest.mark.parametrize("program", ["codex", "claude", "gemini"])
def test_an_agent_outside_is_known_though_it_hides_its_environment(lit: Engine, program: str) -> None:
    """Codex gives its MCP servers hardly any environment."""
    theirs = lit.start("cat", name="theirs")["id"]
    home = f"LAMPLIGHTER_HOME={lit.folder}"
    path, process = agent_outside(lit, program, "env", "-i", home, "PATH=/usr/bin:/bin", *bridge_command())
    try:
        assert wait_until(Path(path).exists)
        with connected(path, elicitation=FORM) as client:
            client.answer = lambda _: YES
            own = client.call("start_session", command=["cat"])["id"]
            owner = lit.show(lit.show(own)["owner"].removeprefix("session:"))
            assert (owner["agent"], owner["pid"], owner["driver"]) == (program, process.pid, "registered")
            assert refused(client, "kill_session", session=theirs, force=True).code == "APPROVAL_NEEDED"
            assert client.questions == [], "an agent's client could accept for it"
            assert client.call("kill_session", session=own, force=True)["state"] == "ended"
    finally:
        process.kill()
        process.wait()


# -- clients in no session


@pytest.mark.alone
@BOTH
def test_a_client_ends_what_it_started_and_asks_for_the_rest(lit: Engine, protocol: str) -> None:
    with outside(lit, protocol=protocol) as (first, _), outside(lit, protocol=protocol) as (second, _):
        own = first.call("start_session", command=["cat"])["id"]
        assert refused(second, "kill_session", session=own, force=True).code == "APPROVAL_NEEDED"
        lit.kill(lit.daemon())
        assert first.call("kill_session", session=own, force=True)["state"] == "ended", "also after a break"
        assert second.call("list_sessions")["sessions"] == []


def test_a_client_that_is_started_again_has_what_it_started(lit: Engine, mark: str, tmp_path: Path) -> None:
    """In the same place, once the earlier one is gone; neither elsewhere nor beside it."""
    with outside(lit) as (first, bridge):
        session = first.call("start_session", command=["sh", "-c", f": {mark}; exec cat"], name="kept")["id"]
        below = lit.start("sleep", "300", name="below", parent=session)["id"]
        owner = lit.show(session)["owner"]
        assert owner.startswith(f"client:{bridge.pid}@")
        with outside(lit) as (beside, _):
            assert refused(beside, "kill_session", session="kept", force=True).code == "APPROVAL_NEEDED"
    with outside(lit, folder=tmp_path) as (elsewhere, _):
        assert refused(elsewhere, "end_session", session="kept").code == "APPROVAL_NEEDED"
    assert lit.show(session)["owner"] == owner
    with outside(lit) as (again, bridge):
        assert again.call("end_session", session="below")["state"] == "ended"
        assert lit.show(session)["owner"].startswith(f"client:{bridge.pid}@")
        assert [event["action"] for event in lit.events(session)].count("taken back") == 1
        assert again.call("kill_session", session="kept", force=True)["state"] == "ended"
        following = again.call("start_session", command=["cat"], from_session=session, name="following")["id"]
        assert again.call("kill_session", session=following, force=True)["state"] == "ended"
    assert lit.show(below)["state"] == "ended"
    assert none_left(mark)


def test_the_person_at_a_client_is_asked(lit: Engine) -> None:
    theirs = lit.start("cat", name="theirs")["id"]
    with outside(lit, elicitation=FORM) as (client, _):
        client.answer = lambda _: {"action": "decline"}
        assert refused(client, "kill_session", session=theirs, force=True).code == "FORBIDDEN"
        assert lit.show(theirs)["state"] == "running"
        for no in (False, "false", "no", 1, None):
            client.answer = lambda _, no=no: {"action": "accept", "content": {"grant": no}}
            assert refused(client, "kill_session", session=theirs, force=True).code == "FORBIDDEN"
        client.answer = lambda _: YES
        assert client.call("kill_session", session=theirs, force=True)["state"] == "ended"
    question = client.questions[-1]["params"]["message"]
    assert "theirs" in question
    assert '"force": true' in question


def test_the_person_sees_what_would_be_typed(lit: Engine) -> None:
    lit.start("cat", name="theirs")
    with outside(lit, elicitation=FORM) as (client, _):
        client.answer = lambda _: YES
        client.call("send_input", session="theirs", text="rm -rf everything")
    assert "rm -rf everything" in client.questions[0]["params"]["message"]


def test_the_person_sees_what_is_to_be_typed(lit: Engine) -> None:
    theirs = lit.start("cat", name="theirs")["id"]
    with outside(lit, elicitation=FORM) as (client, _):
        client.answer = lambda _: {"action": "decline"}
        refused(client, "send_input", session=theirs, text="rm -rf ~ \x1b[2K\u202edaeh ä")
    question = client.questions[-1]["params"]["message"]
    assert '"text": "rm -rf ~ \\u001b[2K\\u202edaeh ä"' in question


def test_the_person_at_a_modern_client_is_asked(lit: Engine) -> None:
    theirs = lit.start("cat", name="theirs")["id"]
    arguments = {"session": theirs, "force": True}
    with outside(lit, protocol=MODERN, elicitation=FORM) as (client, _):
        asked = client.raw("kill_session", arguments)
        assert asked["resultType"] == "input_required"
        assert "theirs" in asked["inputRequests"]["approval"]["params"]["message"]
        no = {"requestState": asked["requestState"], "inputResponses": {"approval": {"action": "decline"}}}
        assert client.raw("kill_session", arguments, **no)["isError"] is True
        guessed = {"requestState": "ap-" + "0" * 20, "inputResponses": {"approval": YES}}
        assert client.raw("kill_session", arguments, **guessed)["isError"] is True
        assert lit.show(theirs)["state"] == "running"
        yes = {"requestState": asked["requestState"], "inputResponses": {"approval": YES}}
        other = lit.start("cat", name="other")["id"]
        wrong = client.raw("kill_session", {**arguments, "session": other}, **yes)
        assert wrong.get("isError") or wrong["resultType"] == "input_required"
        assert lit.show(other)["state"] == "running"
        assert client.raw("kill_session", arguments, **yes)["structuredContent"]["state"] == "ended"


def test_a_client_that_cannot_ask_gets_a_request(lit: Engine) -> None:
    theirs = lit.start("cat", name="theirs")["id"]
    with outside(lit) as (client, _):
        request = refused(client, "kill_session", session=theirs, force=True).error["details"]["request"]
        assert lit.cli("approve", request, "--yes").returncode == 0
        assert client.call("kill_session", session=theirs, force=True, approval=request)["state"] == "ended"


# -- plans, approvals and ids that are not theirs


def test_a_plan_is_its_makers_alone(lit: Engine) -> None:
    with inhabitant(lit) as agent, inhabitant(lit) as other:
        client = agent.client()
        own = client.call("start_session", command=["cat"], name="job")["id"]
        plan = client.call("cleanup_sessions", selection="job", force=True)["plan"]
        assert refused(other.client(), "cleanup_sessions", apply=plan).code == "FORBIDDEN"
        assert refused(client, "cleanup_sessions", apply="plan-00000000").code == "NOT_FOUND"
        assert lit.show(own)["state"] == "running"
        assert client.call("cleanup_sessions", apply=plan)["sums"]["ended"] == 1
        assert refused(client, "cleanup_sessions", apply=plan).code == "PLAN_APPLIED"


@pytest.mark.parametrize(
    "word",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "x'; DROP TABLE sessions; --",
        '" OR 1=1',
        "a\x00b",
        "\x1b]0;owned\x07",
        "%00",
        "💥" * 50,
        "a" * 100_000,
        "",
    ],
    ids=["path", "root", "sql", "quotes", "nul", "escape", "percent", "emoji", "long", "empty"],
)
def test_an_id_is_only_ever_an_id(lit: Engine, word: str) -> None:
    session = lit.start("cat", name="one")["id"]
    with outside(lit) as (client, _):
        for tool in ("get_session", "read_output", "end_session", "kill_session", "wait_session", "send_input"):
            arguments = {"session": word, **({"text": "x"} if tool == "send_input" else {})}
            error = refused(client, tool, **arguments)
            assert error.code in ("NOT_FOUND", "BAD_INPUT"), tool
            assert "\x1b" not in error.text
            assert len(error.text) < 2000
        assert [row["id"] for row in client.call("list_sessions", selection="all")["sessions"]] == [session]
