"""`lamp approve`: what the operator sees, is asked and says; and the exit status of each."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import asker
from tests.support.engine import Engine
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared

Lamp = Callable[..., subprocess.CompletedProcess[str]]
EVIL = "\x1b[2Jnow\u202eevil"


@pytest.fixture
def ask(lit: Engine) -> Callable[..., str]:
    """Makes an agent in a session ask for something, and says the request's id."""
    inside = lit.start("sh", name="agent")["id"]
    lit.start("cat", name="other")

    def request(operation: str, **arguments: Any) -> str:
        answer = lit.folder / f"answer-{uuid.uuid4().hex}"
        words = [sys.executable, asker.__file__, lit.home.run, str(answer), "plain", operation, json.dumps(arguments)]
        lit.call("send_input", session=inside, text=shlex.join(words))
        assert wait_until(answer.exists), lit.output(inside)
        return json.loads(answer.read_text())["error"]["details"]["request"]

    return request


def test_the_list_says_who_asks_for_what_and_how_to_decide(lamp: Lamp, ask: Callable[..., str]) -> None:
    assert lamp("approve").stdout == "nobody asks for anything\n"
    assert "lamp approve" not in lamp("status").stdout
    request = ask("kill_session", session="other", force=True, reason="it hangs")
    titles, row, last = lamp("approve").stdout.splitlines()
    assert titles.split() == ["ID", "STATE", "LEFT", "WHO", "ASKS", "TO", "SESSION", "REASON"]
    for word in (request, "asked", "session agent (", "kill", "other (", "it hangs"):
        assert word in row
    assert last.endswith(f"lamp approve {request}")
    assert "1 request for you: lamp approve" in lamp("status").stdout
    (shown,) = json.loads(lamp("approve", "--json").stdout)["approvals"]
    assert (shown["id"], shown["arguments"]["reason"]) == (request, "it hangs")


def test_a_script_says_yes_or_refuses(lamp: Lamp, ask: Callable[..., str]) -> None:
    first, second = ask("end_session", session="other"), ask("send_input", session="other", text="y")
    done = lamp("approve", first, "--yes")
    assert (done.returncode, done.stdout.split(":")[0]) == (0, f"granted {first}"), done
    assert "may end other (" in done.stdout
    refused = lamp("approve", second[:9], "--refuse", "--yes", "--json", "--key", "k")
    assert json.loads(refused.stdout)["state"] == "refused", refused
    assert lamp("approve", second[:9], "--refuse", "--json", "--key", "k").stdout == refused.stdout
    assert [one["id"] for one in json.loads(lamp("approve", "--json").stdout)["approvals"]] == [first]


def test_wrong_words_decide_nothing(lamp: Lamp, ask: Callable[..., str]) -> None:
    request = ask("end_session", session="other")
    for words, status in (
        (["approve", request], 2),  # no terminal to ask on
        (["approve", request, "--json"], 2),
        (["approve", "--yes"], 2),
        (["approve", "--refuse"], 2),
        (["approve", "ap-", "--yes"], 4),
        (["approve", "ap-zzzz", "--yes"], 4),
        (["approve", "other", "--yes"], 4),
        (["approve", "%", "--yes"], 4),
        (["approve", request, "more"], 2),
        (["kill", "nobody", "--approval"], 2),
    ):
        done = lamp(*words)
        assert done.returncode == status, (words, done)
        assert "hint" in done.stdout + done.stderr
    (shown,) = json.loads(lamp("approve", "--json").stdout)["approvals"]
    assert shown["state"] == "asked"


@pytest.mark.parametrize(
    ("typed", "state", "status"),
    [
        ("g\r", "granted", 0),
        ("refuse\r", "refused", 0),
        ("\r", "asked", 9),
        ("maybe\r", "asked", 9),
        ("\x04", "asked", 9),
    ],
)
def test_a_person_reads_all_of_it_and_decides(
    person: Callable[..., Any], lit: Engine, ask: Callable[..., str], typed: str, state: str, status: int
) -> None:
    request = ask("send_input", session="other", text=f"rm -rf build {EVIL} the very end", enter=False)
    someone = person("approve", request[:12], cols=200)
    someone.until("Grant or refuse?")
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", someone.seen).decode()
    for word in (
        f"request        {request}",
        "who asks       session agent (",
        "wants to       send to other (",
        "rm -rf build \\x1b[2Jnow\\u202eevil the very end",
        "enter        False",
        "its owner      operator",
        "its command    cat",
        "its processes  1 process",
        "neither the caller's own session nor one that it started",
        "for this call alone, once",
    ):
        assert word in text, word
    someone.type(typed)
    assert someone.finish() == status, someone.seen
    (shown,) = lit.call("list_approvals", request=request)["approvals"]
    assert shown["state"] == state


def test_what_is_over_is_shown_and_not_asked_about(
    person: Callable[..., Any], lit: Engine, ask: Callable[..., str]
) -> None:
    request = ask("end_session", session="other")
    lit.call("decide_approval", request=request, decision="refuse")
    someone = person("approve", request, cols=200)
    someone.until("refused")  # it can still be granted: the operator may change their mind
    someone.until("Grant or refuse?")
    someone.type("y\r")
    assert someone.finish() == 0
    assert b"granted" in someone.seen
