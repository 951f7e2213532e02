"""Nothing that a session calls itself can act on a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.display import styled
from lamplighter.frontends.cli.display.blocks import Block, plain_lines
from lamplighter.frontends.cli.display.format import clean, command_line, exit_words, size, width
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.exit_status import status_of_exit
from lamplighter.frontends.cli.terminal.raw_terminal import Key
from lamplighter.frontends.cli.views import detail, endings, machine, sessions

EVIL = "\x1b[31m\x1b]0;t\x07[red]x[/red]\r\n\x9b1m\u202e\udcff\x00"
CONTROLS = [chr(code) for code in (*range(32), *range(127, 160), 0x202E, 0x2066, 0xDCFF) if chr(code) != "\n"]


def session(**changes: Any) -> dict[str, Any]:
    plain_session: dict[str, Any] = {
        "id": EVIL, "name": EVIL, "kind": "task", "agent": EVIL, "driver": "terminal", "state": "running",
        "verdict": "working", "evidence": [EVIL], "owner": EVIL, "parent": None, "project": EVIL,
        "command": [EVIL, "a b"], "cwd": EVIL, "protected": True, "keep_children": True, "pid": 1,
        "created_at": "2026-01-01T00:00:00.000Z", "started_at": None, "ended_at": None, "last_output_at": None,
        "last_input_at": None, "attached": 0, "processes": 1, "memory": 1, "cpu": 1.0, "output": 0, "exit": None,
        "how": None, "guarantee": "tree", "holder_lost": True, "children": [EVIL], "intent": {"by": EVIL},
        "ending": None, "tree": [{"pid": 1, "parent": 0, "command": EVIL, "state": "S", "memory": 1, "cpu": 0.1}],
        "folder": EVIL, "limits": {"idle": 60.0, "age": None, "memory": 1000}, "warnings": [EVIL], "quiet_for": 1.0,
    }  # fmt: skip
    return {**plain_session, **changes}


CERTIFICATE: dict[str, Any] = {
    "guarantee": EVIL,
    "seconds": 0.1,
    "processes": [{"pid": 1, "command": EVIL, "signal": EVIL, "seconds": 0.1}] * 2,
    "survivors": [{"pid": 2, "command": EVIL, "why": EVIL}],
}
ENDING = {"at": EVIL, "by": EVIL, "reason": EVIL, "how": EVIL, "exit": {"signal": EVIL}, "certificate": CERTIFICATE}
EVENT = {"n": 1, "at": EVIL, "session": EVIL, "name": EVIL, "by": EVIL, "action": EVIL, "detail": {EVIL: EVIL}}
OLD = {"id": EVIL, "name": EVIL, "ended_at": EVIL, "bytes": 1, "why": EVIL}
CHECK = {"name": EVIL, "state": "bad", "found": EVIL, "mend": EVIL}
ROWS = [session(), session(id="b", verdict="waiting"), session(id="c", state="ending")]
SHOWN: dict[str, list[Block]] = {
    "ls": sessions.ls({"sessions": [session()], "left_out": 0}),
    "tree": sessions.tree({"sessions": [session()]}),
    "overview": sessions.overview({"sessions": ROWS}),
    "show": detail.show(session(ending=ENDING)),
    "show ending": detail.show(session(state="ending", survivors=CERTIFICATE["survivors"])),
    "end": endings.ended({"id": EVIL, "name": EVIL, "state": "ended", "certificate": CERTIFICATE}),
    "survivors": endings.ended({"id": EVIL, "name": EVIL, "state": "ending", "certificate": CERTIFICATE}),
    "down": endings.down({"ended": [{"id": EVIL, "name": EVIL, "error": {"message": EVIL}}], "alive": 1}),
    "events": machine.events({"events": [EVENT]}),
    "doctor": machine.doctor({"guarantee": EVIL, "checks": [CHECK]}),
    "prune": machine.prune({"sessions": [OLD], "bytes": 1, "applied": False, "kept_days": 30, "kept_bytes": 1}),
}


@pytest.mark.parametrize("name", SHOWN)
def test_no_view_lets_a_control_character_through(name: str) -> None:
    text = "\n".join(plain_lines(SHOWN[name]))
    assert not [character for character in CONTROLS if character in text]
    assert "[red]x[/red]" in text


@pytest.mark.parametrize("name", SHOWN)
def test_rich_takes_nothing_for_markup(name: str) -> None:
    stream = io.StringIO()
    styled.draw(SHOWN[name], stream)  # not a terminal: rich writes no colours of its own
    text = stream.getvalue()
    assert not [character for character in CONTROLS if character in text]


def test_an_error_cannot_either(capsys: pytest.CaptureFixture[str]) -> None:
    CommandOutput(as_json=False).error(InputError(Code.BAD_INPUT, EVIL, EVIL))
    CommandOutput(as_json=True).error(InputError(Code.BAD_INPUT, EVIL, EVIL))
    out, err = capsys.readouterr()
    assert not [character for character in CONTROLS if character in out + err]
    assert "error: " in err
    assert "(BAD_INPUT)" in err
    assert "hint: " in err


@given(st.text())
def test_what_is_clean_has_nothing_that_acts(text: str) -> None:
    shown = clean(text)
    shown.encode("utf-8")
    assert all(character.isprintable() or character in "\u200c\u200d" or character.isspace() for character in shown)
    assert not set(shown) & {*CONTROLS, "\n"}


def test_ordinary_text_stays() -> None:
    assert clean("naïve 日本 👩‍💻 a b") == "naïve 日本 👩‍💻 a b"
    assert command_line(["sh", "-c", "echo it's"]) == "sh -c 'echo it'\\''s'"
    assert width("日本a") == 5


def test_a_tree_with_a_circle_is_still_drawn() -> None:
    rows = [
        session(id="a", name="a", parent="b"),
        session(id="b", name="b", parent="a"),
        session(id="c", name="c", parent="b"),
    ]
    text = "\n".join(plain_lines(sessions.tree({"sessions": rows})))
    assert all(f"{name} ({name})" in text for name in "abc")


def test_a_very_deep_tree_is_drawn_whole() -> None:
    rows = [session(id=str(n), name=f"s{n}", parent=str(n - 1) if n else None) for n in range(2000)]
    drawn = sessions.tree({"sessions": rows})
    assert sum(1 for _ in plain_lines(drawn)) == 2000
    stream = io.StringIO()
    styled.draw(drawn, stream)
    assert stream.getvalue().count("s1999 ") == 1


@pytest.mark.parametrize(
    ("found", "status", "words"),
    [
        ({"code": 0}, 0, "exit 0"),
        ({"code": 7}, 7, "exit 7"),
        ({"signal": "KILL"}, 137, "signal KILL"),
        ({"signal": "TERM"}, 143, "signal TERM"),
        ({"signal": "34"}, 162, "signal 34"),
        ({"code": None}, 1, "exit unknown"),
        (None, 1, "exit unknown"),
    ],
)
def test_exits(found: dict[str, Any] | None, status: int, words: str) -> None:
    assert status_of_exit(found) == status
    assert exit_words(found) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (3e12, "3.0 TB")]
)
def test_sizes(count: float, words: str) -> None:
    assert size(count) == words


@pytest.mark.parametrize("typed", [b"ab\x1ccd", b"ab\x1b[92;5u", b"ab\x1b[92;5:1u", b"ab\x1b[27;5;92~"])
def test_the_detach_key_is_seen_in_every_keyboard_protocol(typed: bytes) -> None:
    assert Key("C-\\").cut(typed) == b"ab"


@pytest.mark.parametrize("typed", [b"", b"abc\\", b"\x1b[92;6u", b"\x1b[A"])
def test_other_keys_are_not_the_detach_key(typed: bytes) -> None:
    assert Key("C-\\").cut(typed) is None


@pytest.mark.parametrize("name", ["", "x", "C-", "C-ab", "C-1", "C-é", "M-x"])
def test_a_key_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        Key(name)


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_a_narrow_terminal_keeps_ids_names_and_verdicts(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = io.StringIO()
    evidence = ["bash waits for an answer: Deploy to production? [y/N]"]
    rows = [session(id="0sm5q03g", name="cron:nightly", verdict="waiting", evidence=evidence, command=["x" * 300])]
    styled.draw([sessions.table(rows)], shown)
    text = shown.getvalue()
    assert all(word in text for word in ("0sm5q03g", "cron:nightly", "waiting", "bash w"))
    assert all(len(line) <= columns for line in text.splitlines())
