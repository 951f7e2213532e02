"""`lamp attach`: a real terminal that outlasts the daemon and is always given back as it was."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.processes import wait_until

# Blocked and waited for, as a shell's trap loses the second of two that come close together.
SIZES = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print("ready", flush=True)
while signal.sigwait([signal.SIGWINCH]):
    size = os.get_terminal_size()
    print(size.lines, size.columns, flush=True)
"""
pytestmark = pytest.mark.shared

ECHO = 'stty -echo; echo ready; while read line; do echo "<$line>"; done'


def attached(lit: Engine, name: str) -> int:
    return lit.show(name)["attached"]


def test_it_shows_the_screen_and_passes_keys_both_ways(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("sh", "-c", ECHO, name="echo")
    lit.call("wait_session", session="echo", until="text=ready", timeout="120s")
    someone = person("attach", "echo")
    someone.until("ready")
    someone.type("hello\r")
    someone.until("<hello>")
    assert attached(lit, "echo") == 1
    someone.type("\x1c")
    assert someone.finish() == 0
    assert b"[detached from echo]" in someone.seen
    assert someone.terminal_is_as_before()
    assert wait_until(lambda: attached(lit, "echo") == 0)
    assert lit.show("echo")["state"] == "running"


def test_another_detach_key(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("sh", "-c", "stty raw -echo; echo ready; cat", name="one")
    someone = person("attach", "--detach-key", "C-]", "one")
    someone.until("ready")
    someone.type("\x1cx")
    someone.until("\x1cx")
    someone.type("y\x1d")
    assert someone.finish() == 0


def test_resize_reaches_the_session(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start(lit.python, "-c", SIZES, name="one")
    lit.call("wait_session", session="one", until="text=ready", timeout="120s")
    someone = person("attach", "one", rows=31, cols=101)
    someone.until("31 101")
    someone.resize(41, 111)
    someone.until("41 111")
    someone.type("\x1c")
    assert someone.finish() == 0


def test_the_end_is_told(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("sh", "-c", "read x; exit 3", name="one")
    someone = person("attach", "one")
    assert wait_until(lambda: attached(lit, "one") == 1)
    someone.type("\r")
    assert someone.finish() == 0
    assert b"[one ended: exit 3]" in someone.seen
    assert someone.terminal_is_as_before()


@pytest.mark.alone
def test_the_daemon_may_die_and_nobody_notices(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("sh", "-c", ECHO, name="echo")
    someone = person("attach", "echo")
    someone.until("ready")
    lit.kill(lit.daemon())
    someone.type("still here\r")
    someone.until("<still here>")
    someone.type("\x1c")
    assert someone.finish() == 0


@pytest.mark.alone
def test_the_holder_may_die_and_the_view_comes_back(lit: Engine, person: Callable[..., Any]) -> None:
    session = lit.start("sh", "-c", ECHO, name="echo")
    someone = person("attach", "echo")
    someone.until("ready")
    lit.kill(lit.shim(session["id"]))
    assert wait_until(lambda: lit.show("echo")["holder_lost"] and attached(lit, "echo") == 1)
    someone.type("back\r")
    someone.until("<back>")
    someone.type("\x1c")
    assert someone.finish() == 0


def test_any_number_of_people(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("sh", "-c", ECHO, name="echo")
    people = [person("attach", "echo") for _ in range(3)]
    for someone in people:
        someone.until("ready")
    people[0].type("all\r")
    for someone in people:
        someone.until("<all>")
        someone.type("\x1c")
        assert someone.finish() == 0


def test_one_who_only_watches_types_nothing(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("sh", "-c", ECHO, name="echo")
    watcher = person("attach", "--read-only", "echo")
    watcher.until("ready")
    watcher.type("never\r")
    other = person("attach", "echo")
    other.until("ready")
    other.type("mine\r")
    watcher.until("<mine>")
    watcher.type("\x1c")
    assert watcher.finish() == 0
    assert b"<never>" not in watcher.seen


@pytest.mark.parametrize("name", ["TERM", "HUP"])
def test_a_signal_gives_the_terminal_back(lit: Engine, person: Callable[..., Any], name: str) -> None:
    lit.start("sh", "-c", "printf '\\033[?1049h\\033[?1003h\\033[?25lready'; sleep 300", name="one")
    someone = person("attach", "one")
    someone.until("ready")
    someone.process.send_signal(signal.Signals[f"SIG{name}"])
    assert someone.finish() == 128 + signal.Signals[f"SIG{name}"]
    after = someone.seen[someone.seen.rindex(b"ready") :]
    assert all(mode in after for mode in (b"\x1b[?1049l", b"\x1b[?1003l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[0m"))
    assert someone.terminal_is_as_before()
    assert wait_until(lambda: attached(lit, "one") == 0)


def test_a_slow_terminal_skips_ahead_to_the_screen_as_it_is(lit: Engine, person: Callable[..., Any]) -> None:
    script = "read x; yes 0123456789012345678901234567890123456789 | head -c 30000000; "
    script += "printf '\\033[2J\\033[Hthe end'; sleep 300"
    lit.start("sh", "-c", script, name="flood")
    someone = person("attach", "flood")
    assert wait_until(lambda: attached(lit, "flood") == 1)
    someone.type("\r")
    # Nobody reads the terminal until the session has written everything.
    assert wait_until(lambda: lit.show("flood")["output"] >= 30_000_000)
    someone.until("the end")
    assert len(someone.seen) < 25_000_000
    someone.type("\x1c")
    assert someone.finish() == 0


def test_a_session_that_ended_cannot_be_attached(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("true", name="one")
    lit.call("wait_session", session="one", until="ended", timeout="120s")
    someone = person("attach", "one")
    assert someone.finish() in (4, 5)
    assert b"error:" in someone.seen
    assert someone.terminal_is_as_before()


def test_with_json_the_document_comes_last(lit: Engine, person: Callable[..., Any]) -> None:
    lit.start("sh", "-c", ECHO, name="echo")
    someone = person("attach", "--json", "echo")
    someone.until("ready")
    someone.type("\x1c")
    assert someone.finish() == 0
    report = json.loads(someone.seen[someone.seen.rindex(b"\x1b[?1049l") + 8 :])
    assert (report["name"], report["how"]) == ("echo", "detached")
