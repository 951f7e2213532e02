"""Gemini CLI: how its processes are recognised and it is started, where its transcripts are and what they say.

A transcript is a log of changes: a message is written again, with the same id, whenever there is more in it, and `$rewindTo`
takes messages back. What `$set` puts in place of all messages is the model's memory, not what was said.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

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
    Finished,
    MessageSaid,
    Planned,
    Rewound,
    Step,
    Stopped,
    Used,
)
from lamplighter.agents.formats.fingerprints import Fingerprints
from lamplighter.agents.formats.hooks import COMPACT, END, START, STOP, Hooks, usual, usual_answer
from lamplighter.agents.formats.jsonl import counts, first_words, mapping, mappings, moment, words
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.screen_patterns import RULE, Box, Dialog, ScreenPatterns, fenced, last_said
from lamplighter.agents.formats.setup import ConfigEntry, Setup, Site, usual_hooks
from lamplighter.agents.formats.transcript import Format, Transcript, told
from lamplighter.agents.formats.transcript_locator import (
    Candidate,
    LocatedTranscript,
    Where,
    after_option,
    asked,
    listed,
)
from lamplighter.domain.agent_command import AgentCommand, Mode

_PROGRAM = Program(
    name="gemini",
    names=frozenset({"gemini"}),
    packages=("@google/gemini-cli",),
    marks=("GEMINI_CLI", "GEMINI_SESSION_ID"),
    inherited=("GEMINI_CLI_NO_RELAUNCH",),
)

_WRITING = frozenset({"write_file", "replace", "edit"})
_DONE = frozenset({"success", "error", "cancelled"})
_ABOUT = ("command", "file_path", "path", "pattern", "query", "url", "prompt", "description")
_NOT_A_REQUEST = ("<session_context>", "<system-reminder>", "<hook_context>", "This is the Gemini CLI.")
_TOKENS = {"input": "input", "output": "output", "cached": "cached"}


def named(where: Where) -> LocatedTranscript | None:
    given = where.conversation or after_option(where.command, "--session-id", "--resume", "-r") or ""
    if len(given) >= 8:
        for path, _ in _recent(where):
            if os.path.basename(path).partition(".")[0].endswith(f"-{given[:8]}"):
                return LocatedTranscript(name_of(path) or given, path)
    return None


def candidates(where: Where) -> Iterator[Candidate]:
    for path, changed in _recent(where):
        if (found := _candidate(path, changed)) is not None:
            yield found


def _recent(where: Where) -> list[tuple[str, float]]:
    root = f"{where.named('GEMINI_CLI_HOME') or where.own_home}/.gemini"
    recent: list[tuple[str, float]] = []
    for folder in _folders(root, where):
        recent += listed(f"{folder}/chats", "session-") + listed(f"{folder}/chats", "session-", ".json")
    return [found for found in recent if found[1] >= where.started_at - 2]


def _folders(root: str, where: Where) -> list[str]:
    """By the name that it has given the folder, written down in two places; by the folder's hash, as it was before."""
    names = [hashlib.sha256(os.fsencode(cwd)).hexdigest() for cwd in where.folders]
    given = mapping(jsonl.document_of(f"{root}/projects.json").get("projects"))
    names += [words(given.get(cwd)) for cwd in where.folders]
    try:
        names += [name for name in os.listdir(f"{root}/tmp")[:1000] if _root_of(f"{root}/tmp/{name}") in where.folders]
    except OSError:
        return []
    return [f"{root}/tmp/{name}" for name in dict.fromkeys(names) if name and "/" not in name and name != ".."]


def _root_of(folder: str) -> str:
    file = jsonl.open_own(f"{folder}/.project_root")
    if file is None:
        return ""
    with file:
        return file.read(4096).decode(errors="replace").strip()


def _candidate(path: str, changed: float) -> Candidate | None:
    documents = jsonl.head_of(path)
    if documents is None:
        return None
    if any(document.get("kind") == "subagent" for document in documents[:1]):
        return None
    begun = next((at for document in documents if (at := moment(document.get("startTime"))) is not None), changed)
    return Candidate(path, name_of(path), begun, changed, asked(documents, steps))


def name_of(path: str) -> str:
    """What its first entry says; the file's name has the beginning of it alone."""
    documents = jsonl.head_of(path)
    return words(documents[0].get("sessionId")) if documents else ""


def announced(document: dict[str, Any]) -> str:
    """The first event of `-o stream-json`."""
    return words(document.get("session_id")) if document.get("type") == "init" else ""


def recognises(document: dict[str, Any]) -> bool:
    if "projectHash" in document and "sessionId" in document:
        return True
    return "$set" in document or (document.get("type") == "gemini" and "content" in document)


def steps(document: dict[str, Any]) -> Iterator[Step]:
    changed = mapping(document.get("$set")) or document
    if words(changed.get("sessionId")):
        yield ConversationId(words(changed.get("sessionId")))
    if words(document.get("$rewindTo")):
        yield Rewound(words(document.get("$rewindTo")))
    at, name = moment(document.get("timestamp")), words(document.get("id")) or None
    match document.get("type"):
        case "user":
            text = _text(document.get("content"))
            if text and not text.startswith(_NOT_A_REQUEST):
                yield MessageSaid(USER, text, at, name)
        case "gemini":
            yield MessageSaid(ASSISTANT, _text(document.get("content")), at, name)
            tokens = mapping(document.get("tokens"))
            yield Used(counts(tokens, _TOKENS), name or "?")
            for call in mappings(document.get("toolCalls")):
                yield from _tool(call)
            if _text(document.get("content")) and not mappings(document.get("toolCalls")):
                yield Stopped(sure=False)  # its tools are written down when they are done
        case "info" | "error" as kind:
            if "cancelled" in _text(document.get("content")).lower():
                yield Stopped("interrupted")
            elif kind == "error":
                yield Stopped("failed", _text(document.get("content")), sure=False)
        case _:
            return


def _tool(call: dict[str, Any]) -> Iterator[Step]:
    tool, given, name = words(call.get("name")), mapping(call.get("args")), words(call.get("id"))
    files = (words(given.get("file_path")),) if tool in _WRITING else ()
    yield Began(name, tool, first_words(given, _ABOUT), files)
    if tool == "write_todos":
        todos = mappings(given.get("todos"))
        done = ("completed", "cancelled")
        yield Planned(tuple((words(todo.get("description")), todo.get("status") in done) for todo in todos))
    status = words(call.get("status"))
    if status in _DONE or (not status and call.get("result") is not None):
        yield Finished(name, status in ("error", "cancelled"))


def _text(content: Any) -> str:
    parts = [words(part.get("text")) for part in mappings(content)] or [words(mapping(content).get("text"))]
    return (words(content) or "\n".join(part for part in parts if part)).strip()


def read(path: str) -> Transcript | None:
    """The older form: one document with all messages in it. None for anything else."""
    if not path.endswith(".json"):
        return None
    document = jsonl.document_of(path, jsonl.TAIL)
    if "sessionId" not in document or not isinstance(document.get("messages"), list):
        return None
    course = Course()
    course.follow(steps({"sessionId": document["sessionId"]}))
    for message in mappings(document["messages"]):
        course.follow(steps(message))
    return told("gemini", path, course, at_least=False)


_AGAIN = frozenset({"--resume", "-r"})
_TRANSCRIPTS = Format(
    "gemini", named, candidates, name_of, announced, recognises, steps, read, again=_AGAIN, variable="GEMINI_CLI_HOME"
)


# -- screens

_TOP, _FOOT = re.compile(r"▄{20}"), re.compile(r"▀{20}")
_INPUT = re.compile(r" [>!*]")
_CONVERSATION = re.compile(r"^ ❯ #\d+ +│ ")
_CLOSING = re.compile(r"^ *╰─+╯$")
_LISTS, _LISTED = re.compile(r"^/|@\S*$"), re.compile(r" \S")
_FOOTER = re.compile(r" workspace \(/directory\)")


def _input_line(lines: Sequence[str]) -> Box | None:
    return fenced(lines, _TOP, _INPUT, _FOOT) or _padded(lines)


def _padded(lines: Sequence[str]) -> Box | None:
    """Where a terminal does not say that it has all colours: no fences, an empty line above and one below, and below that a list
    of commands or files, when such is typed."""
    foot = next((place for place in range(len(lines) - 1, 0, -1) if _FOOTER.match(lines[place])), 0)
    rule = next((place for place in range(foot - 1, -1, -1) if RULE.match(lines[place])), foot)
    begin = next((place for place in range(rule + 1, foot) if not lines[place]), foot)
    marked = _INPUT.match(lines[begin + 1]) if begin + 1 < foot else None
    if marked is None or any(_CLOSING.match(line) for line in lines[foot:]):
        return None
    end = next((place for place in range(foot - 1, begin, -1) if not lines[place]), begin)
    typed = " ".join((lines[begin + 1][marked.end() :], *lines[begin + 2 : end])).strip()
    listed = lines[end + 1 : foot]
    if end == begin or (listed and not (_LISTS.search(typed) and all(_LISTED.match(line) for line in listed))):
        return None
    return Box(begin, typed)


_SCREENS = ScreenPatterns(
    tried="0.61.0",
    box=_input_line,
    placeholder=re.compile(r"Type your message"),
    busy=re.compile(r"\(esc to cancel, |\besc to cancel\)"),
    busy_title=re.compile(r"✦"),
    asks_title=re.compile(r"✋"),
    turned=re.compile(r"^✦ |^ℹ Request cancelled|^[│ ] *[✓✕⊷-]  "),
    failed=last_said(
        re.compile(r"✕ (?P<error>\S.*)"),
        re.compile(r" > |✦ |[│ ] *[✓✕⊷-]  "),
    ),
    retrying=re.compile(r"(?P<error>Trying to reach .*? \(Attempt \d+/\d+\)|This is taking a bit longer)"),
    dialogs=(
        Dialog(re.compile(r"│ Do you trust the files in this folder\?"), "trust in this folder", _CLOSING, alone=True),
        Dialog(
            re.compile(r"^│ \? +Shell +(?P<command>\S.*?) *│$"), "permission to run: {command}", _CLOSING, alone=True
        ),
        Dialog(re.compile(r"^│ \? +(?P<tool>\S.*?) *│$"), "permission: {tool}", _CLOSING, alone=True),
        Dialog(re.compile(r"^│ (?P<question>\S.*\?) *│$"), "an answer: {question}", _CLOSING, alone=True),
        Dialog(re.compile(r"^ *│ +● +(?:\d+\. )?\S.*│$"), "an answer", _CLOSING, alone=True),
        Dialog(_CONVERSATION, "an answer", _CONVERSATION, alone=True),
    ),
    notice=re.compile(r"[⚠ℹ] "),
    leave="/quit",
)

# Without a person to trust the folder it would refuse to work there at all; what it may do in it is asked as ever.
_ONE_TASK = ("-o", "stream-json", "--skip-trust")
_START = AgentCommand(
    agent="gemini",
    program=("gemini",),
    package="@google/gemini-cli",
    terminal=Mode(
        new=("--session-id", "{conversation}"),
        resume=("--resume", "{conversation}"),
        last=("--resume", "latest"),
        prompt=("--prompt-interactive={prompt}",),
    ),
    headless=Mode(
        new=(*_ONE_TASK, "--session-id", "{conversation}"),
        resume=(*_ONE_TASK, "--resume", "{conversation}"),
        last=(*_ONE_TASK, "--resume", "latest"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    by_folder=True,
)

_FINGERPRINTS = Fingerprints(
    agent="gemini",
    options=("--session-id", "--resume", "-r"),
    sessions=("GEMINI_SESSION_ID",),
    plain=("GEMINI_CLI",),
    shell=re.compile(r"_bgpids_file=|shopt -u promptvars nullglob"),
)

_ACP = AcpCommand(command=("gemini", "--acp"), heeds_eof=False, logins={"GEMINI_API_KEY": "gemini-api-key"})


_HOOKS = Hooks(
    agent="gemini",
    names={START: "SessionStart", STOP: "AfterAgent", COMPACT: "PreCompress", END: "SessionEnd"},
    limit=10_000,
    read=usual,
    answer=usual_answer,
    compacts_from=200_000,  # it says so before each turn, whether it then compacts or not
)


def _settings(site: Site) -> str:
    root = os.path.join(site.folder("", "GEMINI_CLI_HOME"), ".gemini")
    return os.path.join(root, "settings.json")


def _hooks(site: Site) -> list[ConfigEntry]:
    return usual_hooks(_HOOKS, _settings(site), site, 10_000)


_SETUP = Setup(_settings, "~/.gemini/settings.json", hooks=_hooks)


AGENT = Agent(
    name="gemini",
    program=_PROGRAM,
    start=_START,
    acp=_ACP,
    screens=_SCREENS,
    transcripts=_TRANSCRIPTS,
    hooks=_HOOKS,
    setup=_SETUP,
    fingerprints=_FINGERPRINTS,
)
