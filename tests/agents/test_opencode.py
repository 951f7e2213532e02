"""opencode's database: what its conversations say, read while it is written to and after its writer was killed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lamplighter.agents.formats.transcript import find, read
from lamplighter.agents.formats.transcript_locator import Where

_TABLES = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT,
  tokens_input INTEGER, tokens_output INTEGER, tokens_cache_read INTEGER, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
"""
# Writes the rows, says that they are there, and holds the database open, with its log beside it.
_WRITER = """
import json, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA journal_mode = WAL")
database.executescript(sys.argv[3])
for line in open(sys.argv[2]):
    row = json.loads(line)
    table = row.pop("table")
    values = [json.dumps(value) if isinstance(value, dict) else value for value in row.values()]
    database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", values)
database.commit()
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def writer(tmp_path: Path, golden: Callable[..., Any]) -> Iterator[subprocess.Popen[str]]:
    rows, _ = golden("opencode/killed")
    place = tmp_path / ".local/share/opencode/opencode.db"
    place.parent.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(place), str(rows), _TABLES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        yield process
        process.kill()


def _files(tmp_path: Path) -> dict[str, int]:
    folder = tmp_path / ".local/share/opencode"
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_while_it_is_open_and_after_its_writer_was_killed(
    tmp_path: Path,
    writer: subprocess.Popen[str],
    golden: Callable[..., Any],
    said: Callable[..., Any],
    where: Callable[..., Where],
) -> None:
    _, expected = golden("opencode/killed")
    assert (tmp_path / ".local/share/opencode/opencode.db-wal").stat().st_size > 0
    before = _files(tmp_path)
    path = find("opencode", where())
    assert path == f"{tmp_path}/.local/share/opencode/opencode.db#ses_000000000001"
    assert said(read(path)) == expected
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    assert said(read(path)) == expected
    assert said(read(path.partition("#")[0])) == expected
    assert _files(tmp_path) == before


def test_after_it_was_closed(
    tmp_path: Path,
    writer: subprocess.Popen[str],
    golden: Callable[..., Any],
    said: Callable[..., Any],
    where: Callable[..., Where],
) -> None:
    writer.communicate("")
    assert list(_files(tmp_path)) == ["opencode.db"]
    path = find("opencode", where())
    assert path is not None
    assert said(read(path)) == golden("opencode/killed")[1]
    assert find("opencode", where(cwd="/w/other")) is None
    assert find("opencode", where(started_at=1772618400.0 + 1e6, ended_at=1772618400.0 + 2e6)) is None
    assert read(f"{path}x") is None


def test_another_database_and_a_broken_one(tmp_path: Path, where: Callable[..., Where]) -> None:
    place = tmp_path / ".local/share/opencode/opencode.db"
    place.parent.mkdir(parents=True)
    for data in (b"", b"garbage" * 1000, b"SQLite format 3\0" + os.urandom(9000)):
        place.write_bytes(data)
        assert read(str(place)) is None
        assert find("opencode", where()) is None
    place.unlink()
    with closing(sqlite3.connect(place)) as database, database:
        database.execute("CREATE TABLE session (id TEXT)")
    assert read(str(place)) is None
    assert find("opencode", where()) is None


def test_rows_of_garbage(tmp_path: Path, where: Callable[..., Where]) -> None:
    place = tmp_path / "garbage.db"
    database = sqlite3.connect(place)
    database.executescript(_TABLES)
    database.execute(
        "INSERT INTO session (id, directory, time_created, time_updated) VALUES ('s', '/w/shop', 'x', x'00ff')"
    )
    for number, data in enumerate(("{", "[]", "null", b"\xff\xfe", None, 17, json.dumps({"role": 5}), "x" * 3_000_000)):
        database.execute("INSERT INTO message VALUES (?, 's', ?, 0, ?)", (f"m{number}", number, data))
        database.execute("INSERT INTO part VALUES (?, ?, 's', 0, 0, ?)", (f"p{number}", f"m{number}", data))
    database.commit()
    database.close()
    found = read(str(place))
    assert found is not None
    assert found.last_answer is None
