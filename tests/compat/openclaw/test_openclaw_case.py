"""The openclaw toolset's own case: thirty isolated cron sessions left behind. And its changes when the daemon is killed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import scripted
from tests.support.clockwork import FOLDER, Clockwork
from tests.support.engine import Engine, engine
from tests.support.mcp_client import Inhabitant, McpClient, ToolError, inhabitant
from tests.support.processes import marked, none_left, wait_until

HIDE = 'exec -a "$0" sleep 300'
SCRIPTS = {
    "fails": "exit 3",
    "hangs": HIDE,
    "reads": "read line",
    "leaves": f'{scripted.LEAVE} exec -a "$0" sleep 300',
    "left": f"{scripted.LEAVE} true",
}
CRON, SPAWNED = 20, 10
EVERYTHING = "cron:*+agent:*:subagent:*"


@pytest.fixture
def late() -> Iterator[tuple[Engine, Clockwork]]:
    """An engine with agents in its settings, whose clock the test moves."""
    with engine(PYTHONPATH=FOLDER) as made:
        scripted.configure(made)
        yield made, Clockwork(made.folder)


def leave_behind(lit: Engine, agent: Inhabitant, client: McpClient, mark: str) -> set[str]:
    """Thirty sessions of the agent: started for it by the operator's cron, and spawned by itself."""
    made: set[str] = set()
    for number in range(CRON):
        (what, script) = list(SCRIPTS.items())[number % len(SCRIPTS)]
        given: dict[str, Any] = {"parent": agent.session, "kind": "cron", "name": f"cron:{what}:{number}"}
        if number == 0:
            started = lit.cli(
                "start",
                "--parent",
                agent.session,
                "--kind",
                "cron",
                "--name",
                given["name"],
                "--",
                "bash",
                "-c",
                script,
                mark,
            )
            assert started.returncode == 0, started.stderr
            made.add(lit.show(given["name"])["id"])
        else:
            started = lit.start("bash", "-c", script, mark, **given, keep_children=what == "left", headless=True)
            made.add(started["id"])
    for number in range(SPAWNED):
        what = ("fail", "hang", "leave hang", "stay")[number % 4]
        mode = "session" if what == "stay" else "run"
        spawned = client.call("sessions_spawn", task=f"{what} {mark}", agentId="scripted", mode=mode, label=what)
        made.add(spawned["sessionId"])
        lit.call("wait_session", session=spawned["sessionId"], until="text=task:", since=0, timeout="120s")
    return made


def listed(client: McpClient) -> dict[str, dict[str, Any]]:
    return {row["sessionId"]: row for row in client.call("sessions_list", limit=200)["sessions"]}


def verdicts(client: McpClient, names: set[str]) -> set[str]:
    found = listed(client)
    return {found[name]["verdict"] for name in names}


def test_thirty_sessions_are_seen_previewed_and_cleaned_up(late: tuple[Engine, Clockwork], mark: str) -> None:
    lit, clock = late
    with inhabitant(lit, tools="openclaw") as agent, inhabitant(lit, tools="openclaw") as stranger:
        client, other = agent.client(), stranger.client()
        made = leave_behind(lit, agent, client, mark)
        assert wait_until(lambda: sum(row["status"] == "failed" for row in listed(client).values()) == 7)
        found = listed(client)
        assert set(found) == made | {agent.session, stranger.session}
        assert all(found[name]["mine"] for name in made)

        def preview() -> dict[str, Any]:
            return client.call("sessions_cleanup", filter=EVERYTHING, olderThan=60, dryRun=True)

        def is_long_ago() -> bool:
            """What hangs has done nothing for two hours; one that was still starting at the last look, for two more."""
            clock.advance(7200)
            return len(preview()["results"]) == len(made)

        assert any(is_long_ago() for _ in range(8)), preview()
        before = {process.pid for process in marked(mark)}
        told = preview()
        outcomes = {row["sessionId"]: row["outcome"] for row in told["results"]}
        assert set(outcomes) == made, "also what waits for an answer, as an age was asked for"
        assert sorted(set(outcomes.values())) == ["would_end", "would_remove"]
        assert told["kept"] == []
        assert {process.pid for process in marked(mark)} == before

        refuse(lit, other, made, before, mark)
        done = client.call("sessions_cleanup", filter=EVERYTHING, olderThan=60)
        assert {row["sessionId"]: row["outcome"] for row in done["results"]} == {
            name: {"would_end": "ended", "would_remove": "removed"}[outcome] for name, outcome in outcomes.items()
        }
        assert done["freed"]["sessions"] == len(made)
        assert none_left(mark)
        assert set(listed(client)) == {agent.session, stranger.session}
        assert lit.show(agent.session)["state"] == "running"


def test_many_that_hang_need_one_call_and_one_approval(late: tuple[Engine, Clockwork], mark: str) -> None:
    """They sleep, so they work by their verdict; they are another's, so the operator is asked, once for all."""
    lit, clock = late
    hung = {
        lit.start("bash", "-c", HIDE, mark, kind="cron", name=f"cron:{number}:run", headless=True)["id"]
        for number in range(23)
    }
    with inhabitant(lit, tools="openclaw") as agent:
        client = agent.client()
        # For a moment, ten seconds after their start, their CPU is not measured yet on a busy machine: unknown.
        assert wait_until(lambda: verdicts(client, hung) == {"working"}), verdicts(client, hung)
        clock.advance(60)
        wanted: dict[str, Any] = {"filter": "cron:*", "olderThan": 0.1}
        asked = client.call("sessions_cleanup", **wanted)["results"]
        assert {row["sessionId"]: row["outcome"] for row in asked} == dict.fromkeys(hung, "approval_needed")
        (request,) = {row["approval"] for row in asked}
        (shown,) = lit.call("list_approvals")["approvals"]
        assert (len(shown["arguments"]["rows"]), shown["arguments"]["rows_left_out"]) == (5, 18)
        (whole,) = lit.call("list_approvals", request=request)["approvals"]
        assert {row["id"] for row in whole["arguments"]["rows"]} == hung
        assert "23 sessions: cron:" in lit.cli("approve").stdout
        assert lit.cli("approve", request, "--yes").returncode == 0
        done = client.call("sessions_cleanup", **wanted)["results"]
        assert {row["sessionId"]: row["outcome"] for row in done} == dict.fromkeys(hung, "ended")
        assert none_left(mark)
        for name in hung:
            ending = lit.show(name)["ending"]
            assert (ending["by"], ending["certificate"]["survivors"]) == (f"session:{agent.session}", [])
        assert client.call("sessions_cleanup", **wanted)["results"] == []


def refuse(lit: Engine, other: McpClient, made: set[str], before: set[int], mark: str) -> None:
    """Another agent sees them all, and can do nothing to any."""
    found = listed(other)
    assert not any(found[name]["mine"] for name in made)
    preview = other.call("sessions_cleanup", filter=EVERYTHING, dryRun=True)
    assert {row["outcome"] for row in preview["results"]} == {"would_need_approval"}
    tried = other.call("sessions_cleanup", filter=EVERYTHING)
    assert {row["outcome"] for row in tried["results"]} <= {"forbidden", "approval_needed"}
    assert tried["freed"] == {"sessions": 0, "processes": 0, "memoryBytes": 0}
    for name in made:
        with pytest.raises(ToolError):
            other.call("sessions_kill", sessionKey=found[name]["key"], force=True)
    assert set(listed(other)) == set(found)
    assert {process.pid for process in marked(mark)} == before


def test_without_a_filter_what_is_at_work_stays(lit: Engine, mark: str) -> None:
    with inhabitant(lit, tools="openclaw") as agent:
        client = agent.client()
        working = lit.start("bash", "-c", HIDE, mark, parent=agent.session, kind="cron")["id"]
        idle = lit.start("sh", "-c", "exec cat", parent=agent.session, kind="cron", headless=True)["id"]
        left = lit.start(
            "bash", "-c", SCRIPTS["left"], mark, parent=agent.session, kind="cron", keep_children=True, headless=True
        )["id"]
        assert wait_until(lambda: listed(client)[left]["verdict"] == "leftovers")
        done = client.call("sessions_cleanup")
        assert [(row["sessionId"], row["outcome"]) for row in done["results"]] == [(left, "ended")]
        assert set(listed(client)) == {agent.session, working, idle}
        assert len(marked(mark)) == 1
        kept = client.call("sessions_cleanup", filter="*", olderThan=0)
        assert any("working" in why for why in kept["kept"])
        assert lit.show(working)["state"] == "running"
        for bad in ("inactiv", "kind:crno", "a,,b"):
            with pytest.raises(ToolError):
                client.call("sessions_cleanup", filter=bad)


# -- the daemon killed in the middle


def test_a_cleanup_goes_on_through_a_killed_daemon(late: tuple[Engine, Clockwork], mark: str) -> None:
    lit, clock = late
    with inhabitant(lit, tools="openclaw") as agent:
        client = agent.client()
        stubborn = f"trap '' TERM; {HIDE}"
        made = {
            lit.start("bash", "-c", stubborn, mark, parent=agent.session, kind="cron", headless=True)["id"]
            for _ in range(6)
        }
        clock.advance(7200)
        assert wait_until(
            lambda: len(client.call("sessions_cleanup", filter="cron:*", dryRun=True)["results"]) == len(made), 30
        )
        arguments = {"name": "sessions_cleanup", "arguments": {"filter": "cron:*"}}
        number = client.begin("tools/call", arguments)
        assert wait_until(lambda: any(lit.show(name)["state"] == "ending" for name in made))
        late_comer = lit.start("cat", parent=agent.session, kind="cron", headless=True)[
            "id"
        ]  # no part of what was asked
        lit.kill(lit.daemon())
        done = client.result(number)["structuredContent"]
        assert lit.show(late_comer)["state"] == "running"
        assert {row["sessionId"]: row["outcome"] for row in done["results"]} == dict.fromkeys(made, "ended")
        assert none_left(mark)
        applied = [event for event in lit.events() if event["action"] == "applied"]
        assert len(applied) == 1


def test_a_spawn_and_a_message_happen_once(late: tuple[Engine, Clockwork]) -> None:
    lit, _ = late
    with inhabitant(lit, tools="openclaw") as agent:
        client = agent.client()
        keys: set[str] = set()
        for _ in range(4):
            arguments = {"task": "stay", "agentId": "piped", "mode": "session"}
            number = client.begin("tools/call", {"name": "sessions_spawn", "arguments": arguments})
            lit.kill(lit.daemon())
            keys.add(client.result(number)["structuredContent"]["childSessionKey"])
        found = {row["key"]: row for row in listed(client).values() if row["agentId"] == "piped"}
        assert set(found) == keys
        assert len(keys) == 4
        key = keys.pop()
        session = found[key]["sessionId"]
        lit.call("wait_session", session=session, until="text=task: stay", since=0, timeout="120s")
        arguments = {"sessionKey": key, "message": "once", "timeoutSeconds": 60}
        number = client.begin("tools/call", {"name": "sessions_send", "arguments": arguments})
        assert wait_until(lambda: "you said once" in lit.output(session))
        lit.kill(lit.daemon())
        sent = client.result(number)["structuredContent"]
        assert (sent["status"], sent["reply"]) == ("ok", "you said once\n")
        assert lit.output(session).count("you said once") == 1
