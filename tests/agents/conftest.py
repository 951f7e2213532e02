"""Transcripts as the agents write them, and what they say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from lamplighter.agents.formats.transcript import Transcript
from lamplighter.agents.formats.transcript_locator import Where
from lamplighter.agents.formats.transcript_pages import TOOL, TranscriptMessage, page
from tests.support.places import GOLDEN

START = 1772618400.0
"""When each of them began."""


@pytest.fixture
def golden(tmp_path: Path) -> Callable[[str], tuple[Path, dict[str, Any]]]:
    """A case as a file of this user's own (a checkout may be somebody else's), and what is expected of it."""

    def get(case: str) -> tuple[Path, dict[str, Any]]:
        source = next((GOLDEN / case).glob("[!e]*.json*"))
        return Path(shutil.copy(source, tmp_path)), json.loads((GOLDEN / case / "expected.json").read_text())

    return get


@pytest.fixture
def said() -> Callable[[Transcript | None], dict[str, Any]]:
    """A transcript as the golden files have it."""

    def plain(found: Transcript | None) -> dict[str, Any]:
        assert found is not None
        document = json.loads(json.dumps(asdict(found)))
        del document["path"], document["said"]
        return document

    return plain


@pytest.fixture
def where(tmp_path: Path) -> Callable[..., Where]:
    """A conversation in /w/shop, in the minute after START."""

    def make(**given: Any) -> Where:
        usual = {"home": str(tmp_path), "cwd": "/w/shop", "started_at": START - 1, "ended_at": START + 60}
        return Where(**{**usual, **given})

    return make


@pytest.fixture
def messages() -> Callable[..., list[TranscriptMessage]]:
    """What was said from a place on, without the tools."""

    def get(path: str, agent: str = "claude", start: int = 0) -> list[TranscriptMessage]:
        return [message for message in page(path, agent, start, 1 << 30).messages if message.role != TOOL]

    return get
