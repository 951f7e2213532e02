"""The core tools as a client meets them: what they say of themselves, what they do, and how small what they return stays."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lamplighter.domain.permission import Act
from lamplighter.frontends.mcp.core import TOOLSET
from lamplighter.operations import every_operation
from lamplighter.operations.records import NewRecord
from tests.support.engine import Engine
from tests.support.mcp_client import (
    LEGACY,
    MODERN,
    McpClient,
    RpcError,
    ToolError,
    bridge_command,
    inhabitant,
    outside,
)
from tests.support.processes import none_left, wait_until

pytestmark = pytest.mark.shared
CORE = [
    "start_session",
    "list_sessions",
    "get_session",
    "send_input",
    "read_output",
    "wait_session",
    "end_session",
    "kill_session",
    "cleanup_sessions",
    "scan_host",
    "load_handoff",
    "store_records",
    "search_records",
    "update_record",
]

DEFAULTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""What a client takes for granted where nothing is said; one that only reads destroys nothing, and is the same again."""
TEXTS = {"read_output", "load_handoff"}
"""Whose result is a text, with the facts about it in a second part."""


@pytest.fixture(params=[LEGACY, MODERN])
def client(lit: Engine, request: pytest.FixtureRequest) -> Iterator[McpClient]:
    with outside(lit, protocol=request.param) as (made, _):
        yield made


# -- what they say of themselves


def test_the_list_is_small_and_closed(client: McpClient) -> None:
    listed = client.request("tools/list", {})
    assert [tool["name"] for tool in listed["tools"]] == CORE
    assert len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode()) < 22_000
    for tool in listed["tools"]:
        assert tool["inputSchema"]["additionalProperties"] is False, tool["name"]
        assert ("outputSchema" in tool) is (tool["name"] not in TEXTS)
        assert all(field.get("description") for field in tool["inputSchema"]["properties"].values()), tool["name"]
        said = {name: value for name, value in tool["annotations"].items() if name != "title"}
        hints = TOOLSET.by_name[tool["name"]].hints
        assert said, f"{tool['name']} says nothing of what it does"
        granted = {**DEFAULTS, "destructiveHint": False, "idempotentHint": True} if hints.read_only else DEFAULTS
        assert {**granted, **said} == {
            "readOnlyHint": hints.read_only,
            "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent,
            "openWorldHint": hints.open_world,
        }


def test_every_tool_is_made_from_its_operation() -> None:
    for tool in TOOLSET.tools:
        operation = every_operation()[tool.name]
        assert tool.hints.read_only is not operation.changes, tool.name
        own = set(tool.input_schema["properties"]) - ({"after", "limit"} if tool.name == "list_sessions" else set())
        known = set(operation.request.model_fields)
        known |= set(NewRecord.model_fields) if tool.name == "store_records" else set()  # one text and one type for all
        assert own <= known, f"{tool.name} has {own - known}"


def test_what_changes_something_takes_more_than_the_right_to_read() -> None:
    """A token with the scope `read` alone must change nothing, through whatever tool."""
    reading = {name for name, operation in every_operation().items() if operation.changes and operation.act is Act.READ}
    assert reading == {"decide_approval"}, "which is the operator's, and says so itself"


def test_each_description_names_its_neighbours() -> None:
    for tool in TOOLSET.tools:
        others = [name for name in CORE if name != tool.name and name in tool.description]
        assert others, f"{tool.name} sends nobody elsewhere"
        assert len(tool.description) < 1000, tool.name


# -- what they do


def test_the_ended_are_listed_with_how_they_ended(client: McpClient) -> None:
    over = client.call("start_session", command=["sh", "-c", "exit 3"])["id"]
    client.call("wait_session", session=over, timeout="120s")
    runs = client.call("start_session", command=["cat"])["id"]
    rows = {row["id"]: row for row in client.call("list_sessions", selection="all+ended")["sessions"]}
    ended, running = rows[over], rows[runs]
    assert ended["exit"]["code"] == 3
    assert ended["how"]
    assert "reason" in ended
    assert "how" not in running


def test_a_whole_round(client: McpClient, mark: str) -> None:
    started = client.call("start_session", command=["sh", "-c", f": {mark}; echo hello; exec cat"], name="round")
    session = started["id"]
    waited = client.call("wait_session", session=session, until="text=hello", since=0)
    assert (waited["met"], waited["sessions"][0]["id"]) == ("text=hello", session)
    assert [row["name"] for row in client.call("list_sessions")["sessions"]] == ["round"]
    sent = client.call("send_input", session="round", text="-- 'what' \"ever\" ✓")
    client.call("wait_session", session=session, until="text=✓", since=sent["cursor"])
    read = client.call("read_output", session=session, mode="output", since=sent["cursor"])
    assert "-- 'what' \"ever\" ✓" in read["text"]
    assert "hello" in client.call("read_output", session=session)["text"]
    shown = client.call("get_session", session=session)
    assert shown["tree"][0]["command"].startswith("cat")
    with pytest.raises(ToolError) as refused:
        client.call("kill_session", session=session)
    assert refused.value.code == "ACTIVE"
    ended = client.call("end_session", session=session, reason="done")
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
    assert client.call("end_session", session=session) == ended
    assert client.call("get_session", session=session)["ending"]["reason"] == "done"
    assert client.call("list_sessions")["sessions"] == []
    assert [row["id"] for row in client.call("list_sessions", selection="mine,ended")["sessions"]] == [session]
    assert none_left(mark)


def test_a_cleanup_in_two_steps(client: McpClient, lit: Engine, mark: str) -> None:
    lit.start("sleep", "1000", name="theirs")
    for number in range(3):
        client.call("start_session", command=["sh", "-c", f": {mark}; sleep 1000"], name=f"job-{number}")
    plan = client.call("cleanup_sessions", selection="job-*+theirs", force=True)
    assert [row["name"] for row in plan["rows"]] == ["job-0", "job-1", "job-2"]
    assert [row["name"] for row in plan["not_in_plan"]] == ["theirs"]
    assert len(client.call("list_sessions")["sessions"]) == 3, "a plan ends nothing"
    token = {"_meta": {"progressToken": "here"}}
    done = client.raw("cleanup_sessions", {"apply": plan["plan"]}, **token)["structuredContent"]
    assert done["sums"]["ended"] == 3
    proofs = [row["certificate"] for row in done["rows"]]
    assert all(re.fullmatch(r"[1-9]\d* ended; survivors: none; guarantee: (kernel|tree)", proof) for proof in proofs), (
        proofs
    )
    steps = [told["progress"] for told in client.noticed("notifications/progress") if "total" in told]
    assert steps == [1, 2, 3], "what is slow says between them that it lives"
    with pytest.raises(ToolError) as again:
        client.call("cleanup_sessions", apply=plan["plan"])
    assert again.value.code == "PLAN_APPLIED"
    assert none_left(mark)
    assert lit.show("theirs")["state"] == "running"


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_older_revisions_are_spoken(lit: Engine, revision: str) -> None:
    with outside(lit, protocol=revision) as (client, _):
        assert client.initialize()["protocolVersion"] == revision
        assert [tool["name"] for tool in client.request("tools/list", {})["tools"]] == CORE
        text = client.raw("list_sessions", {})["content"][0]["text"]
        assert text == "sessions: none\nleft_out: 0", "where there is no structure yet, the text says it"


@pytest.mark.parametrize("tool", CORE)
def test_an_unknown_argument_is_never_ignored(lit: Engine, tool: str) -> None:
    lit.start("cat", name="one")
    with outside(lit) as (client, _):
        arguments: dict[str, Any] = {"session": "one", "command": ["touch", f"{lit.folder}/ran"], "text": "x"}
        known = TOOLSET.by_name[tool].request.model_fields
        given = {name: value for name, value in arguments.items() if name in known}
        with pytest.raises(ToolError) as refused:
            client.call(tool, **given, dryRun=True)
        assert refused.value.code == "BAD_INPUT"
        assert "dryRun" in refused.value.text
        assert lit.show("one")["state"] == "running"
        assert not (lit.folder / "ran").exists()
    assert [event["detail"]["tool"] for event in lit.events() if event["action"] == "refused"] == [tool]


@pytest.mark.parametrize("hidden", ["environment", "umask", "bound", "parent", "protect"])
def test_what_is_the_command_lines_own_is_no_argument(lit: Engine, hidden: str) -> None:
    with outside(lit) as (client, _), pytest.raises(ToolError) as refused:
        client.call("start_session", command=["cat"], **{hidden: "x"})
    assert refused.value.code == "BAD_INPUT"


def test_an_unknown_tool_is_the_protocols_error(client: McpClient) -> None:
    with pytest.raises(RpcError) as refused:
        client.call("rm_rf")
    assert refused.value.code == -32602


def test_an_error_has_code_and_hint_and_is_said_once(client: McpClient) -> None:
    result = client.raw("get_session", {"session": "nobody"})
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("NOT_FOUND: ")
    assert result["structuredContent"]["error"]["hint"]
    assert "{" not in result["content"][0]["text"]


def test_long_lists_come_in_pages(lit: Engine) -> None:
    with outside(lit) as (client, _):
        names = [f"job-{number:03d}-{'x' * 60}" for number in range(60)]
        for name in names:
            client.call("start_session", command=["sleep", "1000"], name=name, headless=True)
        seen: list[str] = []
        after: str | None = None
        while True:
            page = client.call("list_sessions", **({"after": after} if after else {}), limit=25)
            assert len(page["sessions"]) <= 25
            assert len(json.dumps(page).encode()) < 20_000
            seen += [row["name"] for row in page["sessions"]]
            assert page["left_out"] == len(names) - len(seen)
            after = page["next"]
            if after is None:
                break
        assert seen == names


def test_output_is_capped_and_goes_on_from_its_cursor(client: McpClient) -> None:
    command = ["sh", "-c", "seq 1 20000; echo ready; exec cat"]
    session = client.call("start_session", command=command, headless=True)["id"]
    client.call("wait_session", session=session, until="text=ready", since=0)
    cursor, whole = 0, ""
    while True:
        page = client.call("read_output", session=session, mode="output", since=cursor, limit=10_000)
        assert len(page["text"]) <= 10_000
        cursor, whole = page["cursor"], whole + page["text"]
        if not page["more"]:
            break
    assert whole.split()[:20000] == [str(number) for number in range(1, 20001)]
    newest = client.call("read_output", session=session, mode="output")
    assert newest["text"].split()[-2:] == ["20000", "ready"]
    small = client.call("read_output", session=session, mode="output", lines=5000, limit=1000)
    assert small["text"] == newest["text"][-1000:]
    assert small["cut"] == len("".join(f"{number}\n" for number in range(15002, 20001)) + "ready\n") - 1000


def test_a_screen_is_capped_too(client: McpClient) -> None:
    session = client.call("start_session", command=["sh", "-c", "seq -f 'line-%09g' 1 20; exec cat"])["id"]
    client.call("wait_session", session=session, until="text=line-000000020", since=0)
    whole = client.call("read_output", session=session)
    part = client.call("read_output", session=session, limit=100)
    assert "cut" not in whole
    assert part["text"] == whole["text"][-100:]
    assert part["cut"] == len(whole["text"]) - 100


def test_what_would_be_ignored_is_refused(client: McpClient) -> None:
    session = client.call("start_session", command=["cat"], headless=True)["id"]
    for ignored in ({"mode": "screen", "since": 0}, {"mode": "output", "since": 0, "lines": 5}):
        with pytest.raises(ToolError) as refused:
            client.call("read_output", session=session, **ignored)
        assert refused.value.code == "BAD_INPUT"
        assert "since" in str(refused.value)


# -- calls that take long


def test_a_wait_ends_by_timeout_without_an_error(client: McpClient) -> None:
    session = client.call("start_session", command=["cat"])["id"]
    assert client.call("wait_session", session=session, timeout="0.1s")["met"] == "timeout"
    assert client.call("get_session", session=session)["state"] == "running"


def test_a_cancelled_wait_stops_waiting_and_nothing_else(client: McpClient) -> None:
    session = client.call("start_session", command=["cat"])["id"]
    waiting = client.begin("tools/call", {"name": "wait_session", "arguments": {"session": session, "timeout": "1h"}})
    client.notify("notifications/cancelled", {"requestId": waiting})
    assert client.call("get_session", session=session)["state"] == "running"


def test_a_cancelled_ending_goes_on(client: McpClient, lit: Engine, mark: str) -> None:
    """Cancelling the call is no way to leave a session half ended."""
    started = lit.folder / "up"
    script = f"trap '' TERM; : {mark}; touch {started}; while :; do sleep 1; done"
    session = client.call("start_session", command=["sh", "-c", script])["id"]
    assert wait_until(started.exists)
    ending = client.begin(
        "tools/call", {"name": "kill_session", "arguments": {"session": session, "force": True, "grace": "3s"}}
    )
    assert wait_until(lambda: "kill" in [event["action"] for event in lit.events(session)])
    client.notify("notifications/cancelled", {"requestId": ending})
    assert wait_until(lambda: lit.show(session)["state"] == "ended")
    assert none_left(mark)


def test_a_client_that_leaves_during_an_ending_leaves_it_whole(lit: Engine, mark: str) -> None:
    started = lit.folder / "up"
    script = f"trap '' TERM; : {mark}; touch {started}; while :; do sleep 1; done"
    with outside(lit) as (client, bridge):
        session = client.call("start_session", command=["sh", "-c", script])["id"]
        assert wait_until(started.exists)
        client.begin(
            "tools/call", {"name": "kill_session", "arguments": {"session": session, "force": True, "grace": "3s"}}
        )
        assert wait_until(lambda: "kill" in [event["action"] for event in lit.events(session)])
        bridge.kill()
    assert wait_until(lambda: lit.show(session)["state"] == "ended")
    assert none_left(mark)


def test_what_takes_long_gives_signs_of_life(lit: Engine) -> None:
    with outside(lit) as (client, _):
        session = client.call("start_session", command=["cat"])["id"]
        result: list[dict[str, Any]] = []

        def wait() -> None:
            arguments = {"session": session, "timeout": "60s"}
            result.append(client.raw("wait_session", arguments, _meta={"progressToken": 7}))

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert wait_until(lambda: client.noticed("notifications/progress"))
        client.call("kill_session", session=session, force=True, grace="0")
        waiting.join(30)
    assert result[0]["structuredContent"]["met"] == "ended"
    assert client.noticed("notifications/progress")[0]["progressToken"] == 7


def test_what_is_told_of_a_slow_cleanup_never_runs_backwards(lit: Engine, mark: str) -> None:
    """First that it is still at it, then the steps: a client may count on more each time."""
    deaf = f"trap '' TERM HUP; echo up; : {mark}; while :; do sleep 0.1; done"
    with outside(lit) as (client, _):
        for name in ("slow-1", "slow-2"):
            session = client.call("start_session", command=["sh", "-c", deaf], name=name, headless=True)["id"]
            client.call("wait_session", session=session, until="text=up", since=0)
        plan = client.call("cleanup_sessions", selection="slow-*", force=True, grace="6s")["plan"]
        client.raw("cleanup_sessions", {"apply": plan}, _meta={"progressToken": "here"})
        told = [notice["progress"] for notice in client.noticed("notifications/progress")]
    assert len(told) > 2, "a sign of life and two steps"
    assert told == sorted(set(told))
    assert none_left(mark)


# -- one's own session


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_an_agent_ends_itself_without_naming_itself(lit: Engine, protocol: str) -> None:
    with inhabitant(lit, name="agent") as agent:
        client = agent.client(protocol)
        child = client.call("start_session", command=["cat"], name="child")
        assert child["parent"] == agent.session
        ended = client.call("end_session", reason="my work is done")
        assert (ended["id"], ended["state"]) == (agent.session, "ending")
    assert wait_until(lambda: lit.show(agent.session)["state"] == "ended")
    assert lit.show(agent.session)["ending"]["reason"] == "my work is done"


def test_a_client_in_no_session_has_none_to_end(client: McpClient) -> None:
    with pytest.raises(ToolError) as refused:
        client.call("end_session")
    assert refused.value.code == "BAD_INPUT"


def test_a_folder_whose_name_is_no_text(lit: Engine) -> None:
    """The kernel takes any bytes as a name; a client may be in such a folder, and have such variables."""
    folder = os.fsencode(lit.folder) + b"/odd-\xff"
    os.mkdir(folder)
    environment = {**lit.environment, "ODD": os.fsdecode(b"\xfe")}
    pipe = subprocess.PIPE
    with subprocess.Popen(bridge_command(), stdin=pipe, stdout=pipe, env=environment, cwd=folder) as bridge:
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        client = McpClient(bridge.stdin, bridge.stdout)
        client.initialize()
        with pytest.raises(ToolError) as refused:
            client.call("start_session", command=["cat"])
        assert (refused.value.code, "no UTF-8" in refused.value.text) == ("BAD_INPUT", True)
        assert client.call("start_session", command=["cat"], cwd="/")["state"] == "running"
        client.close()


# -- several at once


def test_the_first_of_several_and_who_has_ended_by_a_timeout(client: McpClient) -> None:
    short = client.call("start_session", command=["sh", "-c", "read line; exit 3"], name="several-short")["id"]
    long = client.call("start_session", command=["cat"], name="several-long")["id"]
    late = client.call("wait_session", session="several-*", timeout="0.1s")
    assert [(row["id"], row["state"], row["met"]) for row in late["sessions"]] == [
        (short, "running", "timeout"),
        (long, "running", "timeout"),
    ]
    client.call("send_input", session=short, text="go")
    first = client.call("wait_session", session="several-*", first=True, timeout="120s")
    assert (first["met"], [row["id"] for row in first["sessions"]]) == ("ended", [short])
    assert first["sessions"][0]["exit"] == {"code": 3}
    last = client.call("start_session", command=["sh", "-c", "read line; exit 4"], name="several-last")["id"]
    client.call("send_input", session=last, text="go")
    client.call("wait_session", session=last, timeout="120s")

    def told() -> bool:
        late = client.call("wait_session", session=f"{long}+{last},ended", timeout="1s")
        assert late["met"] == "timeout"
        found = {row["id"]: (row["met"], row.get("exit")) for row in late["sessions"]}
        return found == {last: ("ended", {"code": 4}), long: ("timeout", None)}

    assert wait_until(told)


def test_a_cursor_past_the_end_is_refused(client: McpClient) -> None:
    session = client.call("start_session", command=["sh", "-c", "echo up; exec cat"], headless=True)["id"]
    end = client.call("wait_session", session=session, until="text=up\n", since=0)["sessions"][0]["cursor"]
    page = client.call("read_output", session=session, mode="output", since=end)
    assert (page["text"], page["cursor"]) == ("", end)
    with pytest.raises(ToolError, match=rf"past the end .* at {end}\b") as refused:
        client.call("read_output", session=session, mode="output", since=end + 1)
    assert refused.value.code == "BAD_INPUT"
