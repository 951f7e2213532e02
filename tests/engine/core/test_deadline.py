"""A disk that never answers costs a thread, and nobody's time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lamplighter.domain.memory.record import NO_EVIDENCE, CitedFile, RecordEvidence
from lamplighter.engine.core.deadline import answered
from lamplighter.engine.repo import evidence
from tests.support.processes import wait_until


def test_what_is_found_or_goes_wrong_comes_back() -> None:
    assert answered("/here", lambda: 5, 10.0) == 5
    with pytest.raises(ValueError, match="no"):
        answered("/here", lambda: int("no"), 10.0)


def test_where_something_hangs_nothing_else_is_begun_until_it_comes_back() -> None:
    gate = threading.Event()
    with pytest.raises(TimeoutError):
        answered("/hangs", gate.wait, 0.01)
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        answered("/hangs", lambda: 5, 60.0)
    assert time.monotonic() - begun < 120
    assert answered("/elsewhere", lambda: 5, 10.0) == 5
    gate.set()

    def back() -> bool:
        try:
            return answered("/hangs", lambda: True, 10.0)
        except TimeoutError:
            return False

    assert wait_until(back)


def nothing_cited(folder: str) -> bool:
    return evidence.cite_all(folder, ["see a.py"]) == [NO_EVIDENCE]


def nothing_stale(folder: str) -> bool:
    return evidence.stale_all([RecordEvidence(folder, (CitedFile("a.py", "x"),))]) == [[]]


@pytest.mark.parametrize("ask", [nothing_cited, nothing_stale])
def test_of_a_folder_that_hangs_nothing_is_claimed(
    ask: Callable[[str], bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    real = os.path.isdir

    def hang(path: str) -> bool:
        return real(path) if path != str(tmp_path) else gate.wait()

    monkeypatch.setattr(evidence, "DEADLINE", 0.05)
    monkeypatch.setattr(os.path, "isdir", hang)
    assert ask(str(tmp_path))
    assert ask(str(tmp_path))  # and nobody waits a second time
    gate.set()
