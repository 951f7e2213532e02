"""An agent that keeps a transcript while it runs: its messages by cursor, its replies, its tokens, the conversation it is in."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support import scribe
from tests.support.engine import Engine, engine
from tests.support.processes import wait_until


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    """One for all: each test has sessions, a folder and a home of its own."""
    with engine() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def claude(lit: Engine, home: Path) -> Iterator[Callable[..., str]]:
    """Starts one, and waits until it listens; its id."""
    program = home / "claude"
    program.write_text(f"#!{sys.executable} -S\n{Path(scribe.__file__).read_text()}")
    program.chmod(0o755)
    started: list[str] = []

    def start(*words: str, **more: Any) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        given = {"cwd": str(home.parent), "environment": environment, **more}
        session = lit.start(str(program), *words, **given)["id"]
        started.append(session)
        if not words:
            assert wait_until(lambda: "ready" in lit.output(session))
        return session

    yield start
    for session in started:
        with suppress(LampError):
            lit.call("kill_session", session=session, grace="0s", force=True)


def _send(lit: Engine, session: str, text: str) -> None:
    lit.call("send_input", session=session, text=text)


def _reply(lit: Engine, session: str, timeout: str = "20s") -> dict[str, Any]:
    return lit.call("wait_session", session=session, until="reply", timeout=timeout)


def _read(lit: Engine, session: str, **more: Any) -> dict[str, Any]:
    return lit.call("read_output", session=session, mode="transcript", **more)


def _said(page: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["text"]) for message in page["messages"]]


def _go(home: Path) -> None:
    (home / "go").touch()


def _aliases(lit: Engine, session: str) -> list[str]:
    with closing(sqlite3.connect(f"file:{lit.home.database}?mode=ro", uri=True)) as db, db:
        rows = db.execute("SELECT value FROM aliases WHERE session = ? ORDER BY at", (session,)).fetchall()
    db.close()
    return [row[0] for row in rows]


def test_a_reply_is_the_answer_to_what_was_sent_last(lit: Engine, claude: Callable[..., str], home: Path) -> None:
    session = claude()
    _send(lit, session, "say the first answer")
    found = _reply(lit, session)
    assert (found["reply"], found["turn"], found["source"]) == ("the first answer", "done", "transcript")
    _send(lit, session, "tool the second")
    with pytest.raises(LampError) as late:
        _reply(lit, session, "1s")
    assert late.value.code is Code.TIMEOUT, "the first answer is none to the second question"
    found: list[dict[str, Any]] = []
    waiting = threading.Thread(target=lambda: found.append(_reply(lit, session)))
    waiting.start()
    assert _said(_read(lit, session))[-1] == ("tool", "Bash: make test")  # it has looked while the turn goes on
    waiting.join(1.5)
    _go(home)
    waiting.join(30)
    assert found[0]["reply"] == "the second"
    assert lit.show(session)["tokens"] == {"input": 300, "output": 21, "cached": 120}
    listed = lit.call("list_sessions")["sessions"]
    assert [row["tokens"]["output"] for row in listed if row["id"] == session] == [21]


def test_a_turn_that_was_interrupted_or_failed_says_so(lit: Engine, claude: Callable[..., str]) -> None:
    session = claude()
    _send(lit, session, "stop I was about to")
    found = _reply(lit, session)
    assert (found["reply"], found["turn"]) == ("I was about to", "interrupted")
    _send(lit, session, "fail no route")
    found = _reply(lit, session)
    assert (found["reply"], found["turn"]) == ("API Error: no route", "failed")
    said = lit.cli("wait", session, "--for", "reply")
    assert said.stdout.splitlines()[0].endswith("failed:"), said
    assert "API Error: no route" in said.stdout


def test_what_was_sent_before_the_daemon_was_lost_is_waited_for_still(
    lit: Engine, claude: Callable[..., str], home: Path
) -> None:
    session = claude()
    _send(lit, session, "say one")
    assert _reply(lit, session)["reply"] == "one"
    _send(lit, session, "tool two")
    assert wait_until(lambda: "at work" in lit.output(session))
    lit.kill(lit.daemon())
    with pytest.raises(LampError) as late:
        _reply(lit, session, "1s")
    assert late.value.code is Code.TIMEOUT
    _go(home)
    assert _reply(lit, session)["reply"] == "two"


def test_messages_come_once_each_by_cursor_over_a_break_and_a_clear(
    lit: Engine, claude: Callable[..., str], home: Path
) -> None:
    session = claude()
    _send(lit, session, "tool one")
    assert wait_until(lambda: "at work" in lit.output(session))
    page = _read(lit, session)
    assert _said(page) == [("user", "tool one"), ("tool", "Bash: make test")]
    lit.kill(lit.daemon())
    _go(home)
    assert _reply(lit, session)["reply"] == "one"
    page = _read(lit, session, since=page["cursor"])
    assert _said(page) == [("assistant", "one")]
    before = lit.show(session)["conversation"]["id"]
    _send(lit, session, "/clear")
    assert wait_until(lambda: lit.show(session)["conversation"]["id"] != before)
    assert _said(_read(lit, session, since=page["cursor"])) == []
    _send(lit, session, "say two")
    assert _reply(lit, session)["reply"] == "two"
    after = _read(lit, session, since=page["cursor"])
    assert _said(after) == [("user", "say two"), ("assistant", "two")]
    assert [message["conversation"] for message in after["messages"]] == [lit.show(session)["conversation"]["id"]] * 2
    assert _aliases(lit, session) == [before, lit.show(session)["conversation"]["id"]]
    assert [text for _, text in _said(_read(lit, session, lines=3))] == ["one", "say two", "two"]
    assert lit.show(session)["tokens"]["output"] == 21
    lit.call("kill_session", session=session, grace="0s", force=True)
    assert len(_everything(lit, session)) == 5
    assert lit.show(session)["id"] == session


def _everything(lit: Engine, session: str, limit: int = 1 << 20) -> list[tuple[str, str]]:
    found, page = list[tuple[str, str]](), {"cursor": 0, "more": True}
    while page["more"]:
        page = _read(lit, session, since=page["cursor"], limit=limit)
        found += _said(page)
    return found


def test_a_message_that_is_half_written_is_not_there_yet(lit: Engine, claude: Callable[..., str], home: Path) -> None:
    session = claude()
    _send(lit, session, "half a whole answer")
    assert wait_until(lambda: _said(_read(lit, session)) == [("user", "half a whole answer")])
    page = _read(lit, session)
    _go(home)
    assert _reply(lit, session)["reply"] == "a whole answer"
    assert _said(_read(lit, session, since=page["cursor"])) == [("assistant", "a whole answer")]


def test_pages_of_any_size_are_the_same_messages(lit: Engine, claude: Callable[..., str]) -> None:
    session = claude()
    for number in range(3):
        _send(lit, session, f"say {number} — ünï 🦊")
        _reply(lit, session)
    whole = _everything(lit, session)
    assert len(whole) == 6
    assert _everything(lit, session, limit=1) == whole


def test_a_cursor_of_nowhere_is_refused(lit: Engine, claude: Callable[..., str]) -> None:
    session = claude()
    for cursor in (1, 10_000, (1 << 40) + 1, 7 << 40, (1 << 53) - 1, -1, 1 << 60):
        with pytest.raises(LampError) as wrong:
            _read(lit, session, since=cursor)
        assert wrong.value.code is Code.BAD_INPUT


def test_two_in_one_folder_are_not_mixed_up(lit: Engine, claude: Callable[..., str]) -> None:
    one, two = claude(), claude()
    _send(lit, two, "say of the second")
    _send(lit, one, "say of the first")
    assert _reply(lit, one)["reply"] == "of the first"
    assert _reply(lit, two)["reply"] == "of the second"
    _send(lit, two, "/clear")
    _send(lit, two, "say of the second again")
    assert _reply(lit, two)["reply"] == "of the second again"
    assert _said(_read(lit, one))[-1] == ("assistant", "of the first")


def test_one_that_answers_and_leaves(lit: Engine, claude: Callable[..., str]) -> None:
    """Its output says which conversation it is where the agent is told to; its process and the time do where it is not."""
    session = claude("-p", "say done with it", headless=True)
    found = _reply(lit, session)
    assert found["reply"] == "done with it"
    lit.call("wait_session", session=session, timeout="120s")
    assert _said(_read(lit, session)) == [("user", "say done with it"), ("assistant", "done with it")]
    assert _reply(lit, session)["reply"] == "done with it"
    assert lit.show(session)["tokens"]["output"] == 7


def test_following_shows_each_message_as_it_comes_until_the_end(lit: Engine, claude: Callable[..., str]) -> None:
    session = claude()
    said: list[str] = []
    reader = threading.Thread(
        target=lambda: said.append(lit.cli("read", session, "--transcript", "--follow", "--json").stdout)
    )
    reader.start()
    _send(lit, session, "say one")
    assert _reply(lit, session)["reply"] == "one"
    _send(lit, session, "/clear")
    _send(lit, session, "say <ESC>[31mred")
    _reply(lit, session)
    lit.call("kill_session", session=session, grace="0s", force=True)
    reader.join(30)
    documents = [json.loads(line) for line in said[0].splitlines()]
    texts = [message["text"] for document in documents for message in document["messages"]]
    assert texts == ["say one", "one", "say <ESC>[31mred", "\x1b[31mred"]
    shown = lit.cli("read", session, "--transcript", "-n", "1").stdout
    assert shown.startswith("assistant 2")
    assert "\x1b" not in shown


def test_a_program_without_a_transcript(lit: Engine) -> None:
    session = lit.start("sh", "-c", "while read x; do sleep 0.3; echo got $x; done", name="no-agent")["id"]
    lit.call("send_input", session=session, text="it")
    found = lit.call("wait_session", session=session, until="reply", timeout="120s", quiet="0.5s")
    assert (found["reply"].strip(), found["source"]) == ("got it", "output")
    with pytest.raises(LampError) as none:
        _read(lit, session)
    assert none.value.code is Code.UNSUPPORTED


def test_a_transcript_that_went_away_is_no_end_of_the_world(
    lit: Engine, claude: Callable[..., str], home: Path
) -> None:
    session = claude()
    _send(lit, session, "say one")
    _reply(lit, session)
    assert lit.show(session)["tokens"]["output"] == 7
    shutil.rmtree(home / ".claude" / "projects")
    assert _said(_read(lit, session)) == []
    assert lit.show(session)["tokens"]["output"] == 7
    _send(lit, session, "say two")
    assert _reply(lit, session)["reply"] == "two"
