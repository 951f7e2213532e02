"""Codex: how its processes are recognised and it is started, where its transcripts are and what they say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
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
    Edited,
    Finished,
    MessageSaid,
    Planned,
    Step,
    Stopped,
    Used,
)
from lamplighter.agents.formats.fingerprints import UUID, Fingerprints, OnRecord, locked
from lamplighter.agents.formats.hooks import COMPACT, END, START, STOP, Hooks, usual, usual_answer
from lamplighter.agents.formats.jsonl import counts, listing, mapping, mappings, moment, words
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.screen_patterns import Box, Dialog, ScreenPatterns, from_line, last_said
from lamplighter.agents.formats.setup import ConfigEntry, McpServer, Setup, Site, usual_hooks, usual_servers
from lamplighter.agents.formats.shared_daemon import SharedDaemon
from lamplighter.agents.formats.transcript import Format
from lamplighter.agents.formats.transcript_locator import Candidate, LocatedTranscript, Where, asked, listed, open_files
from lamplighter.domain.agent_command import AgentCommand, Mode
from lamplighter.holder import proc

_PROGRAM = Program(
    name="codex",
    names=frozenset({"codex"}),
    packages=("@openai/codex",),
    marks=("CODEX_SESSION_ID", "CODEX_THREAD_ID"),
    inherited=("CODEX_CI", "CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_PACKAGE_ROOT", "CODEX_TOOL_CALL_ID", "CODEX_VERSION"),
)

_ID = re.compile(UUID)
_MOST_DAYS = 400
_MOST_LOOKED_AT = 200
_DAY = re.compile(r"\d{2}")
_YEAR = re.compile(r"\d{4}")
_KINDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "tool_search_call": "arguments",
}
_ABOUT = ("cmd", "command", "path", "query", "description")
_TOKENS = {"input": "input_tokens", "output": "output_tokens", "cached": "cached_input_tokens"}


def named(where: Where) -> LocatedTranscript | None:
    """What its process has open goes before all, when that is one of this folder's alone. What it starts comes after it, and may
    be another of its kind; a daemon that it started serves others too, and says nothing of it."""
    for pid in where.pids:
        if _FINGERPRINTS.is_daemon(proc.words_of(pid, 8192)):
            continue
        held = sorted(set(open_files(pid, f"{_sessions(where)}/")))
        own = [one for path in held if (one := _candidate(path, where.ended_at, where)) is not None]
        if own:
            if len(own) == 1:
                return LocatedTranscript(own[0].conversation, own[0].path, sure=True)
            break
    given = [word for word in where.command if _ID.fullmatch(word)] if "resume" in where.command else []
    given = [where.conversation] if where.conversation else given
    for path, _ in _recent(where) if given else ():
        if any(path.endswith(f"-{conversation}.jsonl") for conversation in given):
            return LocatedTranscript(name_of(path), path)
    return None


def candidates(where: Where) -> Iterator[Candidate]:
    for path, changed in _recent(where):
        if (found := _candidate(path, changed, where)) is not None:
            yield found


def _sessions(where: Where) -> str:
    return f"{where.named('CODEX_HOME') or where.own_home + '/.codex'}/sessions"


def _recent(where: Where) -> list[tuple[str, float]]:
    days = _days(_sessions(where))
    recent = [found for day in days for found in listed(day, "rollout-") if found[1] >= where.started_at - 2]
    return sorted(recent, key=lambda file: file[1], reverse=True)[:_MOST_LOOKED_AT]


def _days(sessions: str) -> Iterator[str]:
    """The newest first. One that was resumed is still in the folder of the day it began on."""
    passed = 0
    for year in _numbered(sessions, _YEAR):
        for month in _numbered(year, _DAY):
            for day in _numbered(month, _DAY):
                yield day
                passed += 1
                if passed >= _MOST_DAYS:
                    return


def _numbered(folder: str, form: re.Pattern[str]) -> list[str]:
    try:
        return [f"{folder}/{name}" for name in sorted(os.listdir(folder), reverse=True) if form.fullmatch(name)]
    except OSError:
        return []


def _candidate(path: str, changed: float, where: Where) -> Candidate | None:
    """None for one of another folder, and for a helper's own."""
    documents = jsonl.head_of(path) or []
    document = documents[0] if documents else {}
    meta = mapping(document.get("payload"))
    if words(meta.get("cwd")) not in where.folders or isinstance(meta.get("source"), dict):
        return None
    begun = moment(meta.get("timestamp")) or moment(document.get("timestamp")) or changed
    return Candidate(path, name_of(path), begun, changed, asked(documents, steps))


def name_of(path: str) -> str:
    return os.path.basename(path).removesuffix(".jsonl")[-36:]


def announced(document: dict[str, Any]) -> str:
    """The first event of `exec --json`."""
    return words(document.get("thread_id")) if document.get("type") == "thread.started" else ""


def recognises(document: dict[str, Any]) -> bool:
    return words(document.get("type")) in _KINDS and isinstance(document.get("payload"), dict)


def steps(document: dict[str, Any]) -> Iterator[Step]:
    payload, at = mapping(document.get("payload")), moment(document.get("timestamp"))
    match document.get("type"):
        case "session_meta":
            yield ConversationId(words(payload.get("id")))
        case "response_item":
            yield from _item(payload, at)
        case "event_msg":
            yield from _event(payload, at)
        case _:
            return


def _item(payload: dict[str, Any], at: float | None) -> Iterator[Step]:
    kind = words(payload.get("type"))
    if kind == "message":
        text = "\n".join(words(part.get("text")) for part in mappings(payload.get("content"))).strip()
        if payload.get("role") == ASSISTANT:
            yield MessageSaid(ASSISTANT, text, at, words(payload.get("id")) or None)
        elif payload.get("role") == USER and not text.startswith(("<", "# AGENTS.md")):
            # The program speaks as the user too; what a person said is known better from the events.
            yield MessageSaid(USER, text, at, hearsay=True)
    elif kind in _CALLS:
        yield from _call(payload, payload.get(_CALLS[kind]))
    elif kind.endswith("_output"):
        yield Finished(words(payload.get("call_id")))


def _call(payload: dict[str, Any], given: Any) -> Iterator[Step]:
    text = words(given)
    arguments = mapping(given) or jsonl.parse(text.encode()) or {}
    tool = words(payload.get("name")) or "shell"
    values = (arguments.get(key) for key in _ABOUT)
    about = next((shown for value in values if (shown := _shown(value))), "" if arguments else text)
    patch = next((value for value in map(_shown, arguments.values()) if "*** Begin Patch" in value), text)
    files = tuple(path.strip() for path in _PATCHED.findall(patch)) if "*** Begin Patch" in patch else ()
    yield Began(words(payload.get("call_id")) or words(payload.get("id")), tool, about[:2000], files)
    if tool == "update_plan":
        plan = mappings(arguments.get("plan"))
        yield Planned(tuple((words(step.get("step")), step.get("status") == "completed") for step in plan))


def _shown(value: Any) -> str:
    return words(value) or " ".join(words(part) for part in listing(value))


def _event(payload: dict[str, Any], at: float | None) -> Iterator[Step]:
    match payload.get("type"):
        case "user_message":
            yield MessageSaid(USER, words(payload.get("message")), at)
        case "agent_message":
            yield MessageSaid(ASSISTANT, words(payload.get("message")), at)
        case "item_completed":
            yield from _completed(mapping(payload.get("item")), at)
        case "task_complete" | "turn_aborted" | "turn_complete":
            yield MessageSaid(ASSISTANT, words(payload.get("last_agent_message")), at)
            yield Stopped("interrupted" if payload.get("type") == "turn_aborted" else "done")
        case "token_count":
            total = mapping(mapping(payload.get("info")).get("total_token_usage"))
            yield Used(counts(total, _TOKENS))
        case "patch_apply_end":
            if payload.get("success") is not False:
                yield Edited(tuple(words(path) for path in mapping(payload.get("changes"))))
        case _:
            return


def _completed(item: dict[str, Any], at: float | None) -> Iterator[Step]:
    text = "\n".join(words(part.get("text")) for part in mappings(item.get("content"))).strip()
    match item.get("type"):
        case "UserMessage":
            yield MessageSaid(USER, text, at, words(item.get("id")) or None)
        case "AgentMessage":
            yield MessageSaid(ASSISTANT, text, at, words(item.get("id")) or None)
        case "FileChange":
            changes = item.get("changes")
            paths = [words(path) for path in mapping(changes)] + [words(each.get("path")) for each in mappings(changes)]
            if item.get("status", "completed") == "completed":
                yield Edited(tuple(paths))
        case _:
            return


_TRANSCRIPTS = Format(
    "codex",
    named,
    candidates,
    name_of,
    announced,
    recognises,
    steps,
    again=frozenset({"resume", "fork"}),
    lazy=True,
    variable="CODEX_HOME",
)


# -- screens

_CLOSING = re.compile(r"^ +(?:Press enter to (?:confirm|continue)|enter (?:select|to submit|to confirm)\b)")
_BROWSED = re.compile(r"^ enter \w+ .*\besc exit\b")
_PAGED = re.compile(r"^ q (?:close|to quit)\b")
_INPUT = re.compile(r"›(?: (?!\d\. )|$)")
_SHELL = re.compile(r" +\$ ")
_BELOW_INPUT = 12


def _input_line(lines: Sequence[str]) -> Box | None:
    """No fences: it is followed by its own lines, an empty one, and up to two that say where it is."""
    for place in range(len(lines) - 1, max(0, len(lines) - _BELOW_INPUT) - 1, -1):
        if (found := _INPUT.match(lines[place])) is not None:
            below = lines[place + 1 :]
            typed = below[: below.index("")] if "" in below else below
            return Box(place, " ".join((lines[place][found.end() :], *typed)).strip())
        if lines[place] and not lines[place].startswith("  "):
            return None
    return None


def _shown_command(lines: Sequence[str], place: int) -> str:
    return from_line(lines, place, _SHELL)


_SCREENS = ScreenPatterns(
    tried="0.166.0",
    box=_input_line,
    placeholder=re.compile(r"Ask Codex to do anything"),
    busy=re.compile(r"\besc to interrupt\b"),
    busy_title=re.compile(r"[\u2801-\u28ff]"),
    turned=re.compile(r"^[•■✗] |^ +Worked for "),
    failed=last_said(
        re.compile(r"■ (?P<error>(?!Conversation interrupted).+)"),
        re.compile(r"[›•] "),
    ),
    retrying=re.compile(r"^[•◦] Reconnecting\.\.\. .*\n +└ (?P<error>.+)", re.MULTILINE),
    dialogs=(
        Dialog(re.compile(r"Do you trust the contents of this directory\?"), "trust in this folder", _CLOSING),
        Dialog(
            re.compile(r"Would you like to run the following command\?"),
            "permission to run: {about}",
            _CLOSING,
            _shown_command,
        ),
        Dialog(re.compile(r"Would you like to (?P<act>[^?]+)\?"), "permission to {act}", _CLOSING),
        Dialog(re.compile(r"^ *› (?:\d\. )?\S"), "an answer", _CLOSING),
        Dialog(re.compile(r"^ *› \S"), "an answer", _BROWSED, alone=True),
        Dialog(_PAGED, "somebody to close its pager", _PAGED, leaves="q", alone=True),
    ),
    leave="/quit",
    shell="!",
)

_ONE_TASK = ("--json", "--skip-git-repo-check")
_START = AgentCommand(
    agent="codex",
    program=("codex",),
    package="@openai/codex",
    terminal=Mode(resume=("resume", "{conversation}"), last=("resume", "--last"), prompt=("--", "{prompt}")),
    headless=Mode(
        new=("exec", *_ONE_TASK),
        resume=("exec", "resume", *_ONE_TASK, "{conversation}"),
        last=("exec", "resume", *_ONE_TASK, "--last"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    # With a setting of its own on the command line it does not use the daemon that all others share, running or not (seen with
    # 0.166.0); this one means nothing. features.daemon_auto_start=false makes it ask when that daemon runs, and --no-daemon
    # is an error in versions that do not know it.
    apart=("-c", 'projects./dev/null.trust_level="untrusted"'),
)

# -- what it leaves behind


def _registry(home: str, environment: Mapping[str, str]) -> Iterator[OnRecord]:
    """`thread-writer-locks/<id>.lock`: locked by whoever has the thread open, there and not locked when that was killed."""
    folder = f"{environment.get('CODEX_HOME') or f'{home}/.codex'}/thread-writer-locks"
    found = [path for path, _ in listed(folder, ending=".lock") if not os.path.basename(path).startswith(".")]
    holders = locked() if found else {}
    for path in found:
        try:
            inode = os.lstat(path).st_ino
        except OSError:
            continue
        yield OnRecord(path, os.path.basename(path).removesuffix(".lock"), holders.get(inode, 0), None)


_FINGERPRINTS = Fingerprints(
    agent="codex",
    options=("resume",),
    calls=("sessionId", "threadId"),
    registry=_registry,
    sessions=("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
    daemon=(("app-server", "--managed-daemon"), ("app-server", "daemon", "pid-update-loop")),
    variables=("CODEX_HOME",),
)


def _is_server(words: Sequence[str]) -> bool:
    return "--managed-daemon" in words and "--listen" in words


_ALONE = frozenset({"exec", "e", "app-server", "mcp-server", "archive", "unarchive"})
_KEEPS_APART = ("projects.", "model_reasoning_effort=")


def _may_use(words: Sequence[str]) -> bool:
    """Unless it is known to stay apart, as it was seen to with 0.166.0: told so, given a setting of a kind that was tried (one of
    its features is none of those), or doing a task and leaving."""
    given = words[_PROGRAM.length(words) :]
    options = given[: given.index("--")] if "--" in given else given
    apart = "--no-daemon" in options or any(setting.startswith(_KEEPS_APART) for setting in _settings(options))
    return not apart and not (given and given[0] in _ALONE)


def _settings(options: Sequence[str]) -> Iterator[str]:
    for place, word in enumerate(options[:-1]):
        if word in ("-c", "--config"):
            yield options[place + 1]
    yield from (word.removeprefix("--config=") for word in options if word.startswith("--config="))


def _stop_commands(conversation: str) -> tuple[tuple[str, ...], ...]:
    """To interrupt a turn leaves its command running; to put the conversation away does not, and it is taken back at once."""
    return (("archive", conversation),)


def _undo_commands(conversation: str) -> tuple[tuple[str, ...], ...]:
    return (("unarchive", conversation),)


_SHARED_DAEMON = SharedDaemon(
    "codex", _is_server, _may_use, _stop_commands, _undo_commands, words=("--managed-daemon", "--listen")
)

_ACP = AcpCommand(
    command=("codex-acp",),
    heeds_eof=False,
    logins={"OPENAI_API_KEY": "api-key", "CODEX_API_KEY": "api-key"},
)

_HOOKS = Hooks(
    agent="codex",
    names={START: "SessionStart", STOP: "Stop", COMPACT: "PreCompact", END: "SessionEnd"},
    limit=10_000,  # what is longer is cut in its middle
    read=usual,
    answer=usual_answer,
)


def _file(site: Site) -> str:
    return os.path.join(site.folder(".codex", "CODEX_HOME"), "config.toml")


def _servers(server: McpServer) -> dict[str, Any]:
    return usual_servers(server, "mcp_servers")


def _hooks(site: Site) -> list[ConfigEntry]:
    return usual_hooks(_HOOKS, os.path.join(site.folder(".codex", "CODEX_HOME"), "hooks.json"), site, 10)


_SETUP = Setup(
    _file,
    "~/.codex/config.toml",
    _servers,
    _hooks,
    "Codex runs no hook before you have trusted it, and says nothing of that: start codex, type /hooks, look at each of the "
    "four and trust it. Each time one changes, as when lamp moves, it asks for that again",
)


AGENT = Agent(
    name="codex",
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
