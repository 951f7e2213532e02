"""The commands about records: what is printed, where, and with which exit status."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamplighter.frontends.cli.display.blocks import plain_lines
from lamplighter.frontends.cli.parser import completion
from lamplighter.frontends.cli.views import records as views
from tests.support.engine import Engine

pytestmark = pytest.mark.shared

Lamp = Callable[..., subprocess.CompletedProcess[str]]


def said(done: subprocess.CompletedProcess[str], status: int = 0) -> str:
    assert done.returncode == status, done
    return done.stdout


def test_what_is_remembered_is_recalled_listed_and_closed(lamp: Lamp, tmp_path: Path) -> None:
    (tmp_path / "dates.py").write_text("x")

    def here(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return lamp(*words, cwd=tmp_path, **options)

    first = said(here("remember", "dates stay", "strings", "--type", "decision", "--file", "dates.py"))
    identifier = first.split()[1]
    assert first == f"remembered {identifier} decision, {tmp_path.name}: dates stay strings\n"
    assert said(here("remember", "--type", "decision", "dates stay strings")).startswith(f"known already {identifier} ")
    piped = here("remember", "-", "--global", input="two\nlines <private>and more</private>")
    assert "note, everywhere: two lines" in said(piped)
    assert piped.stderr == "1 private passage not stored\n"

    found = said(here("recall", "what", "was", "the", "string", "of", "a", "date")).splitlines()
    assert found[0].split() == ["ID", "TYPE", "AGE", "PROJECT", "STATE", "CONTENT"]
    assert found[1].split()[:2] == [identifier, "decision"]
    assert found[1].endswith("active  dates stay strings")
    assert len(found) == 2
    assert "lamp recall --all" in said(here("recall", "unheard-of"))
    assert len(said(here("records")).splitlines()) == 3
    assert len(said(here("records", "--limit", "1")).splitlines()) == 3  # the last says that there are more
    assert json.loads(said(here("records", "--type", "decision", "--json")))["records"][0]["files"] == ["dates.py"]

    changed = said(here("supersede", identifier, "--type", "constraint", "dates", "have", "zones"))
    new = changed.split()[3]
    assert changed == f"superseded {identifier} by {new} constraint, {tmp_path.name}: dates have zones\n"
    assert said(here("resolve", new[:10], "--why", "done")).startswith(f"resolved {new} constraint")
    assert said(here("forget", identifier, new)).count("forgotten") == 2
    assert said(here("forget", "--hard", identifier)) == f"forgotten for good {identifier}\n"
    assert identifier not in said(here("records", "--state", "all"))


def test_errors_teach(lamp: Lamp) -> None:
    for words, status, told in (
        (("recall", " "), 2, "lamp records"),
        (("recall",), 2, "recall needs QUERY"),
        (("remember",), 2, "remember needs TEXT"),
        (("remember", "x", "--type", "opinion"), 2, "it is one of"),
        (("records", "--type", "opinion"), 2, "it is one of"),
        (("resolve",), 2, "resolve needs ID…"),
        (("resolve", "rnope"), 4, "lamp recall"),
        (("supersede", "rnope"), 2, "supersede needs TEXT"),
        (("records", "--project", "nope"), 4, "no project is called"),
        (("records", "--all", "--global"), 2, "exclude each other"),
        (("import", "/no/such"), 2, "cannot be read"),
    ):
        done = lamp(*words)
        assert done.returncode == status, (words, done)
        assert told in done.stderr, (words, done)


def test_an_export_goes_through_a_pipe(lamp: Lamp) -> None:
    for number in range(3):
        said(lamp("remember", "--project", "shop", f"number {number}"))
    text = said(lamp("export"))
    assert [json.loads(line)["kind"] for line in text.splitlines()] == ["project", "record", "record", "record"]
    assert (
        said(lamp("import", "-", input=text)) == "imported 0 records, 0 hand-offs, 0 projects; 4 lines known already\n"
    )
    wrong = lamp("import", "-", input=text + "{}\n")
    assert wrong.returncode == 2
    assert "line 5 of '-'" in wrong.stderr


def test_more_records_than_one_page_are_exported_once(lit: Engine) -> None:
    for part in range(5):
        wanted = [{"content": f"number {part} {number}"} for number in range(100)]
        lit.call("store_records", project="shop", records=wanted)
    lines = said(lit.cli("export")).splitlines()
    assert len(lines) == len(set(lines)) == 501


def test_ids_of_records_are_completed(lit: Engine, monkeypatch: Any) -> None:
    monkeypatch.setenv("LAMPLIGHTER_HOME", str(lit.folder))
    (record,) = lit.call("store_records", everywhere=True, records=[{"content": "number\none"}])["records"]
    for words in (["resolve", ""], ["forget", record["id"], ""], ["supersede", "r"]):
        assert completion.find(words) == [(record["id"], "note: number one")]


def test_what_is_stored_cannot_act_on_a_terminal(lit: Engine) -> None:
    hostile = "\x1b[2J\u202e gone \x07"
    lit.call("store_records", everywhere=True, records=[{"content": hostile}])
    text = said(lit.cli("records"))
    assert "\\x1b[2J" in text
    assert not set(text) & set("\x1b\x07\u202e")


def test_the_list_says_what_is_inferred_carried_and_stale() -> None:
    record = {
        "id": "r1", "type": "open_loop", "created_at": "2026-01-01T00:00:00.000Z", "project_name": None, "state": "active",
        "content": "who owns it?", "stale": ["src/a.py has changed since"], "source": "inferred", "carried": 6,
    }  # fmt: skip
    text = "\n".join(plain_lines(views.listed({"records": [record], "total": 1, "project_name": None})))
    assert "open_loop, inferred, carried 6 times" in text
    assert "who owns it? (src/a.py has changed since)" in text
