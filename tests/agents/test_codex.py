"""Codex's transcripts: what they say, and where the one of a session is."""

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
ONE, TWO = (f"01a1de2b-0000-7000-8000-00000000000{digit}" for digit in "12")


@pytest.mark.parametrize("case", ["finished", "killed", "older"])
@pytest.mark.parametrize("agent", ["codex", None])
def test_what_it_says(case: str, agent: str | None, golden: Callable[..., Any], said: Callable[..., Any]) -> None:
    path, expected = golden(f"codex/{case}")
    assert said(read(str(path), agent)) == expected


def test_what_was_said_can_be_followed(
    golden: Callable[..., Any], messages: Callable[..., list[TranscriptMessage]]
) -> None:
    path, _ = golden("codex/killed")
    assert [(message.role, message.text) for message in messages(str(path), "codex")] == [
        ("user", "Run the tests"),
        ("assistant", "Running them."),
    ]


def _write(home: Path, day: str, name: str, begun: float, changed: float, **meta: Any) -> str:
    folder = home / ".codex/sessions" / day
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-2026-03-04T10-00-00-{name}.jsonl"
    payload = {"id": name, "cwd": "/w/shop", "timestamp": (START + begun) * 1000, "source": "cli", **meta}
    path.write_text(json.dumps({"type": "session_meta", "payload": payload}) + "\n")
    os.utime(path, (START + changed, START + changed))
    return str(path)


def test_the_one_of_this_time_and_folder(tmp_path: Path, where: Callable[..., Where]) -> None:
    assert find("codex", where()) is None
    _write(tmp_path, "2026/03/04", TWO, 2, 55, cwd="/w/other")
    _write(tmp_path, "2026/03/04", TWO[:-1] + "3", 3, 56, source={"subagent": "review"})
    _write(tmp_path, "2026/03/04", TWO[:-1] + "4", -900, -800)
    assert find("codex", where()) is None
    own = _write(tmp_path, "2026/03/04", ONE, 1, 50)
    assert find("codex", where()) == own
    assert find("codex", where(environment={"CODEX_HOME": f"{tmp_path}/.codex"}, home="/nowhere")) == own
    assert find("codex", where(home="/nowhere")) is None


def test_one_that_was_resumed_is_in_the_folder_of_its_day(tmp_path: Path, where: Callable[..., Where]) -> None:
    older = _write(tmp_path, "2025/12/24", ONE, -6_000_000, 30)
    assert find("codex", where()) == older
    _write(tmp_path, "2026/03/04", TWO, 5, 40)
    assert find("codex", where(command=("codex", "resume", ONE))) == older


def test_garbage_in_its_place(tmp_path: Path, where: Callable[..., Where]) -> None:
    folder = tmp_path / ".codex/sessions/2026/03/04"
    folder.mkdir(parents=True)
    (tmp_path / ".codex/sessions/2026/xx").mkdir()
    (tmp_path / ".codex/sessions/2025").write_text("")
    (folder / "rollout-a.jsonl").write_bytes(os.urandom(5000))
    (folder / "rollout-b.jsonl").write_text("")
    os.mkfifo(folder / "rollout-c.jsonl")
    assert find("codex", where(ended_at=START + 1e9)) is None
