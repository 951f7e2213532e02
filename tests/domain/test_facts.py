"""What is kept of a session beside its columns: the documents that earlier releases wrote read the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lamplighter.domain.facts import Facts, ProcessKey

PLACE = {
    "socket": "/tmp/tmux-0/default",
    "name": "work",
    "named": False,
    "session": "$1",
    "pane": "%2",
    "relay": 7,
    "server": [3, 9],
}
OF_0_1_0: dict[str, dict[str, Any]] = {
    "started": {
        "awake_at": 12.5,
        "line": ["01", "operator"],
        "labels": ["nightly"],
        "discard": True,
        "told": {"by": "typed", "size": 4},
        "conversation": {"id": "c1", "path": None},
        "conversations": [{"id": "c1", "path": None, "at": 3.0}],
        "client": ["/work", "claude", "lamp", "mcp"],
        "talk": {"heeds_eof": False},
        "head": "",
        "tmux": PLACE,
    },
    "adopted": {
        "processes": [[5, 100], [6, 101]],
        "outer": [4],
        "terminal": "/dev/pts/3",
        "places": {"HOME": "/root"},
        "adopted": True,
    },
    "logical": {
        "lease": {"seconds": 60.0, "spoke": {"wall": 1.0, "awake": 2.0, "boot": "b"}},
        "teller": [5, 100],
        "told": {"agent_id": "a"},
    },
    "ended": {"output": 0, "last_output": 0.0, "last_input": 5.0, "adopter": [8, 1], "cgroup": True},
    "shared": {"shared_daemon": {"program": ["x"], "place": {"HOME": "/"}, "undo": [["x", "y"]]}},
}


@pytest.mark.parametrize("document", OF_0_1_0.values(), ids=OF_0_1_0)
def test_a_document_of_before_is_written_as_it_was_read(document: dict[str, Any]) -> None:
    assert json.loads(json.dumps(Facts.from_document(document).document())) == document


def test_each_fact_has_its_type() -> None:
    facts = Facts.from_document(OF_0_1_0["adopted"])
    assert facts.processes == (ProcessKey(5, 100), ProcessKey(6, 101))
    assert facts.outer == (4,)
    assert facts.lease is None
    assert facts.head is None
    lease = Facts.from_document(OF_0_1_0["logical"]).lease
    assert lease is not None
    assert lease.spoke.awake == 2.0


def test_what_another_release_wrote_is_kept_as_it_is() -> None:
    document = {"worktree": {"path": "/x"}, "line": ["01"]}
    facts = Facts.from_document(document)
    assert facts.line == ("01",)
    assert facts.others == {"worktree": {"path": "/x"}}
    assert json.loads(json.dumps(facts.document())) == document


def test_what_says_nothing_is_not_written() -> None:
    assert Facts.from_document({"adopter": None, "cgroup": False, "told": {}, "labels": []}).document() == {}
