"""Gemini CLI's transcripts: what they say, and where the one of a session is."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamplighter.agents.formats.transcript import find, read
from lamplighter.agents.formats.transcript_locator import Where

START = 1772618400.0


@pytest.mark.parametrize("case", ["finished", "killed", "older"])
@pytest.mark.parametrize("agent", ["gemini", None])
def test_what_it_says(case: str, agent: str | None, golden: Callable[..., Any], said: Callable[..., Any]) -> None:
    path, expected = golden(f"gemini/{case}")
    assert said(read(str(path), agent)) == expected


def _write(home: Path, folder: str, name: str, changed: float, kind: str = "main", ending: str = "jsonl") -> str:
    chats = home / ".gemini/tmp" / folder / "chats"
    chats.mkdir(parents=True, exist_ok=True)
    path = chats / f"session-2026-03-04T10-00-{name}.{ending}"
    path.write_text(json.dumps({"sessionId": name, "startTime": "2026-03-04T10:00:01.000Z", "kind": kind}) + "\n")
    os.utime(path, (START + changed, START + changed))
    return str(path)


def test_the_folder_by_its_given_name(tmp_path: Path, where: Callable[..., Where]) -> None:
    own = _write(tmp_path, "shop-2", "aaaaaaaa", 50)
    assert find("gemini", where()) is None
    (tmp_path / ".gemini/projects.json").write_text(
        json.dumps({"projects": {"/w/shop": "shop-2", "/w/other": "../.."}})
    )
    assert find("gemini", where()) == own
    assert find("gemini", where(cwd="/w/other")) is None
    (tmp_path / ".gemini/projects.json").unlink()
    (tmp_path / ".gemini/tmp/shop-2/.project_root").write_text("/w/shop")
    assert find("gemini", where()) == own
    assert find("gemini", where(home="/nowhere", environment={"GEMINI_CLI_HOME": str(tmp_path)})) == own


def test_the_folder_by_its_hash(tmp_path: Path, where: Callable[..., Where]) -> None:
    name = hashlib.sha256(b"/w/shop").hexdigest()
    _write(tmp_path, name, "bbbbbbbb", 55, kind="subagent")
    _write(tmp_path, name, "cccccccc", -50)
    own = _write(tmp_path, name, "aaaaaaaa", 50, ending="json")
    assert find("gemini", where()) == own
    other = _write(tmp_path, name, "dddddddd", 20)
    assert find("gemini", where(command=("gemini", "--session-id", "dddddddd-0000-4000-8000-000000000000"))) == other
