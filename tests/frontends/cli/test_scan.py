"""What `lamp scan` prints: the sum first, each leak with its reasons, the next command; nothing that acts on a terminal."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from lamplighter.frontends.cli.display.blocks import plain_lines
from lamplighter.frontends.cli.views.scan import scanned


def leak(**more: Any) -> dict[str, Any]:
    process = {"pid": 7, "start": 1, "kind": "tool shell", "command": f"{os.path.expanduser('~')}/x\x1b[2J", "memory": 1 << 20,
               "since": datetime.now(UTC).isoformat()}  # fmt: skip
    return {
        "id": "leak-1", "name": "claude 0a", "certainty": "certain", "memory": 1 << 20, "processes": [process],
        "why": ["its parent is gone", "nobody can read what it prints", "but it waits for clients"], "files": [], **more,
    }  # fmt: skip


def result(*leaks: dict[str, Any], agents: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    count = sum(len(one["processes"]) for one in leaks)
    sums = {"processes": count, "sessions": 1, "memory": count << 20, "certain": count, "likely": 0}
    return {"leaks": list(leaks), "agents": list(agents), "seen": 40, "sums": sums, "asked": None}


def test_the_sum_the_reasons_and_the_next_command() -> None:
    lines = list(plain_lines(scanned(result(leak()))))
    assert lines[0].startswith("1 process of 1 dead session holds 1.0 MB")
    text = "\n".join(lines)
    assert (
        "because its parent is gone\n                nobody can read what it prints\n        but it waits for clients"
        in text
    )
    assert "~/x\\x1b[2J" in text
    assert "\x1b" not in text
    assert "lamp cleanup --leaks" in lines[-1]


def test_nothing_left_says_so_and_suggests_nothing() -> None:
    assert list(plain_lines(scanned(result()))) == ["nothing was left behind among 40 processes"]


def test_an_agent_that_nobody_manages_can_be_adopted_by_its_pid() -> None:
    agent = {"pid": 9, "start": 1, "agent": "codex", "tmux": None, "terminal": True, "processes": 2, "memory": 1 << 20,
             "since": datetime.now(UTC).isoformat(), "cwd": "/srv"}  # fmt: skip
    lines = list(plain_lines(scanned(result(agents=(agent,)))))
    assert any("codex, 2 processes, 1.0 MB, at a terminal, /srv" in line for line in lines)
    assert lines[-1] == "to manage one: lamp adopt 9"
