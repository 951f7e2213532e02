"""What the page is told live: everything once, then what is different; and what a call answers, in one or in parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.processes import wait_until
from tests.support.web import Page, page, web

pytestmark = pytest.mark.shared

Events = Iterator[tuple[str, Any]]


def until(events: Events, wanted: str) -> Any:
    return next(data for event, data in events if event == wanted)


def change(events: Events, session: str, field: str) -> Any:
    """The next value of a field."""
    for event, data in events:
        if event == "changes" and field in data["changed"].get(session, {}):
            return data["changed"][session][field]
    raise AssertionError("the stream ended")


def test_first_everything_then_what_is_different(served: Engine) -> None:
    mine, first = page(served), served.start("cat", name="first")["id"]
    with mine.live(sessions="") as events:
        assert until(events, "state")["alive"] == 1
        told = until(events, "sessions")
        assert [row["name"] for row in told["sessions"]] == ["first"]
        second = served.start("cat", name="second")["id"]
        assert change(events, second, "name") == "second"
        served.call("protect_session", session=first)
        assert change(events, first, "protected") is True
        served.call("kill_session", session=second, force=True, grace="0s")
        assert any(second in data.get("gone", ()) for event, data in events if event == "changes")


def test_a_selection_and_those_that_ended(served: Engine) -> None:
    mine = page(served)
    served.start("cat", name="alive")
    served.start("true", name="over", headless=True)
    served.call("wait_session", session="over", until="ended", timeout="120s")
    with mine.live(sessions="name:al*") as events:
        assert [row["name"] for row in until(events, "sessions")["sessions"]] == ["alive"]
    with mine.live(sessions="", all="1") as events:
        assert [row["name"] for row in until(events, "sessions")["sessions"]] == ["alive", "over"]
    reply = mine.ask("GET", "/api/live?sessions=kind:nonsense")
    assert (reply.status, reply.error["code"]) == (400, "BAD_INPUT")
    assert mine.ask("GET", "/api/live?session=none").status == 404


def test_one_session_in_full(served: Engine) -> None:
    mine, session = page(served), served.start("bash", "--norc")["id"]
    with mine.live(session=session) as events:
        assert until(events, "session")["tree"][0]["command"].startswith("bash")
        served.call("kill_session", session=session, force=True, grace="0s")
        for event, data in events:
            if event == "session" and data["state"] == "ended":
                assert data["ending"]["certificate"]["survivors"] == []
                break


def test_what_waits_for_the_operator_is_in_the_state(served: Engine) -> None:
    mine, asker = page(served), web(served)
    target = served.start("cat")["id"]
    asker.initialize()
    with mine.live() as events:
        assert until(events, "state")["approvals"] == 0
        asker.call("kill_session", session=target)
        assert until(events, "state")["approvals"] == 1


def test_a_stream_that_is_left_leaves_nothing(served: Engine) -> None:
    mine = page(served)
    for _ in range(20):
        with mine.live(sessions="") as events:
            next(events)
    assert wait_until(lambda: _open(served, mine.port) <= 2)


def _open(lit: Engine, port: int) -> int:
    """Connections that are established at the daemon's port."""
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return sum(1 for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01")


def test_a_call_is_done_once_and_its_error_teaches(served: Engine) -> None:
    mine = page(served)
    one = mine.do("start_session", key="the-same", command=["sleep", "300"], cwd="/")
    assert mine.do("start_session", key="the-same", command=["sleep", "300"], cwd="/")["id"] == one["id"]
    assert mine.do("start_session", key="the-same", command=["cat"], cwd="/")["code"] == "KEY_REUSED"
    wrong = mine.ask("POST", "/api/call/get_session", '{"args": {"session": "none"}}')
    assert (wrong.status, wrong.error["code"]) == (404, "NOT_FOUND")
    assert wrong.error["hint"]
    for body in ("", "[]", "{", '{"args": []}', '{"args": {"sesion": "x"}}', "\x00", "[" * 100_000):
        assert mine.ask("POST", "/api/call/get_session", body).status == 400
    assert mine.ask("POST", "/api/call/nonsense", "{}").status == 400
    assert mine.ask("GET", "/api/call/list_sessions").status == 405
    assert mine.ask("POST", "/api/nonsense", "{}").status == 404


def test_what_comes_in_parts(served: Engine) -> None:
    mine = page(served)
    for number in range(3):
        served.start("cat", name=f"old-{number}")
    plan = mine.do("cleanup_sessions", selection="name:old-*", force=True)
    body = json.dumps({"args": {"apply": plan["plan"]}, "key": "apply"})
    lines = mine.ask("POST", "/api/call/cleanup_sessions?parts", body).body.decode().splitlines()
    said = [json.loads(line) for line in lines if line]
    assert [part["item"]["done"] for part in said[:-1]] == [1, 2, 3]
    assert said[-1]["result"]["sums"]["ended"] == 3


def test_who_leaves_while_a_change_goes_on_stops_nothing(served: Engine) -> None:
    mine = page(served)
    session = served.start("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")["id"]
    body = json.dumps({"args": {"session": session, "force": True, "grace": "1s"}, "key": "kill"})
    _leave_at_once(mine, "/api/call/kill_session", body)
    assert wait_until(lambda: served.show(session)["state"] == "ended")


def _leave_at_once(client: Page, path: str, body: str) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", client.port)
    told = {"Cookie": client.cookie or "", "X-Lamplighter-Proof": client.proof or ""}
    connection.request("POST", path, body, told)
    assert wait_until(
        lambda: client.do("get_session", session=json.loads(body)["args"]["session"])["state"] == "ending"
    )
    connection.close()
