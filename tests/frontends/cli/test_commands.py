"""The commands against a real daemon: what they print, where, and with which exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared

Lamp = Callable[..., subprocess.CompletedProcess[str]]


def document(done: subprocess.CompletedProcess[str], status: int = 0) -> dict[str, Any]:
    """The one JSON document on standard output."""
    assert done.returncode == status, done
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def error(done: subprocess.CompletedProcess[str], code: str, status: int) -> dict[str, Any]:
    found = document(done, status)["error"]
    assert found["code"] == code
    assert found["hint"]
    assert not done.stderr
    return found


@pytest.fixture
def background(lit: Engine) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """The command in the background, gone with the test."""
    with ExitStack() as stack:

        def make(*words: str) -> subprocess.Popen[str]:
            command, pipe = [sys.executable, "-m", "lamplighter.frontends.cli.main", *words], subprocess.PIPE
            process = subprocess.Popen(
                command, env=lit.environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield make


@pytest.mark.alone
def test_status_and_down_start_nothing(lamp: Lamp, home: Path) -> None:
    error(lamp("status", "--json"), "DAEMON_UNREACHABLE", 3)
    assert "not running" in lamp("status").stderr
    assert document(lamp("down", "--json")) == {"ended": [], "alive": 0}
    assert not (home / "run" / "daemon.sock").exists()


@pytest.mark.alone
def test_up_starts_the_daemon_and_status_shows_it(lamp: Lamp) -> None:
    pid = document(lamp("up", "--json"))["pid"]
    assert document(lamp("status", "--json"))["pid"] == pid
    assert f"process {pid}" in lamp("up").stdout
    assert "stopped" in lamp("down").stdout
    assert lamp("status").returncode == 3


def test_lamp_alone_teaches_when_nothing_runs(lamp: Lamp) -> None:
    done = lamp()
    assert "lamp start -- claude" in done.stdout
    lamp("start", "--name", "one", "--", "sleep", "300")
    shown = lamp().stdout
    assert "1 session" in shown
    assert "one" in shown
    assert document(lamp("--json"))["sessions"][0]["name"] == "one"


def test_a_session_from_start_to_end(lamp: Lamp) -> None:
    started = document(lamp("start", "--json", "--name", "one", "--", "sh", "-c", "echo hello; exec cat"))
    assert {"id", "name"} <= set(started)
    row = document(lamp("ls", "--json"))["sessions"][0]
    assert (row["id"], row["name"], row["state"]) == (started["id"], "one", "running")
    assert row["verdict"]
    assert lamp("ls").stdout.splitlines()[0].split() == [
        "ID",
        "NAME",
        "DRIVER",
        "VERDICT",
        "BECAUSE",
        "AGE",
        "MEMORY",
        "CPU",
        "PROCS",
        "COMMAND",
    ]
    assert "one" in lamp("tree").stdout
    assert "processes" in lamp("show", "one").stdout
    ended = document(lamp("kill", "one", "--force", "--grace", "0", "--json"))
    assert ended["state"] == "ended"
    assert ended["certificate"]["survivors"] == []
    assert lamp("ls", "--json").stdout == '{"sessions": [], "left_out": 0, "by_hand": [], "notice": ""}\n'
    assert "guarantee" in lamp("show", started["id"]).stdout


def test_end_says_what_a_person_likes(lamp: Lamp) -> None:
    lamp("start", "--name", "one", "--", "sh", "-c", "sleep 300 & sleep 300")
    said = lamp("end", "one", "--grace", "1", "--reason", "enough").stdout.splitlines()
    assert said[0].startswith("ended one (")
    assert "processes gone in" in said[0]
    assert "guarantee" in said[0]
    assert any("sleep 300" in line for line in said[1:])


def test_send_wait_and_read(lamp: Lamp) -> None:
    lamp("start", "--name", "echo", "--", "sh", "-c", 'stty -echo; while read line; do echo "<$line>"; done')
    sent = document(lamp("send", "echo", "--json", "a $HOME", "`b`"))
    waited = lamp("wait", "echo", "--for", "text=<a $HOME `b`>", "--timeout", "20s")
    assert waited.returncode == 0, waited
    assert "<a $HOME `b`>" in lamp("read", "echo").stdout
    output = lamp("read", "echo", "--output", "--since", str(sent["cursor"]), text=False)
    assert output.stdout.endswith(b"<a $HOME `b`>\r\n")
    assert output.stderr.startswith(b"cursor: ")
    lamp("send", "echo", "-", input="-from standard input\n")
    assert lamp("wait", "echo", "--for", "text=<-from standard input>", "--timeout", "20s").returncode == 0
    cast = lamp("read", "echo", "--cast").stdout.splitlines()
    assert json.loads(cast[0])["version"] == 2
    assert all(json.loads(line) for line in cast)
    assert json.loads(document(lamp("read", "echo", "--cast", "--json"))["text"].splitlines()[0])["version"] == 2


def test_wait_times_out_with_its_own_status(lamp: Lamp) -> None:
    lamp("start", "--name", "one", "--", "sleep", "300")
    error(lamp("wait", "one", "--timeout", "0.1", "--json"), "TIMEOUT", 7)


def test_show_says_when_one_that_has_ended_last_printed_and_was_typed_to(lit: Engine) -> None:
    lit.start("sh", "-c", "read x; echo got $x", name="one")
    lit.start("sleep", "300", name="mute", headless=True)
    assert lit.cli("send", "one", "hello").returncode == 0
    assert lit.cli("wait", "one").returncode == 0
    shown = json.loads(lit.cli("show", "one", "--json").stdout)
    assert shown["last_input_at"] <= shown["last_output_at"] <= shown["ending"]["at"]
    lines = lit.cli("show", "one").stdout.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith(("output ", "input "))] == ["ago", "ago"]
    assert "input      last never" in lit.cli("show", "mute").stdout
    lit.call("kill_session", session="mute", force=True, grace="0s")
    assert "never" not in lit.cli("show", "mute").stdout


def test_a_session_that_failed_is_a_failed_wait(lamp: Lamp) -> None:
    lamp("start", "--name", "build", "--", "sh", "-c", "exit 3")
    done = lamp("wait", "build")
    assert (done.returncode, done.stdout.split("(")[0], done.stdout.split("): ")[1]) == (10, "ended build ", "exit 3\n")
    lamp("start", "--name", "fine", "--", "true")
    assert lamp("wait", "fine", "--for", "waiting", "--for", "ended").returncode == 0
    assert document(lamp("wait", "build", "--for", "idle,ended", "--json"), 10)["failed"]


def test_events_that_are_followed_show_changes_of_verdict(lit: Engine, background: Callable[..., Any]) -> None:
    asks = lit.start("sh", "-c", "read x; printf 'Proceed? [y/N] '; read x")["id"]
    follower = background("events", asks, "--follow", "--json")
    assert json.loads(follower.stdout.readline())["session"] == asks, "it follows by now"
    lit.call("send_input", session=asks, text="ask")
    while (event := json.loads(follower.stdout.readline()))["action"] != "verdict" or event["detail"][
        "is"
    ] != "waiting":
        pass
    assert (event["n"], event["session"]) == (None, asks)
    assert event["detail"]["because"] == "sh waits for an answer: Proceed? [y/N]"
    assert all(one["action"] != "verdict" for one in lit.events(asks)), "a verdict is never kept"


def test_reading_more_than_a_page_misses_nothing(lamp: Lamp) -> None:
    lamp("start", "--name", "many", "--headless", "--", "seq", "400000")
    lamp("wait", "many")
    done = lamp("read", "many", "--output")
    assert done.stdout == "".join(f"{n}\n" for n in range(1, 400_001))
    assert lamp("read", "many", "--output", "--lines", "2").stdout == "399999\n400000\n"


def test_follow_ends_with_the_session(lamp: Lamp) -> None:
    lamp("start", "--name", "some", "--headless", "--", "sh", "-c", "echo a; sleep 0.2; echo b")
    done = lamp("read", "some", "--follow")
    assert done.stdout == "a\nb\n"
    lines = [json.loads(line) for line in lamp("read", "some", "--follow", "--json").stdout.splitlines()]
    assert "".join(line["text"] for line in lines) == "a\nb\n"


@pytest.mark.alone
def test_follow_goes_on_when_the_daemon_dies(lit: Engine, background: Callable[..., Any]) -> None:
    lit.start("sh", "-c", "echo before; read x; echo after", name="some", headless=True)
    follower = background("read", "some", "--follow")
    events = background("events", "--follow", "--json")
    assert follower.stdout.readline() == "before\n"
    first = json.loads(events.stdout.readline())
    lit.kill(lit.daemon())
    lit.call("send_input", session="some", text="go")
    assert follower.stdout.read() == "after\n"
    assert follower.wait(200) == 0
    numbers = [first["n"]]
    for line in events.stdout:
        event = json.loads(line)
        numbers.append(event["n"])
        if event["action"] == "ended":
            break
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    events.send_signal(signal.SIGINT)
    assert events.wait(200) == 130
    assert events.stderr.read() == ""


@pytest.mark.alone
def test_nobody_notices_that_the_daemon_died(lit: Engine, background: Callable[..., Any]) -> None:
    lit.start("sleep", "300", name="one")
    waiting = background("wait", "one", "--json")
    assert wait_until(lambda: _is_waiting(waiting.pid))
    lit.kill(lit.daemon())
    assert lit.cli("kill", "one", "--force", "--grace", "0").returncode == 0
    out, _ = waiting.communicate(timeout=200)
    assert waiting.returncode == 10, "it was killed, and did not do what it was waited for"
    assert json.loads(out)["state"] == "ended"


def test_the_same_key_does_it_once(lamp: Lamp) -> None:
    first = document(lamp("start", "--json", "--key", "k1", "--", "sleep", "300"))
    again = document(lamp("start", "--json", "--key", "k1", "--", "sleep", "300"))
    assert first == again
    assert len(document(lamp("ls", "--json"))["sessions"]) == 1


def test_start_sends_what_the_caller_has(lit: Engine, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    script = (
        f"import os; os.umask(0o027); os.chdir({str(tmp_path)!r}); from lamplighter.frontends.cli.main import main; "
    )
    script += "main(['start', '--name', 'one', '--cwd', 'sub', '--env', 'GIVEN=b c', '--headless', '--', 'sh', '-c', "
    script += "'pwd; umask; echo $OWN $GIVEN ${LAMPLIGHTER_SECRET-none}'])"
    environment = {**lit.environment, "OWN": "a", "LAMPLIGHTER_SECRET": "no"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=200)
    lit.cli("wait", "one")
    assert lit.cli("read", "one", "--output").stdout == f"{tmp_path}/sub\n0027\na b c none\n"


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (["nonsense"], "BAD_INPUT", 2),
        (["--nonsense"], "BAD_INPUT", 2),
        (["ls", "--nonsense"], "BAD_INPUT", 2),
        (["start"], "EMPTY_COMMAND", 2),
        (["start", "--", "/no/such/program"], "NO_SUCH_PROGRAM", 2),
        (["start", "--cwd", "/no/such/folder", "--", "true"], "NO_SUCH_FOLDER", 2),
        (["start", "--name", "a\x1bb", "--", "true"], "BAD_NAME", 2),
        (["show", "nobody"], "NOT_FOUND", 4),
        (["kill", "nobody", "--grace", "-5"], "BAD_INPUT", 2),
        (["wait", "nobody"], "NOT_FOUND", 4),
        (["attach", "nobody"], "BAD_INPUT", 2),
        (["down", "--all"], "BAD_INPUT", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_errors_have_their_status(lamp: Lamp, words: list[str], code: str, status: int) -> None:
    lamp("up")
    words = [*words[:1], "--json", *words[1:]] if words[0] != "--nonsense" else ["--json", *words]
    error(lamp(*words), code, status)


def test_errors_are_for_people_without_json(lamp: Lamp) -> None:
    done = lamp("show", "nobody")
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "(NOT_FOUND)" in done.stderr
    assert "\nhint: " in done.stderr


def test_a_home_that_is_too_long(lit: Engine) -> None:
    long = {**lit.environment, "LAMPLIGHTER_HOME": "/tmp/" + "x" * 200}
    error(lit.cli("ls", "--json", env=long), "HOME_TOO_LONG", 2)


def test_conflicts_have_their_status(lamp: Lamp) -> None:
    lamp("start", "--name", "one", "--", "sh", "-c", "while :; do :; done")
    error(lamp("start", "--json", "--name", "one", "--", "sleep", "1"), "NAME_TAKEN", 5)
    lamp("kill", "one", "--force", "--grace", "0")
    error(lamp("send", "one", "--json", "text"), "ENDED", 5)


@pytest.mark.alone
def test_down_all_ends_every_session(lamp: Lamp) -> None:
    lamp("start", "--name", "one", "--", "sleep", "300")
    lamp("start", "--name", "two", "--", "sleep", "300")
    assert "--yes" in lamp("down", "--all").stderr
    done = document(lamp("down", "--all", "--yes", "--json"))
    assert len(done["ended"]) == 2
    assert lamp("status").returncode == 3


@pytest.mark.alone
def test_down_all_without_a_daemon_starts_one_to_end_what_runs(lit: Engine) -> None:
    started = lit.start("sleep", "300", name="one")
    lit.cli("down")
    error(lit.cli("down", "--all", "--json"), "BAD_INPUT", 2)
    assert lit.cli("status").returncode == 3
    done = document(lit.cli("down", "--all", "--yes", "--json"))
    assert [row["id"] for row in done["ended"]] == [started["id"]]
    assert done["ended"][0]["certificate"]["survivors"] == []
    assert lit.cli("status").returncode == 3
    assert document(lit.cli("ls", "--json"))["sessions"] == []


@pytest.mark.alone
def test_a_person_is_asked_before_down_all(person: Callable[..., Any], lamp: Lamp) -> None:
    lamp("start", "--name", "one", "--", "sleep", "300")
    no = person("down", "--all")
    no.until("End 1 session")
    no.type("n\n")
    assert no.finish() == 9
    assert b"nothing was ended" in no.seen
    assert b"error" not in no.seen
    assert lamp("status").returncode == 0
    yes = person("down", "--all")
    yes.until("[y/N]")
    yes.type("y\n")
    assert yes.finish() == 0
    assert b"stopped" in yes.seen


@pytest.mark.alone
def test_a_no_leaves_the_daemon_as_it_was(person: Callable[..., Any], lamp: Lamp) -> None:
    lamp("start", "--name", "one", "--", "sleep", "300")
    lamp("down")
    no = person("down", "--all")
    no.until("End 1 session")
    no.type("\x04")
    assert no.finish() == 9
    assert b"[y/N] \r\nnothing was ended" in no.seen
    assert lamp("status").returncode == 3
    assert len(document(lamp("ls", "--json"))["sessions"]) == 1


@pytest.mark.alone
def test_an_interrupted_question_ends_its_line(person: Callable[..., Any], lamp: Lamp) -> None:
    lamp("start", "--name", "one", "--", "sleep", "300")
    someone = person("down", "--all")
    someone.until("[y/N] ")
    someone.type("\x03")
    assert someone.finish() == 130
    assert someone.seen.endswith(b"\r\n")
    assert b"Traceback" not in someone.seen
    assert len(document(lamp("ls", "--json"))["sessions"]) == 1


@pytest.mark.alone
def test_tables_are_drawn_on_a_terminal(person: Callable[..., Any], lamp: Lamp) -> None:
    lamp("start", "--name", "one", "--", "sleep", "300")
    for words in (["ls"], ["tree"], ["show", "one"], [], ["doctor"], ["events"], ["status"]):
        someone = person(*words, cols=160)
        assert someone.finish() == 0, someone.seen
        assert b"\x1b[" in someone.seen, words


def test_a_reader_that_leaves_is_no_error(lit: Engine) -> None:
    lit.start("seq", "300000", name="many", headless=True)
    lit.cli("wait", "many")
    line = f"{sys.executable} -m lamplighter.frontends.cli.main read many --output | head -1"
    done = subprocess.run(["sh", "-c", line], env=lit.environment, capture_output=True, text=True, timeout=200)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_an_output_that_is_full_or_closed_is_a_clear_error_or_none(lit: Engine) -> None:
    lamp = f"{sys.executable} -m lamplighter.frontends.cli.main"
    full = subprocess.run(
        ["sh", "-c", f"{lamp} --help > /dev/full"], env=lit.environment, capture_output=True, text=True
    )
    assert full.returncode == 3
    assert full.stderr.startswith("error: ")
    assert "Traceback" not in full.stderr
    closed = subprocess.run(["sh", "-c", f"{lamp} --help >&-"], env=lit.environment, capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (0, "")


def test_help_and_version(lamp: Lamp) -> None:
    from lamplighter import __version__

    assert lamp("--version").stdout == f"lamp {__version__}\n"
    assert lamp("--help").stdout == lamp("help").stdout
    assert lamp("help", "ls").stdout == lamp("ls", "--help").stdout
    assert document(lamp("help", "--json"))["commands"]
    assert document(lamp("--version", "--json")) == {"version": __version__}


def _is_waiting(pid: int) -> bool:
    """Whether it sits on its connection to the daemon."""
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
        return (
            any(link.startswith("socket:") for link in links) and "State:\tS" in Path(f"/proc/{pid}/status").read_text()
        )
    except FileNotFoundError:
        return False
