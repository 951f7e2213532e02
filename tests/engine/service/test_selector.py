"""Selections where sessions are listed and waited for: the same grammar, against a real daemon."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support.engine import Engine, messages, send
from tests.support.fixtures import engine_for
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared


@pytest.fixture
def calm(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine that takes a session for idle soon."""
    with engine_for(request, LAMPLIGHTER_QUIET="0.2s", LAMPLIGHTER_STALL="0.2s") as made:
        yield made


def listed(made: Engine, selection: str, **arguments: Any) -> list[str]:
    return [one["name"] for one in made.call("list_sessions", selection=selection, **arguments)["sessions"]]


def code(made: Engine, operation: str, **arguments: Any) -> LampError:
    with pytest.raises(LampError) as caught:
        made.call(operation, **arguments)
    assert caught.value.hint
    return caught.value


def test_listing_by_selection(calm: Engine) -> None:
    parent = calm.start("sh", name="main", kind="main")["id"]
    calm.start("sleep", "300", name="cron:1", kind="cron", headless=True)
    calm.start("sleep", "300", name="cron:2", kind="cron", headless=True, parent=parent, protect=True)
    calm.start("true", name="cron:0")
    calm.call("wait_session", session="cron:0", timeout="120s")
    assert wait_until(lambda: listed(calm, "idle,kind:cron") == ["cron:1", "cron:2"])
    assert listed(calm, "") == ["main", "cron:1", "cron:2"]
    assert listed(calm, "cron:*") == ["cron:1", "cron:2"]
    assert listed(calm, "cron:*", all=True) == ["cron:1", "cron:2", "cron:0"]
    assert listed(calm, "ended") == ["cron:0"]
    assert listed(calm, "ended,cron:*+kind:main") == ["main", "cron:0"]
    assert listed(calm, "state:ended+protected") == ["cron:2", "cron:0"]
    assert listed(calm, "cron:0") == ["cron:0"], "named, so shown"
    assert listed(calm, "parent:main") == ["cron:2"]
    assert listed(calm, parent) == listed(calm, "main") == ["main"]
    assert listed(calm, "mine,driver:headless") == ["cron:1", "cron:2"]
    assert listed(calm, "owner:session:*+attached") == []
    assert listed(calm, "cron:*", limit=1) == ["cron:2"]
    assert calm.call("list_sessions", selection="cron:*", limit=1)["left_out"] == 1
    calm.call("protect_session", session="cron:2", off=True)


def test_a_word_that_names_nothing_is_never_an_empty_choice(calm: Engine) -> None:
    calm.start("sleep", "300", name="nightly")
    missed = code(calm, "list_sessions", selection="orphand")
    assert missed.code is Code.NOT_FOUND
    assert "did you mean orphaned?" in missed.hint
    assert "did you mean nightly?" in code(calm, "list_sessions", selection="idle+nihgtly").hint
    assert code(calm, "list_sessions", selection="parent:nobody").code is Code.NOT_FOUND
    assert listed(calm, "0") == ["nightly"], "the beginning of its id"
    calm.start("sleep", "300", name="other")
    assert code(calm, "list_sessions", selection="idle+0").code is Code.AMBIGUOUS
    assert code(calm, "list_sessions", selection="kind:crom").code is Code.BAD_INPUT
    assert code(calm, "list_sessions", selection="idle,").code is Code.BAD_INPUT
    assert code(calm, "list_sessions", selection="x" * 1001).code is Code.BAD_INPUT
    assert "did you mean orphaned?" in code(calm, "wait_session", session="orphand", timeout="120s").hint


def test_waiting_for_one_says_what_it_said(calm: Engine) -> None:
    session = calm.start("sh", "-c", "exit 3", name="one")["id"]
    waited = calm.call("wait_session", session="one", timeout="120s")
    assert {name: waited[name] for name in ("id", "name", "state", "met", "exit")} == {
        "id": session,
        "name": "one",
        "state": "ended",
        "met": "ended",
        "exit": {"code": 3},
    }
    assert waited["sessions"] == [{name: value for name, value in waited.items() if name != "sessions"}]


def test_waiting_for_all_that_match(calm: Engine) -> None:
    for number in range(3):
        calm.start("sh", "-c", f"read x; echo got; read x; exit {number}", name=f"job-{number}", headless=True)
    other = calm.start("sleep", "300", name="other", headless=True)["id"]
    for number in range(3):
        calm.call("send_input", session=f"job-{number}", text="go")
    texts = calm.call("wait_session", session="job-*", until="text=got", timeout="120s")
    assert [one["name"] for one in texts["sessions"]] == ["job-0", "job-1", "job-2"]
    assert (texts["id"], texts["state"], texts["met"]) == (None, None, "text=got")
    calm.call("wait_session", session="job-*+other", until="idle", quiet="0.2s", timeout="120s")
    with calm.connect() as sock:
        send(sock, "wait_session", "", {"session": "job-*", "timeout": "30s"})
        waiting = messages(sock)
        assert len(next(waiting)["item"]["ids"]) == 3
        for number in range(3):
            calm.call("send_input", session=f"job-{number}", text="go")
        done = next(waiting)["result"]
    assert [one["exit"]["code"] for one in done["sessions"]] == [0, 1, 2]
    assert [one["failed"] for one in done["sessions"]] == [False, True, True]
    assert done["failed"]
    assert calm.show(other)["state"] == "running"


def test_waiting_for_several_that_never_come_to_it(calm: Engine) -> None:
    for number in range(8):
        calm.start("sleep", "300", name=f"job-{number}", headless=True)
    calm.start("true", name="job-true", headless=True)
    late = code(calm, "wait_session", session="job-*", timeout="1s")
    assert late.code is Code.TIMEOUT
    assert "8 of " in late.message or "job-0" in late.message
    assert len(late.details["late"]) == 8
    assert code(calm, "wait_session", session="nothing-*", timeout="1s").code is Code.NOT_FOUND
    assert code(calm, "wait_session", session=" ", timeout="1s").code is Code.NOT_FOUND
    assert code(calm, "wait_session", session="job-*", until="rain", timeout="1s").code is Code.BAD_INPUT
    killer = threading.Thread(target=lambda: calm.call("kill_session", session="job-3", force=True, grace="0s"))
    killer.start()
    first = code(calm, "wait_session", session="job-?", until="text=never", timeout="120s")
    killer.join()
    assert first.code is Code.ENDED
    assert "job-3" in first.message


def test_a_session_that_is_called_like_a_word(calm: Engine) -> None:
    calm.start("true", name="idle", headless=True)
    assert calm.call("wait_session", session="idle", timeout="120s")["name"] == "idle"
    assert listed(calm, "name:idle", all=True) == ["idle"]
    assert listed(calm, "idle") == []


def test_a_thousand_words_are_still_a_selection(calm: Engine) -> None:
    name = uuid.uuid4().hex
    calm.start("sleep", "300", name=name, headless=True)
    assert listed(calm, "+".join(["a*"] * 300 + [name])) == [name]
