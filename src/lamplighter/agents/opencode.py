"""opencode: how its processes are recognised and it is started, where its conversations are and what they say.

They are rows of one SQLite database, which opencode may be writing to: it is opened to be read alone, and nothing in it is waited
for. A conversation in it is named by the database's path, `#`, and its id.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

from lamplighter.agents import journal
from lamplighter.agents.conversation import (
    ASSISTANT,
    USER,
    Began,
    Course,
    Edited,
    Finished,
    Named,
    Planned,
    Said,
    Step,
    Used,
)
from lamplighter.agents.journal import count, listing, mapping, mappings, moment, words
from lamplighter.agents.program import Program
from lamplighter.agents.traces import Traces
from lamplighter.agents.transcript import Candidate, Format, Transcript, Where, after_option, chosen, told
from lamplighter.domain.manner import Manner, Way

PROGRAM = Program(
    name="opencode",
    names=frozenset({"opencode"}),
    packages=("opencode-ai",),
    marks=("OPENCODE_PID",),
)

_MAGIC = b"SQLite format 3\0"
_SECONDS = 1.0
_MOST_MESSAGES = 5000
_LONGEST_PART = 1 << 20
_WRITING = frozenset({"edit", "write", "multiedit", "patch", "apply_patch"})
_ABOUT = ("command", "filePath", "pattern", "url", "query", "description", "prompt")
_TOKENS = {"input": "tokens_input", "output": "tokens_output", "cached": "tokens_cache_read"}
_CANDIDATES = (
    "SELECT id, time_created, time_updated FROM session WHERE directory = ? AND parent_id IS NULL"
    " AND time_updated >= ? ORDER BY time_updated DESC LIMIT 100"
)
_PARTS = (
    "SELECT m.id AS message, m.data AS said, p.data AS part, m.time_created AS at FROM"
    " (SELECT id, data, time_created FROM message WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT ?) m"
    " LEFT JOIN part p ON p.message_id = m.id AND length(p.data) <= ? ORDER BY m.time_created, m.id, p.id"
)


def find(where: Where) -> str | None:
    place = f"{where.named('XDG_DATA_HOME') or where.own_home + '/.local/share'}/opencode/opencode.db"
    database = _open(place)
    if database is None:
        return None
    named = where.conversation or after_option(where.command, "--session", "-s")
    if named:
        return f"{place}#{named}"
    found: list[Candidate] = []
    with closing(database):
        try:
            for cwd in where.folders:
                for row in database.execute(_CANDIDATES, (cwd, int((where.started_at - 2) * 1000))):
                    begun, changed = moment(row["time_created"]), moment(row["time_updated"])
                    found.append(Candidate(f"{place}#{row['id']}", begun or 0.0, changed or 0.0))
        except sqlite3.Error:
            return None
    return chosen(found, where)


def read(path: str) -> Transcript | None:
    """None for anything but a database of opencode; without an id, the conversation that was spoken in last."""
    place, _, name = path.partition("#") if not os.path.exists(path) else (path, "", "")
    database = _open(place)
    if database is None:
        return None
    with closing(database):
        try:
            newest = "SELECT * FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC LIMIT 1"
            chosen_row = (
                database.execute("SELECT * FROM session WHERE id = ?", (name,)) if name else database.execute(newest)
            )
            session = chosen_row.fetchone()
            if session is None:
                return None
            course, at_least = _followed(database, dict(session))
        except sqlite3.Error:
            return None
    return told("opencode", f"{place}#{course.conversation}", course, at_least=at_least)


def _followed(database: sqlite3.Connection, session: dict[str, Any]) -> tuple[Course, bool]:
    course = Course()
    course.follow([Named(words(session.get("id")))])
    course.follow([Used({kind: count(session.get(column)) for kind, column in _TOKENS.items()})])
    seen: set[str] = set()
    for row in database.execute(_PARTS, (session.get("id"), _MOST_MESSAGES, _LONGEST_PART)):
        message, part = _document(row["said"]), _document(row["part"])
        seen.add(words(row["message"]))
        course.follow(_steps(words(row["message"]), message, part, moment(row["at"])))
    return course, len(seen) >= _MOST_MESSAGES


def _document(value: Any) -> dict[str, Any]:
    return journal.parse(value if isinstance(value, bytes) else words(value).encode()) or {}


def _steps(name: str, message: dict[str, Any], part: dict[str, Any], at: float | None) -> Iterator[Step]:
    role = USER if message.get("role") == USER else ASSISTANT
    if part.get("synthetic") or part.get("ignored"):  # put there by the program
        return
    yield Said(role, words(part.get("text")) if part.get("type") == "text" else "", at, name)
    if part.get("type") == "tool":
        yield from _tool(part)
    elif part.get("type") == "patch":
        yield Edited(tuple(words(path) for path in listing(part.get("files"))))


def _tool(part: dict[str, Any]) -> Iterator[Step]:
    tool, state, call = words(part.get("tool")), mapping(part.get("state")), words(part.get("callID"))
    given = mapping(state.get("input"))
    files = (words(given.get("filePath")),) if tool in _WRITING else ()
    yield Began(call, tool, next((words(given[key]) for key in _ABOUT if words(given.get(key))), ""), files)
    if tool == "todowrite":
        done = ("completed", "cancelled")
        yield Planned(
            tuple((words(todo.get("content")), todo.get("status") in done) for todo in mappings(given.get("todos")))
        )
    if state.get("status") not in ("running", "pending"):
        yield Finished(call, state.get("status") == "error")


def _open(place: str) -> sqlite3.Connection | None:
    """Read-only, and nothing is written beside it either."""
    file = journal.open_own(place)
    if file is None:
        return None
    with file:
        try:
            if file.read(len(_MAGIC)) != _MAGIC:
                return None
        except OSError:  # what looks like a file and cannot be read, as some of /proc
            return None
    # What was written last is still in a log beside the database; it is read through an index that only opencode may make.
    logged = journal.is_own(f"{place}-wal") and journal.is_own(f"{place}-shm")
    for options in (*(("readonly_shm=1",) if logged else ()), "immutable=1"):
        database = _connected(f"file:{quote(os.path.abspath(place))}?mode=ro&{options}")
        if database is not None:
            return database
    return None


def _connected(address: str) -> sqlite3.Connection | None:
    try:
        database = sqlite3.connect(address, uri=True, timeout=0.2)
    except sqlite3.Error:
        return None
    database.row_factory = sqlite3.Row
    until = time.monotonic() + _SECONDS
    database.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    try:
        database.execute("SELECT id FROM session LIMIT 1").fetchone()
    except sqlite3.Error:
        database.close()
        return None
    return database


def _never(_: dict[str, Any]) -> bool:
    return False


def _nothing(_: dict[str, Any]) -> Iterator[Step]:
    return iter(())


TRANSCRIPTS = Format("opencode", find, _never, _nothing, read)

STARTING = Manner(
    agent="opencode",
    program=("opencode",),
    package="opencode-ai",
    terminal=Way(resume=("--session", "{conversation}"), last=("--continue",), prompt=("--prompt={prompt}",)),
    headless=Way(
        new=("run", "--format", "json"),
        resume=("run", "--format", "json", "--session", "{conversation}"),
        last=("run", "--format", "json", "--continue"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
)

TRACES = Traces(agent="opencode", pids=("OPENCODE_PID",), plain=("OPENCODE",))
