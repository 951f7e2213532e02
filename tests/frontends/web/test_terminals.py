"""Terminals over the WebSocket: watched by many, held by one who takes it, and never waited for."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.connection import Connection

from tests.support.engine import Engine
from tests.support.processes import wait_until
from tests.support.web import page

pytestmark = pytest.mark.shared

FLOOD = "import sys\nline = 'lamp ' * 200 + '\\n'\nwhile True: sys.stdout.write(line)"
STREAM = "import time\nwhile True: print('lamp ' * 4000, flush=True); time.sleep(0.01)"

RAPID = "import time\nwhile True: print('lamp ' * 10000, flush=True); time.sleep(0.01)"


class Watch:
    """What a terminal was told, taken in by a thread of its own; it says what it has drawn unless it is told not to."""

    def __init__(self, terminal: Connection, *, draws: bool = True) -> None:
        self.terminal = terminal
        self.draws = draws
        self.said: list[dict[str, Any]] = []
        self.data = b""
        self.since_screen = self.most_since_screen = 0
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        try:
            for part in self.terminal:
                if isinstance(part, bytes):
                    self.data += part
                    self.since_screen += len(part)
                    self.most_since_screen = max(self.most_since_screen, self.since_screen)
                    if self.draws:
                        with suppress(ConnectionClosed):  # from the other end, with more to read before that
                            self.say(type="drawn", bytes=len(part))
                else:
                    self.said.append(json.loads(part))
                    self.since_screen *= self.said[-1]["type"] != "screen"
        except ConnectionClosed:
            return

    def say(self, **message: Any) -> None:
        self.terminal.send(json.dumps(message))

    def types(self) -> list[str]:
        return [one["type"] for one in self.said]

    def shows(self, *texts: bytes) -> bool:
        return wait_until(lambda: all(text in self.data for text in texts))

    def hears(self, wanted: Callable[[dict[str, Any]], bool]) -> bool:
        return wait_until(lambda: any(wanted(one) for one in self.said))


def test_watched_until_the_keyboard_is_taken(served: Engine) -> None:
    mine, session = page(served), served.start("bash", "--norc", rows=24, cols=80)["id"]
    with mine.terminal(session) as terminal:
        watch = Watch(terminal)
        assert watch.hears(lambda one: one["type"] == "screen" and (one["rows"], one["cols"]) == (24, 80))
        terminal.send(b"echo not-$((1+1))\r")
        assert served.show(session)["attached"] == 0
        watch.say(type="take", rows=30, cols=100)
        assert watch.hears(lambda one: one == {"type": "keyboard", "held": True})
        assert watch.hears(lambda one: one == {"type": "size", "rows": 30, "cols": 100})
        assert wait_until(lambda: served.show(session)["attached"] == 1)
        terminal.send("printf 'größe %s\\n' \"$LINES\"\r".encode())
        assert watch.shows("größe 30".encode())
        assert b"not-2" not in watch.data
        watch.say(type="resize", rows=20, cols=70)
        assert watch.hears(lambda one: one == {"type": "size", "rows": 20, "cols": 70})
        watch.say(type="release")
        assert watch.hears(lambda one: one == {"type": "keyboard", "held": False})
        assert wait_until(lambda: served.show(session)["attached"] == 0)
        terminal.send(b"echo not-$((1+1))\r")
        served.call("send_input", session=session, text="echo yes-$((1+1))")
        assert watch.shows(b"yes-2")
        assert b"not-2" not in watch.data


ASKING = r"""
import os, sys, tty
tty.setraw(0)
said = sys.stdout.buffer
said.write(b"ready"); said.flush()
while data := os.read(0, 1024):
    if b"Q" in data:
        said.write(b"\x1b[2;3H\x1b[6n"); said.flush()
    said.write(data.replace(b"Q", b"").hex().encode()); said.flush()
"""
PLACE = b"\x1b[2;3R".hex()


def test_one_answers_whoever_watches_and_types(served: Engine) -> None:
    """Two pages, one with the keyboard: neither is asked, and Lamplighter answers, once."""
    mine, session = page(served), served.start(sys.executable, "-c", ASKING)["id"]
    served.call("wait_session", session=session, until="text=ready", since=0, timeout="120s")
    with mine.terminal(session) as one, mine.terminal(session) as other:
        watching, typing = Watch(one), Watch(other)
        assert watching.hears(lambda said: said["type"] == "screen")
        assert typing.hears(lambda said: said["type"] == "screen")
        served.call("send_input", session=session, text="Q", enter=False)
        assert wait_until(lambda: served.output(session).count(PLACE) == 1)
        typing.say(type="take", rows=24, cols=80)
        assert typing.hears(lambda said: said == {"type": "keyboard", "held": True})
        other.send(b"Q")
        assert wait_until(lambda: served.output(session).count(PLACE) == 2)
        other.send(b"end")
        assert typing.shows(b"end".hex().encode())
        assert b"\x1b[6n" not in watching.data + typing.data
    assert served.output(session).count(PLACE) == 2


def test_tmux_answers_for_what_is_in_it(served: Engine) -> None:
    given = {"PATH": os.environ["PATH"], "HOME": str(served.folder), "TMUX_TMPDIR": str(served.folder)}
    session = served.start(sys.executable, "-c", ASKING, tmux=True, environment=given)["id"]
    served.call("wait_session", session=session, until="text=ready", since=0, timeout="120s")
    with page(served).terminal(session) as terminal:
        assert json.loads(terminal.recv(120))["error"]["code"] == "NOT_ATTACHABLE"
    served.call("send_input", session=session, text="Q", enter=False)
    served.call("wait_session", session=session, until=f"text={PLACE}", since=0, timeout="120s")
    served.call("send_input", session=session, text="end", enter=False)
    served.call("wait_session", session=session, until=f"text={b'end'.hex()}", since=0, timeout="120s")
    assert served.output(session).count(PLACE) == 1
    served.call("kill_session", session=session, force=True, grace="0s")


def test_who_leaves_gives_the_keyboard_back(served: Engine) -> None:
    mine, session = page(served), served.start("cat")["id"]
    with mine.terminal(session) as terminal:
        Watch(terminal).say(type="take", rows=30, cols=100)
        assert wait_until(lambda: served.show(session)["attached"] == 1)
    assert wait_until(lambda: served.show(session)["attached"] == 0)
    with mine.terminal(session) as terminal:
        assert Watch(terminal).hears(lambda one: one["type"] == "screen" and one["cols"] == 100)


def test_who_leaves_while_it_is_taken_leaves_nobody_behind(served: Engine) -> None:
    mine, session = page(served), served.start("cat")["id"]
    for number in range(20):
        with mine.terminal(session) as terminal:
            terminal.send(json.dumps({"type": "take", "rows": 30 + number, "cols": 100}))
            if number % 2:
                assert wait_until(lambda: served.show(session)["attached"] == 1)
        assert wait_until(lambda: served.show(session)["attached"] == 0), number


def test_what_scrolled_away_is_there_and_the_rest_goes_on(served: Engine) -> None:
    mine = page(served)
    session = served.start("sh", "-c", "seq 1 300; read line; seq 301 400; sleep 300")["id"]
    served.call("wait_session", session=session, until="text=300", since=0, timeout="120s")
    with mine.terminal(session) as terminal:
        watch = Watch(terminal)
        assert watch.shows(b"\r\n150", b"300")
        served.call("send_input", session=session, text="")
        assert watch.shows(b"400\r\n")
        assert watch.data.count(b"350") == 1


def test_its_end_is_told(served: Engine) -> None:
    mine, session = page(served), served.start("cat")["id"]
    with mine.terminal(session) as terminal:
        watch = Watch(terminal)
        assert watch.hears(lambda one: one["type"] == "screen")
        served.call("kill_session", session=session, force=True, grace="0s")
        assert watch.hears(lambda one: one["type"] == "ended")
    with mine.terminal(session) as terminal:
        (error,) = [json.loads(part) for part in terminal]
    assert (error["type"], error["error"]["code"]) == ("error", "ENDED")


def test_a_slow_page_skips_ahead_and_says_so(served: Engine) -> None:
    """It draws nothing for a while: neither the session nor those beside it wait for it."""
    mine, session = page(served), served.start(sys.executable, "-c", STREAM, rows=24, cols=80)["id"]
    with mine.terminal(session) as slow, mine.terminal(session) as quick:
        lazy, keen = Watch(slow, draws=False), Watch(quick)
        assert wait_until(lambda: len(keen.data) > 3 << 20 or "skipped" in keen.types())
        assert wait_until(lambda: served.show(session)["output"] > 6 << 20)
        assert len(lazy.data) < 2 << 20
        lazy.draws = True
        lazy.say(type="drawn", bytes=len(lazy.data))
        assert lazy.hears(lambda one: one["type"] == "skipped" and one["bytes"] > 1 << 20)
        said = lazy.types()
        assert said[said.index("skipped") + 1] == "screen"
        served.call("kill_session", session=session, force=True, grace="0s")


def test_who_prints_faster_than_anybody_reads_is_still_seen(served: Engine) -> None:
    mine, session = page(served), served.start(sys.executable, "-c", FLOOD, rows=24, cols=80)["id"]
    with mine.terminal(session) as terminal:
        watch = Watch(terminal)
        assert wait_until(lambda: watch.types().count("skipped") >= 3)
        served.call("kill_session", session=session, force=True, grace="0s")
        assert watch.hears(lambda one: one["type"] == "ended")


def test_one_who_was_behind_and_draws_quickly_again_gets_all_of_it(served: Engine) -> None:
    """Several at once: each of their screens has to wait for the one before, and much is printed meanwhile."""
    mine, session = page(served), served.start(sys.executable, "-c", RAPID, rows=24, cols=80)["id"]
    with ExitStack() as stack:
        watches = [Watch(stack.enter_context(mine.terminal(session)), draws=False) for _ in range(3)]
        assert wait_until(lambda: served.show(session)["output"] > 4 << 20)
        for watch in watches:
            assert wait_until(lambda watch=watch: watch.since_screen > 256 << 10)
        for watch in watches:
            watch.draws = True
            watch.say(type="drawn", bytes=len(watch.data))
            assert watch.hears(lambda one: one["type"] == "skipped")
        assert wait_until(lambda: all(watch.most_since_screen > 2 << 20 for watch in watches))
        served.call("kill_session", session=session, force=True, grace="0s")


def test_garbage_changes_nothing(served: Engine) -> None:
    mine, session = page(served), served.start("cat")["id"]
    with mine.terminal(session) as terminal:
        watch = Watch(terminal)
        assert watch.hears(lambda one: one["type"] == "screen")
        for text in (
            "",
            "{",
            "[]",
            "null",
            '{"type": "take"}',
            '{"type": "take", "rows": "x", "cols": []}',
            "[" * 10_000,
        ):
            terminal.send(text)
        watch.say(type="take", rows=10**9, cols=-5)
        assert watch.hears(lambda one: one == {"type": "size", "rows": 1000, "cols": 1})
        terminal.send(b"still here\r")
        assert watch.hears(lambda one: one == {"type": "keyboard", "held": True})
    with mine.terminal("none") as terminal:
        assert json.loads(terminal.recv(10))["error"]["code"] == "NOT_FOUND"


def test_what_has_no_terminal_of_ours_says_so(served: Engine) -> None:
    mine = page(served)
    session = served.start("sh", "-c", "echo one; echo two; sleep 300", headless=True)["id"]
    served.call("wait_session", session=session, until="text=two", since=0, timeout="120s")
    with mine.terminal(session) as terminal:
        assert Watch(terminal).shows(b"one\n", b"two\n")


def test_the_holder_is_asked_once_for_all_who_watch(served: Engine) -> None:
    mine, session = page(served), served.start("cat")["id"]
    with mine.terminal(session) as one, mine.terminal(session) as other:
        first, second = Watch(one), Watch(other)
        assert first.hears(lambda said: said["type"] == "screen")
        assert second.hears(lambda said: said["type"] == "screen")
        served.call("send_input", session=session, text="to both")
        assert first.shows(b"to both")
        assert second.shows(b"to both")
        assert len([event for event in served.events(session) if event["action"] == "attach"]) == 0
    assert served.show(session)["state"] == "running"
