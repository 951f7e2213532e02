"""A session's card is written while it is born; which processes it has, its birth file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.domain.states import Running
from lamplighter.engine.core.session_card import keep_card, read_card

STARTING = Session(
    id="x", name="work", kind=Kind.TASK, driver=Driver.TERMINAL, owner="operator", command=("cat",), cwd="/", created_at=1.0,
    boot="b",
)  # fmt: skip


def test_before_its_birth_it_is_starting(tmp_path: Path) -> None:
    keep_card(str(tmp_path), STARTING)
    (tmp_path / "birth.json").touch()  # under way
    assert read_card(str(tmp_path)) == STARTING


@pytest.mark.parametrize(("lost", "shim"), [(0, Process(7, 70)), (2, Process(0, 0))], ids=["its own", "another's"])
def test_once_it_is_born_it_runs(tmp_path: Path, lost: int, shim: Process) -> None:
    """A shim that took over is not taken for the first, or nobody would learn that the first was lost."""
    keep_card(str(tmp_path), STARTING)
    (tmp_path / "birth.json").write_text(json.dumps({"shim": [7, 70], "main": [8, 80], "lost": lost}))
    found = read_card(str(tmp_path))
    assert found is not None
    assert (found.state, found.shim, found.main) == (Running(), shim, Process(8, 80))
    assert found.started_at is not None
    assert found.started_at > STARTING.created_at
