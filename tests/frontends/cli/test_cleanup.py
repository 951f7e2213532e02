"""`lamp cleanup`, and selections on the command line: what is printed, where, and with which exit status."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from lamplighter.frontends.cli.commands import cleanup
from lamplighter.frontends.cli.display.blocks import plain_lines
from lamplighter.frontends.cli.views import cleanup as views
from lamplighter.frontends.cli.views.sessions import overview
from tests.support.engine import Engine
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared

Lamp = Callable[..., subprocess.CompletedProcess[str]]


def document(done: subprocess.CompletedProcess[str], status: int = 0) -> dict[str, Any]:
    assert done.returncode == status, done
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


@pytest.fixture
def left(lit: Engine) -> Callable[[str], str]:
    """Makes a session that has left a process behind."""

    def make(name: str) -> str:
        lit.start("sh", "-c", "sleep 300 & exit 0", name=name, headless=True, keep_children=True)
        assert wait_until(lambda: lit.show(name)["verdict"] == "leftovers")
        return name

    return make


def test_a_plan_is_a_table_whose_last_line_says_how_to_apply_it(lamp: Lamp, left: Any) -> None:
    left("one")
    left("two")
    lamp("start", "--name", "kept", "--protect", "--", "sleep", "300")
    shown = lamp("cleanup", "leftovers+kept").stdout.splitlines()
    assert shown[0].split() == ["VERDICT", "QUIET", "FOR", "MEMORY", "PROCS", "ID", "NAME", "WHY"]
    assert shown[1].split()[0] == "leftovers"
    assert "its command has exited" in shown[1]
    assert "left out kept" in shown[3]
    assert "protected" in shown[3]
    command = re.fullmatch(r"2 sessions, 2 processes, .* would go; within ten minutes: (lamp .*)", shown[-1])
    assert command is not None
    done = lamp(*command[1].split()[1:])
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert sorted(line.split(" (")[0] for line in lines[:2]) == ["ended one", "ended two"]
    assert "guarantee" in lines[0]
    assert lines[2].startswith("ended 2 sessions, 2 processes, ")
    again = lamp(*command[1].split()[1:])
    assert again.returncode == 5
    assert "PLAN_APPLIED" in again.stderr
    assert "nothing to clean up" in lamp("cleanup").stdout


def test_yes_does_both(lamp: Lamp, left: Any) -> None:
    left("one")
    done = document(lamp("cleanup", "--yes", "--json", "--key", "k", "--reason", "nightly", "--grace", "0"))
    assert done["applied"]
    assert [(row["name"], row["outcome"], row["why"]) for row in done["rows"]] == [("one", "ended", "nightly")]
    assert document(lamp("cleanup", "--yes", "--json", "--key", "k", "--reason", "nightly", "--grace", "0")) == done
    left("two")
    lamp("start", "--name", "kept", "--protect", "--", "sleep", "300")
    said = lamp("cleanup", "--yes", "leftovers+kept").stdout.splitlines()
    assert "left out kept" in said[0]
    assert said[1].startswith("ended two (")
    assert said[2].startswith("ended 1 session, ")
    assert len(said) == 3
    assert lamp("cleanup", "--yes").stdout == "ended 0 sessions, 0 processes, 0 B\n"


def test_rows_can_be_left_out_of_an_apply_and_of_yes(lamp: Lamp, left: Any, lit: Engine) -> None:
    one, two, three = (lit.show(left(name))["id"] for name in ("one", "two", "three"))
    made = document(lamp("cleanup", "--json"))["plan"]
    done = document(lamp("cleanup", "--apply", made, "--without", one, "--without", two, "--json"))
    assert {row["id"]: row["outcome"] for row in done["rows"]} == {one: "skipped", two: "skipped", three: "ended"}
    said = lamp("cleanup", "--yes", "--without", one).stdout
    assert f"skipped one ({one}): left out by the operator" in said
    assert "ended two (" in said
    assert lamp("cleanup", "--yes", "--without", "nothing").returncode == 2
    assert [row["id"] for row in document(lamp("cleanup", "--json"))["rows"]] == [one]


def test_json_is_one_document(lamp: Lamp, left: Any) -> None:
    left("one")
    made = document(lamp("cleanup", "--json"))
    assert [row["name"] for row in made["rows"]] == ["one"]
    assert made["expires_at"].endswith("Z")
    done = document(lamp("cleanup", "--apply", made["plan"], "--json"))
    assert done["sums"]["ended"] == 1


def test_wrong_words_are_errors(lamp: Lamp) -> None:
    lamp("up")
    for words, status in (
        (["cleanup", "orphand"], 4),
        (["cleanup", "idle,"], 2),
        (["cleanup", "kind:crom"], 2),
        (["cleanup", "idle", "--apply", "plan-00000000"], 2),
        (["cleanup", "--apply", "plan-00000000"], 4),
        (["cleanup", "--older-than", "soon"], 2),
        (["ls", "orphand"], 4),
        (["tree", "a[b"], 2),
        (["wait", "nothing-*"], 4),
    ):
        done = lamp(*words)
        assert done.returncode == status, done
        assert "hint: " in done.stderr


def test_a_person_sees_a_bar_and_a_line_a_row(person: Callable[..., Any], lamp: Lamp, left: Any) -> None:
    for number in range(3):
        left(f"job-{number}")
    plan = document(lamp("cleanup", "--json"))["plan"]
    someone = person("cleanup", "--apply", plan, cols=120)
    assert someone.finish() == 0, someone.seen
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", someone.seen).decode()
    for number in range(3):
        assert text.count(f"ended job-{number} (") == 1
    assert "3/3" in text
    assert "ended 3 sessions, 3 processes" in text


def test_the_daemon_may_die_on_the_way(lit: Engine, left: Any) -> None:
    for number in range(4):
        lit.start(
            "sh", "-c", "trap '' TERM HUP; echo up; while :; do sleep 0.1; done", name=f"deaf-{number}", headless=True
        )
        lit.call("wait_session", session=f"deaf-{number}", until="text=up", timeout="120s")
    command = [
        lit.python,
        "-m",
        "lamplighter.frontends.cli.main",
        "cleanup",
        "deaf-*",
        "--force",
        "--grace",
        "2",
        "--yes",
    ]
    with subprocess.Popen(
        command, env=lit.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as running:
        assert wait_until(lambda: lit.show("deaf-3")["state"] == "ending")
        lit.kill(lit.daemon())
        out, _ = running.communicate(timeout=200)
    assert running.returncode == 0, out
    assert [out.count(f"ended deaf-{number} (") for number in range(4)] == [1, 1, 1, 1]
    assert "ended 4 sessions" in out


TOLD = """
import sys
from lamplighter.frontends.cli import daemon_client, main
original = daemon_client.DaemonClient.call
def call(self, *arguments, each, **options):
    return original(self, *arguments, each=lambda item: (each(item), print("told", flush=True)), **options)
daemon_client.DaemonClient.call = call
sys.exit(main.main(sys.argv[1:]))
"""
"""The command, which says when it was told what it waits for."""


def test_the_choice_of_a_wait_outlasts_the_daemon(lit: Engine) -> None:
    """What matched when it was asked for is waited for, also when it matches no more and another daemon is asked."""
    for number in range(2):
        lit.start("sh", "-c", "read x; echo bye; exit 4", name=f"job-{number}", headless=True)
    command = [lit.python, "-c", TOLD, "wait", "job-*,state:running", "--json"]
    with subprocess.Popen(
        command, env=lit.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "told\n"
        lit.call("send_input", session="job-0", text="go")
        assert wait_until(lambda: lit.show("job-0")["state"] == "ended")
        lit.kill(lit.daemon())
        lit.call("send_input", session="job-1", text="go")
        out, _ = waiting.communicate(timeout=200)
    assert [one["name"] for one in json.loads(out.splitlines()[-1])["sessions"]] == ["job-0", "job-1"]
    ids = [lit.show(f"job-{number}")["id"] for number in range(2)]
    shown = lit.cli("wait", "ended,job-*").stdout.splitlines()
    assert shown == [f"ended job-{number} ({ids[number]}): exit 4" for number in range(2)]


def test_ls_and_tree_take_a_selection(lamp: Lamp) -> None:
    lamp("start", "--name", "one", "--", "sleep", "300")
    lamp("start", "--name", "two", "--kind", "cron", "--", "sleep", "300")
    assert "one" not in lamp("ls", "kind:cron").stdout
    assert lamp("tree", "two").stdout.startswith("two (")
    assert [row["name"] for row in document(lamp("ls", "--json", "mine,o*"))["sessions"]] == ["one"]


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([], 0),
        (["ended", "skipped"], 0),
        (["failed", "survived"], 8),
        (["ended", "failed"], 3),
    ],
)
def test_the_exit_status_is_that_of_the_worst(outcomes: list[str], status: int) -> None:
    error = {"code": "HOLDER_UNREACHABLE", "message": "m", "hint": "h"}
    rows = [{"outcome": outcome, "error": error if outcome == "failed" else None} for outcome in outcomes]
    assert cleanup.worst(rows) == status


def test_survivors_are_loud_and_nothing_acts_on_a_terminal() -> None:
    certificate = {"survivors": [{"pid": 5, "command": "dd\x1b[2J", "why": "in the kernel"}], "processes": []}
    line = views.row(
        {
            "id": "0a",
            "name": "x\x1b",
            "outcome": "survived",
            "why": "tried on",
            "certificate": certificate,
            "error": None,
        }
    )
    assert line.loud
    assert next(iter(plain_lines([line]))) == "survived x\\x1b (0a): 5 dd\\x1b[2J: in the kernel"


@pytest.mark.parametrize(("verdict", "said"), [("orphaned", "lamp cleanup shows"), ("stuck", "lamp cleanup stuck")])
def test_lamp_alone_suggests_it(verdict: str, said: str) -> None:
    session = {
        "id": "0a", "name": "one", "driver": "terminal", "state": "running", "verdict": verdict, "memory": 1, "cpu": 0.0,
        "processes": 1, "evidence": [], "command": ["x"], "started_at": None, "created_at": None, "ended_at": None,
    }  # fmt: skip
    assert any(said in line for line in plain_lines(overview({"sessions": [session]})))
    assert not any(
        "lamp cleanup" in line for line in plain_lines(overview({"sessions": [session | {"verdict": "idle"}]}))
    )
