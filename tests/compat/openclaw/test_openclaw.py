"""The openclaw toolset: its six tools, and what its users complained of."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from lamplighter.errors import Code, ForbiddenError, LampError
from tests.support import scripted
from tests.support.engine import Engine
from tests.support.fixtures import engine_for
from tests.support.mcp_client import LEGACY, MODERN, McpClient, ToolError, inhabitant, outside
from tests.support.processes import none_left, wait_until

pytestmark = pytest.mark.shared


@pytest.fixture
def claw(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine whose settings know the scripted agents, from the start of its daemon on."""
    with engine_for(request, LAMPLIGHTER_TEST="claw") as made:
        scripted.configure(made)
        yield made


def rows(client: McpClient, **filters: Any) -> dict[str, dict[str, Any]]:
    return {row["sessionId"]: row for row in client.call("sessions_list", **filters)["sessions"]}


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_there_are_the_six_tools_with_the_inputs_of_the_reference(lit: Engine, protocol: str) -> None:
    inputs = {
        "sessions_list": "kinds limit offset activeMinutes label search messageLimit",
        "sessions_history": "sessionKey limit offset includeTools",
        "sessions_send": "sessionKey message timeoutSeconds",
        # runtime is an addition: an agent over ACP.
        "sessions_spawn": "task label agentId model runTimeoutSeconds cwd mode runtime cleanup",
        "sessions_kill": "sessionKey force",
        "sessions_cleanup": "filter olderThan force dryRun",
    }
    with outside(lit, "openclaw", protocol) as (client, _):
        tools = {tool["name"]: tool for tool in client.request("tools/list", {})["tools"]}
        assert {name: " ".join(tool["inputSchema"]["properties"]) for name, tool in tools.items()} == inputs
        assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools.values())
        assert tools["sessions_cleanup"]["annotations"]["destructiveHint"] is True
        assert tools["sessions_list"]["annotations"]["readOnlyHint"] is True
        kinds = tools["sessions_list"]["inputSchema"]["properties"]["kinds"]["items"]["enum"]
        assert kinds == ["main", "group", "cron", "hook", "node", "other"]
        assert client.call("sessions_list") == {"count": 0, "sessions": [], "hasMore": False}


def test_a_misspelt_dry_run_runs_nothing(lit: Engine) -> None:
    with inhabitant(lit, tools="openclaw") as agent:
        own = lit.start("cat", parent=agent.session, kind="cron")["id"]
        client = agent.client()
        with pytest.raises(ToolError, match="dryrun") as refused:
            client.call("sessions_cleanup", filter="*", dryrun=True)
        assert refused.value.code == "BAD_INPUT"
        assert lit.show(own)["state"] == "running"


def test_a_sub_agent_is_spawned_listed_talked_to_and_killed(claw: Engine, mark: str) -> None:
    with inhabitant(claw, tools="openclaw") as agent:
        client = agent.client()
        task = f"stay {mark}"
        spawned = client.call(
            "sessions_spawn", task=task, agentId="scripted", mode="session", label="helper one", runTimeoutSeconds=3600
        )
        key = spawned["childSessionKey"]
        assert spawned["status"] == "accepted"
        assert re.fullmatch(r"agent:scripted:subagent:[0-9a-f]{8}-[0-9a-f-]{27}", key)
        assert key.endswith(spawned["runId"])
        shown = claw.show(spawned["sessionId"])
        assert (shown["kind"], shown["parent"], shown["agent"]) == ("subagent", agent.session, "scripted")
        assert shown["limits"]["age"] == 3600
        (row,) = rows(client, label="helper one").values()
        assert (row["key"], row["kind"], row["status"], row["mine"]) == (key, "other", "running", True)
        assert row["spawnedBy"] == rows(client)[agent.session]["key"]
        claw.call("wait_session", session=shown["id"], until="text=task:", since=0, timeout="120s")

        sent = client.call("sessions_send", sessionKey=key, message="hello there", timeoutSeconds=60)
        assert (sent["status"], sent["reply"]) == ("ok", "you said hello there\n")
        assert client.call("sessions_send", sessionKey=key, message="again", timeoutSeconds=0)["status"] == "accepted"

        with pytest.raises(ToolError) as refused:
            client.call("sessions_kill", sessionKey=key)
        assert refused.value.code == "ACTIVE"
        killed = client.call("sessions_kill", sessionKey=key, force=True)
        assert (killed["status"], killed["survivors"]) == ("killed", [])
        assert none_left(mark)
        assert shown["id"] not in rows(client)
        assert client.call("sessions_kill", sessionKey=key)["status"] == "already_ended"
        with pytest.raises(ToolError) as over:
            client.call("sessions_send", sessionKey=key, message="are you there?")
        assert over.value.code == "ENDED"


def test_a_run_is_told_its_task_and_its_history_is_kept(claw: Engine) -> None:
    with inhabitant(claw, tools="openclaw") as agent:
        client = agent.client()
        spawned = client.call("sessions_spawn", task="fail at once", agentId="piped")
        claw.call("wait_session", session=spawned["sessionId"], timeout="120s")
        (row,) = rows(client, search="piped").values()
        assert row["status"] == "failed"
        told = client.call("sessions_history", sessionKey=spawned["childSessionKey"])
        roles = [message["role"] for message in told["messages"]]
        assert roles == ["user", "assistant", "system"]
        assert told["messages"][1]["text"] == "task: fail at once\n"
        assert "exit status 3" in told["messages"][2]["text"]
        assert "fail at once" not in told["messages"][0]["text"]  # what is typed is never kept
        assert not told["truncated"]
        tools = client.call("sessions_history", sessionKey=spawned["sessionId"], includeTools=True)["messages"]
        assert [message["text"] for message in tools if message["role"] == "tool"] == ["it went wrong\n"]


def test_a_run_that_is_to_be_deleted_leaves_no_log(claw: Engine) -> None:
    with inhabitant(claw, tools="openclaw") as agent:
        client = agent.client()
        spawned = client.call("sessions_spawn", task="be quick", agentId="scripted", cleanup="delete", model="utf8")
        identifier = spawned["sessionId"]
        claw.call("wait_session", session=identifier, timeout="120s")
        assert wait_until(lambda: not (claw.folder / "sessions" / identifier).exists())
        assert identifier not in rows(client)
        told = client.call("sessions_history", sessionKey=spawned["childSessionKey"])
        assert told["truncated"]
        assert [message["role"] for message in told["messages"]] == ["system"]


def test_what_cannot_be_spawned_says_what_can(claw: Engine) -> None:
    with inhabitant(claw, tools="openclaw") as agent:
        client = agent.client()
        for arguments in ({}, {"agentId": "nobody"}):
            with pytest.raises(ToolError, match="piped, scripted") as refused:
                client.call("sessions_spawn", task="x", **arguments)
            assert refused.value.code == "NO_SUCH_PROGRAM"
        with pytest.raises(ToolError) as refused:
            client.call("sessions_spawn", task="x", agentId="piped", model="large")
        assert refused.value.code == "BAD_INPUT"
        with pytest.raises(ToolError) as refused:
            client.call("sessions_spawn", task="x", agentId="piped", cwd="/no/such/folder")
        assert refused.value.code == "NO_SUCH_FOLDER"
        assert list(rows(client)) == [agent.session]


def test_kinds_keys_and_labels(lit: Engine) -> None:
    key = f"agent:main-{uuid.uuid4().hex[:6]}:main"
    main = lit.start("cat", kind="main", name=key)["id"]
    other_main = lit.start("cat", kind="main")["id"]
    cron = lit.start("cat", kind="cron", name="cron:nightly:42")["id"]
    hook = lit.start("cat", label=["hook", "mail"])["id"]
    group = lit.start("cat", label=["group"])["id"]
    task = lit.start("cat")["id"]
    with outside(lit, "openclaw") as (client, _):
        found = rows(client)
        assert found[main]["key"] == key
        assert found[other_main]["key"] == f"agent:generic-{other_main}:main"
        assert found[cron]["key"] == f"cron:nightly:42:run:{cron}"
        assert found[hook]["key"] == f"hook:{hook}"
        assert found[hook]["label"] == "mail"
        assert found[group]["key"] == f"agent:generic:group:{group}"
        kinds = {
            "main": {main, other_main},
            "cron": {cron},
            "hook": {hook},
            "group": {group},
            "other": {task},
            "node": set(),
        }
        for kind, expected in kinds.items():
            assert set(rows(client, kinds=[kind])) == expected
        assert set(rows(client, label="mail")) == {hook}
        assert set(rows(client, search="NIGHTLY")) == {cron}
        for row in found.values():
            for word in (row["key"], row["sessionId"]):
                assert client.call("sessions_history", sessionKey=word)["sessionId"] == row["sessionId"]
        with pytest.raises(ToolError, match="sessions_list") as missing:
            client.call("sessions_history", sessionKey=f"cron:nightly:run:{uuid.uuid4()}")
        assert missing.value.code == "NOT_FOUND"


def test_a_list_is_paged_and_stays_small(lit: Engine) -> None:
    made = [
        lit.start("sh", "-c", "yes 'ü and more' | head -c 100000; exec cat", headless=True)["id"] for _ in range(12)
    ]
    for identifier in made:
        wait_until(lambda one=identifier: lit.show(one)["output"] >= 100000)
    with outside(lit, "openclaw") as (client, _):
        seen: list[str] = []
        offset = 0
        while True:
            raw = client.raw("sessions_list", {"offset": offset, "messageLimit": 20, "limit": 7})
            assert len(raw["content"][0]["text"].encode()) < 64 << 10
            page = json.loads(raw["content"][0]["text"])
            assert page == raw["structuredContent"]
            assert page["count"] == len(page["sessions"]) > 0
            seen += [row["sessionId"] for row in page["sessions"]]
            if not page["hasMore"]:
                break
            assert page["nextOffset"] == len(seen)
            offset = page["nextOffset"]
        assert seen == made[::-1]
        text, offset = "", 0
        while True:
            history = client.raw("sessions_history", {"sessionKey": made[0], "limit": 1000, "offset": offset})
            assert len(history["content"][0]["text"].encode()) < 80_000
            told = history["structuredContent"]
            text = "".join(message["text"] for message in told["messages"]) + text
            if "nextOffset" not in told:
                break
            assert told["truncated"]
            offset = told["nextOffset"]
        assert offset > 0
        assert len(text.encode()) == 100000


# -- what users complained of


def test_a_key_never_comes_back(lit: Engine) -> None:
    key = f"cron:backup:run:{uuid.uuid4()}"
    with inhabitant(lit, tools="openclaw") as agent:
        client = agent.client()
        first = lit.start("cat", kind="cron", name=key, parent=agent.session)["id"]
        assert rows(client)[first]["key"] == key
        client.call("sessions_kill", sessionKey=key, force=True)
        second = lit.start("cat", kind="cron", name=key, parent=agent.session)["id"]
        assert client.call("sessions_kill", sessionKey=key)["status"] == "already_ended"
        row = rows(client)[second]
        assert row["key"] not in (key, first)
        assert lit.show(second)["state"] == "running"
        assert client.call("sessions_kill", sessionKey=row["key"], force=True)["sessionId"] == second


def test_a_crashed_session_does_not_say_running_and_its_row_can_go(lit: Engine) -> None:
    with inhabitant(lit, tools="openclaw") as agent:
        client = agent.client()
        crashed = lit.start("sh", "-c", "kill -9 $$", parent=agent.session, kind="cron")["id"]
        lit.call("wait_session", session=crashed, timeout="120s")
        row = rows(client)[crashed]
        assert (row["status"], row["verdict"]) == ("failed", "ended")
        assert client.call("sessions_kill", sessionKey=row["key"])["status"] == "already_ended"
        assert crashed not in rows(client)
        lit.kill(lit.daemon())
        assert crashed not in rows(client)
        assert lit.show(crashed)["state"] == "ended"  # the record of it is kept


@pytest.mark.alone
def test_the_dead_do_not_count_against_the_limit(claw: Engine) -> None:
    scripted.configure(claw, sessions_per_owner="2")
    with inhabitant(claw, tools="openclaw") as agent:
        client = agent.client()
        for _ in range(4):
            spawned = client.call("sessions_spawn", task="fail", agentId="scripted")
            claw.call("wait_session", session=spawned["sessionId"], timeout="120s")
        for _ in range(2):
            client.call("sessions_spawn", task="hang", agentId="scripted")
        with pytest.raises(ToolError) as refused:
            client.call("sessions_spawn", task="hang", agentId="scripted")
        assert refused.value.code == "TOO_MANY"


def test_age_filters_a_list_and_a_cleanup(timed: tuple[Engine, Any]) -> None:
    lit, clock = timed
    with inhabitant(lit, tools="openclaw") as agent:
        client = agent.client()
        old = lit.start("cat", parent=agent.session, kind="cron", headless=True)["id"]
        clock.advance(3600)
        young = lit.start("cat", parent=agent.session, kind="cron", headless=True)["id"]
        assert wait_until(lambda: set(rows(client, kinds=["cron"], activeMinutes=30)) == {young})
        assert set(rows(client, kinds=["cron"])) == {old, young}
        found = client.call("sessions_cleanup", filter="cron:*", olderThan=30, dryRun=True)
        assert [row["sessionId"] for row in found["results"]] == [old]


def test_an_agent_kills_only_its_own(lit: Engine) -> None:
    with inhabitant(lit, tools="openclaw") as one, inhabitant(lit, tools="openclaw") as two:
        theirs = lit.start("cat", parent=one.session, kind="cron")["id"]
        system = lit.start("cat", parent=two.session, kind="system")["id"]
        main = lit.start("cat", parent=two.session, kind="main")["id"]
        client = two.client()
        assert not rows(client)[theirs]["mine"]
        for target in (theirs, one.session, system, main):
            for arguments in ({"force": True}, {}):
                refused = client.raw("sessions_kill", {"sessionKey": target, **arguments})
                assert refused["isError"]
                assert refused["structuredContent"]["status"] == "forbidden"
        refused = client.raw("sessions_send", {"sessionKey": theirs, "message": "x"})
        assert refused["structuredContent"]["status"] == "forbidden"
        assert {lit.show(name)["state"] for name in (theirs, one.session, system, main)} == {"running"}
        assert one.client().call("sessions_kill", sessionKey=theirs, force=True)["status"] == "killed"


# -- attempts


def test_a_key_cannot_be_taken_over(claw: Engine) -> None:
    """Neither by a later name nor by a later alias; and what never came to be holds none."""
    with inhabitant(claw, tools="openclaw") as agent:
        client = agent.client()
        spawned = client.call("sessions_spawn", task="stay", agentId="scripted", mode="session")
        key, own = spawned["childSessionKey"], spawned["sessionId"]
        thief = claw.start("cat", name=key)["id"]
        assert rows(client)[thief]["key"] == f"agent:generic:task:{thief}"
        assert rows(client)[own]["key"] == key
        assert client.call("sessions_history", sessionKey=key)["sessionId"] == own
        with pytest.raises(LampError) as taken:
            claw.start("cat", aliases={"openclaw": key})
        assert taken.value.code == "NAME_TAKEN"
        name = f"hook:{uuid.uuid4()}"
        first = claw.start("cat", name=name)["id"]
        second = claw.start("cat", aliases={"openclaw": name})["id"]
        assert rows(client)[first]["key"] == name
        assert rows(client)[second]["key"] == f"agent:generic:task:{second}"
        free = f"hook:{uuid.uuid4()}"
        with pytest.raises(LampError):
            claw.start("/dev/null", aliases={"openclaw": free})
        with pytest.raises(LampError):
            claw.start("cat", label=["a\x1bb"], aliases={"openclaw": free})
        assert claw.start("cat", aliases={"openclaw": free})["id"] in rows(client)


@pytest.mark.parametrize("word", ["../../etc/passwd", "' OR 1=1 --", "a\x00b", "*", "agent:*:main", "x" * 201, "", " "])
def test_no_key_is_read_as_anything_else(lit: Engine, word: str) -> None:
    lit.start("cat", kind="main")
    with outside(lit, "openclaw") as (client, _):
        for tool, more in (
            ("sessions_history", {}),
            ("sessions_kill", {"force": True}),
            ("sessions_send", {"message": "x"}),
        ):
            with pytest.raises(ToolError) as refused:
                client.call(tool, sessionKey=word, **more)
            assert refused.value.code in ("NOT_FOUND", "BAD_INPUT")
        assert client.call("sessions_list")["sessions"][0]["status"] == "running"


def test_a_stranger_takes_nothing_out_of_the_list(lit: Engine) -> None:
    with inhabitant(lit, tools="openclaw") as one, inhabitant(lit, tools="openclaw") as two:
        failed = lit.start("false", parent=one.session, kind="cron")["id"]
        lit.call("wait_session", session=failed, timeout="120s")
        client = two.client()
        with pytest.raises(ToolError):
            client.call("sessions_kill", sessionKey=failed)
        assert client.call("sessions_cleanup", filter="cron:*")["results"] == []
        assert rows(client)[failed]["status"] == "failed"
        done = one.client().call("sessions_cleanup")
        assert [(row["sessionId"], row["outcome"]) for row in done["results"]] == [(failed, "removed")]
        assert failed not in rows(client)


def test_twice_at_once_is_once(lit: Engine) -> None:
    with inhabitant(lit, tools="openclaw") as agent:
        clients = [agent.client(protocol) for protocol in (LEGACY, MODERN, LEGACY)]
        made = {lit.start("false", parent=agent.session, kind="cron")["id"] for _ in range(3)}
        for name in made:
            lit.call("wait_session", session=name, timeout="120s")
        calls = [one.begin("tools/call", {"name": "sessions_cleanup", "arguments": {}}) for one in clients]
        results = [one.result(number) for one, number in zip(clients, calls, strict=True)]
        assert not any(result.get("isError") for result in results)
        assert sum(1 for event in lit.events() if event["action"] == "retire") == len(made)
        assert not made & set(rows(clients[0]))


def test_every_code_has_a_status() -> None:
    from lamplighter.compat.openclaw.toolset import failure

    for code in Code:
        kind = next((kind for kind in LampError.__subclasses__() if code in kind.codes), LampError)
        text, document = failure(kind(code, "what", "next"))
        assert json.loads(text) == document
        assert document["status"] in ("forbidden", "timeout", "error")
        assert (document["status"] == "forbidden") == (kind is ForbiddenError)
