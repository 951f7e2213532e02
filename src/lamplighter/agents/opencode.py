"""opencode: how its processes are recognised and it is started, where its conversations are and what they say.

They are rows of one SQLite database, which opencode may be writing to: it is opened to be read alone, and nothing in it is waited
for. A conversation in it is named by the database's path, `#`, and its id.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeVar
from urllib.parse import quote

from lamplighter import lazy_re as re
from lamplighter.agents.formats import jsonl
from lamplighter.agents.formats.acp import AcpCommand
from lamplighter.agents.formats.agent import Agent
from lamplighter.agents.formats.conversation import (
    ASSISTANT,
    USER,
    Began,
    ConversationId,
    Course,
    Edited,
    Finished,
    MessageSaid,
    Planned,
    Step,
    Stopped,
    Used,
)
from lamplighter.agents.formats.fingerprints import Fingerprints
from lamplighter.agents.formats.hooks import COMPACT, END, START, STOP, Hooks, usual
from lamplighter.agents.formats.jsonl import counts, first_words, listing, mapping, mappings, moment, words
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.screen_patterns import Box, Dialog, ScreenPatterns, from_line
from lamplighter.agents.formats.setup import ConfigEntry, McpServer, Setup, Site
from lamplighter.agents.formats.shared_daemon import SharedDaemon
from lamplighter.agents.formats.transcript import Format, Moved, Transcript, told
from lamplighter.agents.formats.transcript_locator import Candidate, LocatedTranscript, Where, after_option
from lamplighter.domain.agent_command import AgentCommand, Mode

_PROGRAM = Program(
    name="opencode",
    names=frozenset({"opencode"}),
    packages=("opencode-ai",),
    marks=("OPENCODE_PID",),
    inherited=("OPENCODE",),
)

T = TypeVar("T")

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
_FIRST = (
    "SELECT p.data FROM part p JOIN message m ON m.id = p.message_id WHERE p.session_id = ?"
    " AND json_extract(m.data, '$.role') = 'user' AND json_extract(p.data, '$.type') = 'text' ORDER BY p.rowid LIMIT 1"
)
_AFTER = (
    "SELECT p.rowid AS place, m.id AS message, m.data AS said, CASE WHEN length(p.data) <= ? THEN p.data END AS part,"
    " m.time_created AS at FROM part p JOIN message m ON m.id = p.message_id WHERE p.session_id = ? AND p.rowid > ?"
    " ORDER BY p.rowid"
)
_SESSION = "SELECT * FROM session WHERE id = ?"
_NEWEST = "SELECT * FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC LIMIT 1"
_END = "SELECT max(rowid) FROM part WHERE session_id = ?"
_LAST = "SELECT id, data, time_created FROM message WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT 20"


def _place(where: Where) -> str:
    return f"{where.named('XDG_DATA_HOME') or where.own_home + '/.local/share'}/opencode/opencode.db"


def named(where: Where) -> LocatedTranscript | None:
    given = where.conversation or after_option(where.command, "--session", "-s")
    return LocatedTranscript(given, f"{_place(where)}#{given}") if given and jsonl.is_own(_place(where)) else None


def candidates(where: Where) -> list[Candidate]:
    place, found = _place(where), list[Candidate]()

    def look(database: sqlite3.Connection) -> list[Candidate]:
        for cwd in where.folders:
            for row in database.execute(_CANDIDATES, (cwd, int((where.started_at - 2) * 1000))).fetchall():
                name, begun, changed = words(row["id"]), moment(row["time_created"]), moment(row["time_updated"])
                asked = next(iter(database.execute(_FIRST, (name,))), None)
                text = words(_document(asked["data"]).get("text")).strip() if asked else ""
                found.append(Candidate(f"{place}#{name}", name, begun or 0.0, changed or 0.0, text))
        return found

    return _asked_of(place, look) or []


def name_of(path: str) -> str:
    return path.rpartition("#")[2]


def announced(document: dict[str, Any]) -> str:
    """What each event of `run --format json` says."""
    return words(document.get("sessionID")) if "type" in document else ""


def read(path: str) -> Transcript | None:
    """None for anything but a database of opencode; without an id, the conversation that was spoken in last."""
    place, _, name = path.partition("#") if not os.path.exists(path) else (path, "", "")

    def look(database: sqlite3.Connection) -> Transcript | None:
        session = (database.execute(_SESSION, (name,)) if name else database.execute(_NEWEST)).fetchone()
        if session is None:
            return None
        course, at_least = _followed(database, dict(session))
        return told("opencode", f"{place}#{course.conversation}", course, at_least=at_least)

    return _asked_of(place, look)


def _followed(database: sqlite3.Connection, session: dict[str, Any]) -> tuple[Course, bool]:
    course = Course()
    course.follow([ConversationId(words(session.get("id")))])
    course.follow([Used(counts(session, _TOKENS))])
    seen: set[str] = set()
    for row in database.execute(_PARTS, (session.get("id"), _MOST_MESSAGES, _LONGEST_PART)):
        message, part = _document(row["said"]), _document(row["part"])
        seen.add(words(row["message"]))
        course.follow(_steps(words(row["message"]), message, part, moment(row["at"])))
    return course, len(seen) >= _MOST_MESSAGES


# -- going on from a row


def stream(path: str, start: int, ended: bool) -> Iterator[Moved]:
    """What was said after a row, up to the first row that is still being written. Rows of an agent that has ended stay as they
    are."""
    place, _, name = path.rpartition("#")

    def look(database: sqlite3.Connection) -> tuple[list[tuple[str, dict[str, Any]]], list[Any]]:
        last = [(words(row["id"]), _document(row["data"])) for row in database.execute(_LAST, (name,))]
        return last, database.execute(_AFTER, (_LONGEST_PART, name, start)).fetchall()

    last, rows = _asked_of(place, look) or ([], [])
    newest = next((message for message, said in last if said.get("role") == ASSISTANT), "")
    ends = {words(row["message"]): row["place"] for row in rows}
    for row in rows:
        message, said, part = words(row["message"]), _document(row["said"]), _document(row["part"])
        if not (ended or message != newest or _written(said, part)):
            return
        for step in _steps(message, said, part, moment(row["at"])):
            yield Moved(step, row["place"])
        if ends[message] == row["place"]:
            yield from (Moved(step, row["place"]) for step in _stop(said))
    if last and last[0][0] not in ends:  # it failed before it had said anything
        yield from (Moved(step, rows[-1]["place"] if rows else start) for step in _stop(last[0][1]))


def _written(said: dict[str, Any], part: dict[str, Any]) -> bool:
    if said.get("role") != ASSISTANT or mapping(said.get("time")).get("completed"):
        return True
    if part.get("type") == "text":
        return bool(mapping(part.get("time")).get("end"))
    return part.get("type") != "tool" or mapping(part.get("state")).get("status") != "pending"


def _stop(said: dict[str, Any]) -> Iterator[Step]:
    error = mapping(said.get("error"))
    if said.get("role") != ASSISTANT:
        return
    if error:
        words_of = words(mapping(error.get("data")).get("message"))
        interrupted = error.get("name") == "MessageAbortedError"
        yield Stopped("interrupted") if interrupted else Stopped("failed", words_of or words(error.get("name")))
    elif mapping(said.get("time")).get("completed") and said.get("finish") not in (None, "tool-calls", "unknown"):
        yield Stopped()


def tokens(path: str) -> dict[str, int]:
    """What the whole conversation has used so far, as its own row says."""
    place, _, name = path.rpartition("#")
    row = _asked_of(place, lambda database: database.execute(_SESSION, (name,)).fetchone())
    return {kind: number for kind, number in counts(dict(row or {}), _TOKENS).items() if number}


def end(path: str) -> int:
    place, _, name = path.rpartition("#")
    row = _asked_of(place, lambda database: database.execute(_END, (name,)).fetchone())
    return int(row[0] or 0) if row else 0


def _document(value: Any) -> dict[str, Any]:
    return jsonl.parse(value if isinstance(value, bytes) else words(value).encode()) or {}


def _steps(name: str, message: dict[str, Any], part: dict[str, Any], at: float | None) -> Iterator[Step]:
    role = USER if message.get("role") == USER else ASSISTANT
    if part.get("synthetic") or part.get("ignored"):  # put there by the program
        return
    yield MessageSaid(role, words(part.get("text")) if part.get("type") == "text" else "", at, name)
    if part.get("type") == "tool":
        yield from _tool(part)
    elif part.get("type") == "patch":
        yield Edited(tuple(words(path) for path in listing(part.get("files"))))


def _tool(part: dict[str, Any]) -> Iterator[Step]:
    tool, state, call = words(part.get("tool")), mapping(part.get("state")), words(part.get("callID"))
    given = mapping(state.get("input"))
    files = (words(given.get("filePath")),) if tool in _WRITING else ()
    yield Began(call, tool, first_words(given, _ABOUT), files)
    if tool == "todowrite":
        done = ("completed", "cancelled")
        yield Planned(
            tuple((words(todo.get("content")), todo.get("status") in done) for todo in mappings(given.get("todos")))
        )
    if state.get("status") not in ("running", "pending"):
        yield Finished(call, state.get("status") == "error")


def _asked_of(place: str, look: Callable[[sqlite3.Connection], T]) -> T | None:
    """What somebody finds in a database; None when there is none, or it does not answer."""
    database = _open(place)
    if database is None:
        return None
    with closing(database):
        try:
            return look(database)
        except sqlite3.Error:
            return None


def _open(place: str) -> sqlite3.Connection | None:
    """Read-only, and nothing is written beside it either."""
    file = jsonl.open_own(place)
    if file is None:
        return None
    with file:
        try:
            if file.read(len(_MAGIC)) != _MAGIC:
                return None
        except OSError:  # what looks like a file and cannot be read, as some of /proc
            return None
    # What was written last is still in a log beside the database; it is read through an index that only opencode may make.
    logged = jsonl.is_own(f"{place}-wal") and jsonl.is_own(f"{place}-shm")
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


_AGAIN = frozenset({"--continue", "-c", "--session", "-s"})
_TRANSCRIPTS = Format(
    "opencode",
    named,
    candidates,
    name_of,
    announced,
    _never,
    _nothing,
    read,
    stream,
    tokens,
    end,
    again=_AGAIN,
    variable="XDG_DATA_HOME",
)


# -- screens

_FOOT = re.compile(r" *╹▀{20}")
_EDGE = re.compile(r" *┃")
_MODE_LINES = 2  # in its box, below what is typed: an empty one, and which agent and model answer
_TURN = re.compile(r" +▣ ")
_BROKEN_OFF = re.compile(r" +▣ +[^·]+ · [^·]+$")
_TOOL = re.compile(r"[$#→←✱%⚙~⠀-⣿] ")
_CLOSING = re.compile(r"^ *┃ .*\b(?:enter con|enter submit|enter toggle|esc dismiss)")
_LIST = re.compile(r"^ .{3,}\S {6,}esc(?:/enter)?$")  # the head of a list that lies over the conversation
_SHELL = re.compile(r" *┃ +\$ ")
_ASKED = re.compile(r"^ *┃ +\W*")


def _input_line(lines: Sequence[str]) -> Box | None:
    if any(_LIST.match(line) for line in lines):
        return None
    end = next((place for place in range(len(lines) - 1, -1, -1) if _FOOT.match(lines[place])), 0)
    begin = end
    while begin and _EDGE.match(lines[begin - 1]):
        begin -= 1
    if end - begin < _MODE_LINES + 2 or any(_EDGE.match(line) for line in lines[end:]):
        return None
    return Box(begin, " ".join(_EDGE.sub("", line).strip() for line in lines[begin : end - _MODE_LINES]).strip())


def _failed(lines: Sequence[str]) -> str:
    """A block of its own above the line of a turn that says no time; the first block of a turn is what was asked."""
    end = next((place for place in range(len(lines) - 1, -1, -1) if _TURN.match(lines[place])), 0)
    if not end or not _BROKEN_OFF.match(lines[end]):
        return ""
    begin = next((place for place in range(end - 1, -1, -1) if _TURN.match(lines[place])), 0)
    blocks: list[list[str]] = [[]]
    for line in lines[begin:end]:
        if _EDGE.match(line):
            blocks[-1].append(_EDGE.sub("", line).strip())
        elif blocks[-1]:
            blocks.append([])
    found = [" ".join(block).strip() for block in blocks if block]
    return found[-1] if len(found) > 1 and not _TOOL.match(found[-1]) else ""


def _asked(lines: Sequence[str], place: int) -> str:
    return _ASKED.sub("", lines[place + 1]) if place + 1 < len(lines) else ""


def _shown_command(lines: Sequence[str], place: int) -> str:
    return from_line(lines, place, _SHELL)


_SCREENS = ScreenPatterns(
    tried="1.18.33",
    box=_input_line,
    placeholder=re.compile(r"Ask anything"),
    busy=re.compile(r"\besc (?:again to )?interrupt\b"),
    turned=re.compile(r"^ +▣ "),
    failed=_failed,
    retrying=re.compile(r"^ +[⬝■]+ +(?P<error>\S.*?) *\[retrying ", re.MULTILINE),
    dialogs=(
        Dialog(re.compile(r"^ *┃ +# Shell command$"), "permission to run: {about}", _CLOSING, _shown_command),
        Dialog(re.compile(r"△ Permission required$"), "permission: {about}", _CLOSING, _asked),
        Dialog(re.compile(r"^ *┃ {2}(?P<question>\S.*\?)$"), "an answer: {question}", _CLOSING),
        Dialog(re.compile(r"^ *┃ {2}\S"), "an answer", _CLOSING),
        Dialog(re.compile(r"^ {3,}(?P<title>\S.*?) {6,}esc(?:/enter)?$"), "an answer: {title}", re.compile(r"")),
    ),
    interrupt=("Escape", "Escape"),
)

_START = AgentCommand(
    agent="opencode",
    program=("opencode",),
    package="opencode-ai",
    terminal=Mode(
        resume=("--session", "{conversation}"),
        last=("--continue",),
        prompt=("--prompt={prompt}",),
        deaf_resumed=True,  # seen of 1.18: the prompt is for its first page, which is not shown then
    ),
    headless=Mode(
        new=("run", "--format", "json"),
        resume=("run", "--format", "json", "--session", "{conversation}"),
        last=("run", "--format", "json", "--continue"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
)

_FINGERPRINTS = Fingerprints(
    agent="opencode",
    pids=("OPENCODE_PID",),
    plain=("OPENCODE",),
    options=("--session", "-s"),
    anew=("--fork",),
    form=r"ses_[0-9A-Za-z]{1,100}",
)


def _is_server(words: Sequence[str]) -> bool:
    return "serve" in words[1:4]


def _may_use(words: Sequence[str]) -> bool:
    return bool({"attach", "--attach"} & {*words[1:]})


def _stop_commands(conversation: str) -> tuple[tuple[str, ...], ...]:
    """Its program has no word for it, and its server may want a password, which is not ours to use."""
    del conversation
    return ()


_SHARED_DAEMON = SharedDaemon("opencode", _is_server, _may_use, _stop_commands)

_ACP = AcpCommand(command=("opencode", "acp"))

_HOOKS = Hooks(  # by a plugin of ours, which says what others' hooks say and takes the context as it is
    agent="opencode",
    names={START: START, STOP: STOP, COMPACT: COMPACT, END: END},
    limit=10_000,
    read=usual,
    answer=str,
)


def _config(site: Site) -> str:
    """Its folder is in the user's configuration; in a project the file stands at its top."""
    if site.project is not None:
        return _existing(site.project)
    config = site.environment.get("XDG_CONFIG_HOME") or os.path.join(site.home, ".config")
    return _existing(os.path.join(config, "opencode"))


def _existing(folder: str) -> str:
    """It reads both; a user who has comments has the second."""
    commented = os.path.join(folder, "opencode.jsonc")
    return commented if os.path.exists(commented) else os.path.join(folder, "opencode.json")


def _servers(server: McpServer) -> dict[str, Any]:
    entry = {"type": "local", "command": [server.command, *server.arguments], "enabled": True}
    variables = {"environment": dict(server.environment)} if server.environment else {}
    return {"mcp": {server.name: entry | variables}}


def _plugin() -> str:
    with open(os.path.join(os.path.dirname(__file__), "opencode_plugin.js"), encoding="utf-8") as file:
        return file.read()


def _hooks(site: Site) -> list[ConfigEntry]:
    """As a plugin, which it loads from a folder: it has no hooks that are commands."""
    folder = os.path.join(site.project, ".opencode") if site.project else os.path.dirname(_config(site))
    words = {"command": json.dumps(list(site.command)), "variables": json.dumps(dict(site.variables))}
    return [ConfigEntry(os.path.join(folder, "plugins", "lamplighter.js"), (), _plugin() % words)]


_SETUP = Setup(_config, "~/.config/opencode/opencode.json, or opencode.json of a project", _servers, _hooks)


AGENT = Agent(
    name="opencode",
    program=_PROGRAM,
    start=_START,
    acp=_ACP,
    screens=_SCREENS,
    transcripts=_TRANSCRIPTS,
    hooks=_HOOKS,
    setup=_SETUP,
    fingerprints=_FINGERPRINTS,
    shared_daemon=_SHARED_DAEMON,
)
