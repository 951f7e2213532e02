"""Claude Code's transcripts: what they say, and where the one of a session is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamplighter.agents.formats.transcript import find, read
from lamplighter.agents.formats.transcript_locator import Where
from lamplighter.agents.formats.transcript_pages import TranscriptMessage

START = 1772618400.0
ONE, TWO, THREE = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "123")


@pytest.mark.parametrize("case", ["finished", "killed", "interrupted"])
@pytest.mark.parametrize("agent", ["claude", None])
def test_what_it_says(case: str, agent: str | None, golden: Callable[..., Any], said: Callable[..., Any]) -> None:
    path, expected = golden(f"claude/{case}")
    assert said(read(str(path), agent)) == expected


def test_what_was_said_can_be_followed(
    golden: Callable[..., Any], messages: Callable[..., list[TranscriptMessage]]
) -> None:
    path, _ = golden("claude/finished")
    found = list(messages(str(path)))
    assert [message.text for message in found] == [
        "Add a discount to the checkout",
        "I will plan first.",
        "Use whole cents, please",
        "The discount is in, in whole cents. Tests are still missing.",
    ]
    assert [message.text for message in messages(str(path), start=found[1].next)] == [
        message.text for message in found[2:]
    ]
    assert list(messages(str(path), start=path.stat().st_size)) == []


def _write(folder: Path, name: str, begun: float, changed: float, cwd: str = "/w/shop") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    stamp = f"2026-03-04T10:{int(begun) // 60:02}:{int(begun) % 60:02}.000Z"
    entry = {
        "parentUuid": None,
        "type": "user",
        "timestamp": stamp,
        "cwd": cwd,
        "message": {"role": "user", "content": "x"},
    }
    path.write_text(json.dumps({"type": "mode", "sessionId": name}) + "\n" + json.dumps(entry) + "\n")
    os.utime(path, (START + changed, START + changed))
    return str(path)


def test_the_one_of_this_time_and_folder(tmp_path: Path, where: Callable[..., Where]) -> None:
    folder = tmp_path / ".claude/projects/-w-shop"
    assert find("claude", where()) is None
    _write(folder, ONE, -500, -100)
    assert find("claude", where()) is None
    own = _write(folder, TWO, 3, 50)
    assert find("claude", where()) == own
    later = where(started_at=START + 100, ended_at=START + 200)
    assert find("claude", later) is None
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    (folder / "link.jsonl").symlink_to("/dev/zero")
    assert find("claude", where()) == own


def test_two_at_once_in_one_folder_are_told_apart(tmp_path: Path, where: Callable[..., Where]) -> None:
    folder = tmp_path / ".claude/projects/-w-shop"
    first = _write(folder, ONE, 1, 59)
    second = _write(folder, TWO, 20, 58)
    assert find("claude", where()) == first
    assert find("claude", where(started_at=START + 18)) == second


def test_after_clear_it_is_the_newer_one(tmp_path: Path, where: Callable[..., Where]) -> None:
    folder = tmp_path / ".claude/projects/-w-shop"
    _write(folder, ONE, 1, 20)
    cleared = _write(folder, TWO, 30, 58)
    assert find("claude", where()) == cleared


def test_one_that_was_gone_on_with(tmp_path: Path, where: Callable[..., Where]) -> None:
    folder = tmp_path / ".claude/projects/-w-shop"
    older = _write(folder, ONE, 0, 40)
    _write(folder, TWO, 0, 30)
    assert find("claude", where(started_at=START + 25)) == older
    named = where(started_at=START + 25, command=("claude", "--resume", TWO))
    assert find("claude", named) == str(folder / f"{TWO}.jsonl")
    own = _write(folder, THREE, 26, 41)
    assert find("claude", where(started_at=START + 25, command=("claude", f"--session-id={THREE}"))) == own


@pytest.mark.parametrize("named", ["../../../etc/passwd", "x", "", "\0"])
def test_a_name_that_is_none_leads_nowhere(tmp_path: Path, where: Callable[..., Where], named: str) -> None:
    own = _write(tmp_path / ".claude/projects/-w-shop", ONE, 1, 20)
    assert find("claude", where(command=("claude", "--resume", named))) == own


def test_the_process_that_was_killed_tells_which(tmp_path: Path, where: Callable[..., Where]) -> None:
    folder = tmp_path / ".claude/projects/-w-shop"
    _write(folder, ONE, 1, 59)
    second = _write(folder, TWO, 20, 58)
    note = tmp_path / ".claude/sessions/4711.json"
    note.parent.mkdir()
    note.write_text(json.dumps({"sessionId": TWO, "cwd": "/w/shop", "pid": 4711}))
    os.utime(note, (START + 30, START + 30))
    assert find("claude", where(pids=(4711,))) == second
    os.utime(note, (START - 300, START - 300))  # of another process that had this number
    assert find("claude", where(pids=(4711,))) == str(folder / f"{ONE}.jsonl")


def test_folders_whose_names_are_written_the_same(tmp_path: Path, where: Callable[..., Where]) -> None:
    folder = tmp_path / ".claude/projects/-w-sh-op"
    _write(folder, ONE, 3, 50, cwd="/w/sh-op")
    own = _write(folder, TWO, 1, 20, cwd="/w/sh_op")
    assert find("claude", where(cwd="/w/sh_op")) == own


def test_another_home(tmp_path: Path, where: Callable[..., Where]) -> None:
    own = _write(tmp_path / "elsewhere/projects/-w-shop", ONE, 1, 20)
    assert find("claude", where()) is None
    assert find("claude", where(environment={"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")})) == own
    assert find("claude", where(command=("env", f"CLAUDE_CONFIG_DIR={tmp_path}/elsewhere", "claude"))) == own
    assert find("claude", where(cwd="/w/\0")) is None


def test_a_folder_with_a_very_long_name(tmp_path: Path, where: Callable[..., Where]) -> None:
    cwd = "/" + "long/" * 60 + "x"
    name = cwd.replace("/", "-")[:200] + "-1a2b3c"
    own = _write(tmp_path / ".claude/projects" / name, ONE, 1, 20, cwd=cwd)
    assert find("claude", where(cwd=cwd)) == own
