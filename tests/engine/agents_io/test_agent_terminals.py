"""Agents at their terminals: a text is submitted once, never into a dialog; each is led out in its own way.

The agent is a scripted one, which draws as Claude Code does and writes down what was submitted to it.
"""

from __future__ import annotations

import json
import shutil
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support import terminal_agent
from tests.support.engine import Engine, engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mortality import deaths
from tests.support.own_tmux import OwnTmux
from tests.support.processes import wait_until
from tests.support.tmux import tmux_of


class Tui:
    """One agent in a session of an engine."""

    def __init__(self, made: Engine, folder: Path, *habits: str, **arguments: Any) -> None:
        self.engine = made
        self.record = folder / f"record-{uuid.uuid4().hex}"
        program = folder / "claude"
        if not program.exists():
            shutil.copy(terminal_agent.__file__, program)
        self.id = made.start(made.python, str(program), str(self.record), *habits, **arguments)["id"]

    @classmethod
    def of(cls, made: Engine, session: str, record: Path) -> Tui:
        """One that is there already."""
        tui = cls.__new__(cls)
        tui.engine, tui.id, tui.record = made, session, record
        return tui

    @classmethod
    def told(cls, made: Engine, folder: Path, prompt: str) -> Tui:
        """One that is started as an agent, with its first prompt."""
        record, program = folder / f"record-{uuid.uuid4().hex}", folder / "claude"
        shutil.copy(terminal_agent.__file__, program)
        command = [made.python, str(program), str(record)]
        return cls.of(made, made.call("start_session", agent="claude", command=command, prompt=prompt)["id"], record)

    def send(self, text: str, **arguments: Any) -> dict[str, Any]:
        return self.engine.call("send_input", session=self.id, text=text, **arguments)

    def noted(self, what: str) -> list[Any]:
        lines = self.record.read_text().splitlines(keepends=True) if self.record.exists() else []
        documents = [json.loads(line) for line in lines if line.endswith("\n")]
        return [document[what] for document in documents if what in document]

    def has(self, what: str, *values: Any) -> bool:
        return wait_until(lambda: self.noted(what) == list(values))

    def judged(self) -> tuple[str, str]:
        shown = self.engine.show(self.id)
        return shown["verdict"], shown["evidence"][0]

    def end(self) -> dict[str, Any]:
        return self.engine.call("end_session", session=self.id)


@pytest.fixture
def tmux() -> Iterator[OwnTmux]:
    made = OwnTmux()
    yield made
    made.close()


@pytest.fixture(scope="module")
def hall() -> Iterator[Engine]:
    """One engine for all of them: each has a session of its own."""
    with engine(LAMPLIGHTER_QUIET="0.3s") as made:
        yield made
        for session in made.call("list_sessions")["sessions"]:
            made.call("kill_session", session=session["id"], force=True, grace="0s")


TEXTS = {
    "lines": "-rf first\nsecond\n\n    fourth",
    "quotes": 'say "it\'s" `so` $HOME \\n',
    "emoji": "a\thello 👩‍👩‍👧‍👦 ✅ 日本語",
    "large": "a line of some text\n" * 5000 + "end",
    "command": "/compact now",
}


def test_every_text_is_submitted_once_and_whole(hall: Engine, tmp_path: Path) -> None:
    tui = Tui(hall, tmp_path)
    for number, text in enumerate(TEXTS.values(), 1):
        tui.send(text)
        assert wait_until(lambda number=number: len(tui.noted("submitted")) == number)
    assert tui.noted("submitted") == list(TEXTS.values())


def test_control_characters_and_the_end_of_a_paste_are_no_keys(hall: Engine, tmp_path: Path) -> None:
    tui = Tui(hall, tmp_path)
    tui.send("a\x1b[201~\r/exit\r\x03b\x04")
    assert tui.has("submitted", "a[201~\n/exit\nb")
    assert hall.show(tui.id)["state"] == "running"


def test_one_that_reads_late_and_works_takes_it_once_all_the_same(hall: Engine, tmp_path: Path) -> None:
    tui = Tui(hall, tmp_path, "slow")
    tui.send("work 20")
    tui.send("while it works")
    assert tui.has("submitted", "work 20", "while it works")


def test_two_at_once_do_not_mix(hall: Engine, tmp_path: Path) -> None:
    tui = Tui(hall, tmp_path)
    tui.send("ready")
    senders = [threading.Thread(target=tui.send, args=(f"text {number}",)) for number in range(3)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert wait_until(lambda: len(tui.noted("submitted")) == 4)
    assert sorted(tui.noted("submitted")[1:]) == [f"text {number}" for number in range(3)]


@pytest.mark.parametrize("program", ["vim -u NONE", "less /etc/passwd"])
def test_what_it_opens_on_its_terminal_waits_for_a_person(hall: Engine, tmp_path: Path, program: str) -> None:
    """An editor, known by its name, or whatever else takes its keys there; not what is left when that is closed."""
    tui = Tui(hall, tmp_path, "anew")
    tui.send(f"edit {program}")
    waits = ("waiting", f"{program.split()[0]} is open, and waits for a person")
    assert wait_until(lambda: tui.judged() == waits), tui.judged()
    hall.call("send_input", session=tui.id, text=": q Enter" if program.startswith("vim") else "q", keys=True)
    assert wait_until(lambda: tui.judged() == ("idle", "it waits for a request")), tui.judged()


def test_an_editor_in_a_tools_own_terminal_waits_for_a_person_while_the_agent_works(
    hall: Engine, tmp_path: Path
) -> None:
    tui = Tui(hall, tmp_path)
    tui.send("tool vim -u NONE")
    waits = ("waiting", "vim is open, and waits for a person")
    assert wait_until(lambda: tui.judged() == waits), tui.judged()


@pytest.mark.deep
def test_one_that_draws_nothing_yet_is_waited_for(hall: Engine, tmp_path: Path) -> None:
    tui = Tui(hall, tmp_path, "blank")
    tui.send("ready")
    assert tui.has("submitted", "ready")


def test_an_enter_that_is_lost_is_pressed_again(hall: Engine, tmp_path: Path) -> None:
    """Until the text has left the input line: also where a paste is shown as a note, and where the agent works."""
    tui = Tui(hall, tmp_path, "swallows")
    texts = ["ready", "a line of some text\n" * 5 + "end", "work 600", "one more"]
    for number, text in enumerate(texts, 1):
        tui.send(text)
        assert tui.noted("submitted") == texts[:number]
        assert len(tui.noted("lost")) >= number


@pytest.mark.deep
def test_enter_is_not_pressed_before_the_text_is_in_the_input_line(hall: Engine, tmp_path: Path) -> None:
    """What is read together is one paste, with Enter as a line of it."""
    tui = Tui(hall, tmp_path, "stalls")
    tui.send("ready")
    assert tui.noted("submitted") == ["ready"]


@pytest.mark.deep
@pytest.mark.timeout(400)
def test_a_text_that_stays_in_the_input_line_is_an_error(hall: Engine, tmp_path: Path) -> None:
    """The same again with the same key; not any more once somebody has submitted it."""
    tui, key = Tui(hall, tmp_path, "heedless"), uuid.uuid4().hex
    for _ in range(2):
        with pytest.raises(LampError) as caught:
            tui.send("go on", key=key)
        assert caught.value.code is Code.ACTIVE
        assert "has the text in its input line, not submitted" in caught.value.message
        assert "lamp send --keys" in caught.value.hint
        assert tui.noted("lost") == ["Enter"] * 3
    tui.send("C-c", keys=True)
    assert wait_until(lambda: "go on" not in hall.call("read_output", session=tui.id, mode="screen")["text"])
    tui.send("go on", key=key)
    assert (tui.noted("submitted"), tui.noted("lost")) == ([], ["Enter"] * 3)


def test_a_text_without_enter_waits_in_the_input_line(hall: Engine, tmp_path: Path) -> None:
    tui = Tui(hall, tmp_path)
    tui.send("one\ntwo", enter=False)
    hall.call("wait_session", session=tui.id, until="text=two", timeout="120s", since=0)
    assert tui.noted("submitted") == []
    tui.send("Enter", keys=True)
    assert tui.has("submitted", "one\ntwo")


@pytest.mark.parametrize("dialog", ["trust", "permission"])
def test_nothing_is_typed_into_a_dialog(hall: Engine, tmp_path: Path, dialog: str) -> None:
    tui = Tui(hall, tmp_path, *(["trust"] if dialog == "trust" else []))
    if dialog == "permission":
        tui.send("dialog")
    what = "trust in this folder" if dialog == "trust" else "permission to run: make all"
    assert wait_until(lambda: tui.judged() == ("waiting", f"it waits for {what}"))
    with pytest.raises(LampError) as caught:
        tui.send("go on")
    assert caught.value.code is Code.ACTIVE
    assert what in caught.value.message
    assert "lamp attach" in caught.value.hint
    assert tui.noted("keys") == []
    listed = hall.call("list_sessions")["sessions"]
    assert [one["evidence"][0] for one in listed if one["id"] == tui.id] == [f"it waits for {what}"]


def test_nothing_is_typed_where_no_input_line_is_seen(hall: Engine, tmp_path: Path) -> None:
    """A screen that is not known is no input line. An agent that is newer than what is known is named."""
    (tmp_path / "package.json").write_text('{"name": "@anthropic-ai/claude-code", "version": "99.1.0"}')
    tui = Tui(hall, tmp_path)
    tui.send("strange")
    assert wait_until(lambda: tui.judged() == ("unknown", "its screen is none that is known of it")), tui.judged()
    with pytest.raises(LampError) as caught:
        tui.send("no, please do not")
    assert (caught.value.code, caught.value.details["verdict"]) == (Code.ACTIVE, "unknown")
    assert caught.value.details["screen"][-1] == "  (space chooses)"
    assert "nothing was typed. claude 99.1.0 is newer" in caught.value.message
    assert "lamp send --keys" in caught.value.hint
    printed = hall.cli("send", tui.id, "no").stderr
    assert "  |   (space chooses)" in printed
    (found,) = [check for check in hall.call("check_host")["checks"] if check["name"] == "agents"]
    assert "claude 99.1.0 is newer" in found["found"]
    assert tui.noted("keys") == []
    tui.send("Escape", keys=True)
    tui.send("go on")
    assert tui.has("submitted", "strange", "go on")


def test_the_first_prompt_and_a_text_soon_after_are_two(hall: Engine, tmp_path: Path) -> None:
    tui = Tui.told(hall, tmp_path, "the first")
    tui.send("the second")
    assert tui.has("submitted", "the first", "the second")


def test_evidence_has_no_words_of_a_dialog_where_agents_read_their_own(tmp_path: Path) -> None:
    with engine(LAMPLIGHTER_AGENTS_READ="own") as made:
        tui = Tui(made, tmp_path)
        tui.send("dialog")
        assert wait_until(lambda: tui.judged() == ("waiting", "it waits for an answer"), 60), tui.judged()


def test_what_was_pasted_before_a_dialog_opened_is_not_its_answer(hall: Engine, tmp_path: Path) -> None:
    """The pause between paste and Enter is long enough for an agent at work to ask something."""
    tui = Tui(hall, tmp_path)
    tui.send("ask later")
    with pytest.raises(LampError) as caught:
        tui.send("go on")
    assert caught.value.code is Code.ACTIVE
    assert "not submitted" in caught.value.message
    assert (tui.noted("keys"), tui.noted("submitted")) == ([], ["ask later"])


@EVERY_STEP
def test_a_send_survives_death_at_every_step(mortal: Engine, tmp_path: Path, every: int) -> None:
    tui = Tui(mortal, tmp_path)
    tui.send("ready")
    expected = ["ready"]
    for death in deaths(mortal, every):
        expected.append(f"number {death.number}\nof many")
        death.arm()
        tui.send(expected[-1], key=uuid.uuid4().hex)
        assert tui.has("submitted", *expected)


@pytest.mark.parametrize("habits", [(), ("anew",)], ids=["one process", "two"])
def test_verdicts_follow_the_screen(hall: Engine, tmp_path: Path, habits: tuple[str, ...]) -> None:
    tui = Tui(hall, tmp_path, *habits)
    assert wait_until(lambda: tui.judged()[0] == "idle")
    tui.send("work 3")
    assert tui.has("submitted", "work 3")
    verdicts: list[str] = []

    def over() -> bool:
        verdicts.append(tui.judged()[0])
        return verdicts[-1] == "finished"

    assert wait_until(over)
    assert set(verdicts[:-1]) <= {"working"}


# -- ending


@pytest.mark.parametrize("doing", ["typing", "working", "asking", "jobs"])
def test_an_agent_leaves_in_its_own_way(hall: Engine, tmp_path: Path, doing: str) -> None:
    tui = Tui(hall, tmp_path)
    tui.send("ready")
    if doing == "typing":
        tui.send("half a wo", enter=False)
    elif doing == "working":
        tui.send("work 600")
        assert tui.has("submitted", "ready", "work 600")
    elif doing in ("asking", "jobs"):
        tui.send("dialog" if doing == "asking" else "jobs")
    ended = tui.end()
    assert (ended["how"], ended["exit"]) == ("asked", {"code": 0})
    assert tui.noted("leave") == [True]
    assert [text for text in tui.noted("submitted") if "half" in text] == []
    assert set(tui.noted("key")) == ({"Escape"} if doing == "working" else set())


def test_one_that_works_on_is_interrupted_again(hall: Engine, tmp_path: Path) -> None:
    """The key was lost, or its tool takes a while to end: no reason to end it by force."""
    tui = Tui(hall, tmp_path, "deaf")
    tui.send("work 600")
    assert tui.has("submitted", "work 600")
    ended = tui.end()
    assert (ended["how"], ended["exit"], tui.noted("leave")) == ("asked", {"code": 0}, [True])
    assert len(tui.noted("key")) >= 2


def test_one_at_its_trust_dialog_leaves_without_consent(hall: Engine, tmp_path: Path) -> None:
    tui = Tui(hall, tmp_path, "trust")
    assert wait_until(lambda: tui.judged()[0] == "waiting")
    assert tui.end()["how"] == "asked"
    assert tui.noted("keys") == ["\x1b"]


@pytest.mark.deep
def test_an_end_goes_on_after_the_daemon_died_on_the_way(mortal: Engine, tmp_path: Path) -> None:
    for death in deaths(mortal, 5):
        tui = Tui(mortal, tmp_path)
        tui.send("work 600")
        assert tui.has("submitted", "work 600")
        death.arm()
        assert tui.end()["state"] == "ended"


# -- tmux


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_in_tmux_it_is_the_same(hall: Engine, tmux: OwnTmux, tmp_path: Path) -> None:
    tui = Tui(hall, tmp_path, tmux=True, name="work", environment=tmux.environment)
    tui.send("first\nsecond\x1b[201~")
    assert tui.has("submitted", "first\nsecond[201~")
    tui.send("dialog")
    assert wait_until(lambda: tui.judged()[0] == "waiting")
    with pytest.raises(LampError):
        tui.send("blind")
    assert tui.end()["how"] == "asked"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_in_a_tmux_session_that_was_adopted_too(hall: Engine, tmp_path: Path) -> None:
    record, program = tmp_path / "record", tmp_path / "claude"
    shutil.copy(terminal_agent.__file__, program)
    with tmux_of(hall) as tmux:
        tmux.new("hand", hall.python, str(program), str(record))
        assert wait_until(lambda: "manual mode" in tmux.run("capture-pane", "-p", "-t", "hand"))
        tui = Tui.of(hall, hall.call("adopt_session", target="tmux:hand")["id"], record)
        key = uuid.uuid4().hex
        for _ in range(2):
            tui.send("first\nsecond", key=key)
        assert tui.has("submitted", "first\nsecond")
        tui.send("dialog")
        assert wait_until(lambda: "Do you want" in tmux.run("capture-pane", "-p", "-t", "hand"))
        with pytest.raises(LampError):
            tui.send("blind")
        assert tui.noted("keys") == []
        hall.call("kill_session", session=tui.id, force=True, grace="0s")
