"""Claude Code: how its processes are recognised and it is started, where its transcripts are and what they say."""

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
    Task,
    Used,
    shortened,
)
from lamplighter.agents.formats.fingerprints import UUID, Fingerprints, OnRecord, here
from lamplighter.agents.formats.hooks import COMPACT, END, START, STOP, Hooks, usual, usual_answer
from lamplighter.agents.formats.jsonl import count, counts, first_words, listing, mapping, mappings, moment, words
from lamplighter.agents.formats.program import Program
from lamplighter.agents.formats.screen_patterns import RULE, Box, Dialog, ScreenPatterns, fenced, from_line, last_said
from lamplighter.agents.formats.setup import ConfigEntry, McpServer, Setup, Site, usual_hooks, usual_servers
from lamplighter.agents.formats.shared_daemon import SharedDaemon
from lamplighter.agents.formats.transcript import Format
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
    name="claude",
    names=frozenset(
        {"claude", "claude bg-spare", "claude-code"}
    ),  # the second: what its daemon's workers call themselves
    packages=("@anthropic-ai/claude-code",),
    marks=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    inherited=(
        "AI_AGENT",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_EFFORT",
        "CLAUDE_PID",
    ),
)

_ID = re.compile(UUID)
_LONGEST_FOLDER = 200
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_COMMAND = re.compile(r"<command-name>\s*(/[^<]*?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
# What the program itself writes in the name of the user.
_NOT_A_REQUEST = re.compile(
    r"\[Request interrupted by user|Caveat: The messages below|This session is being continued from a previous|<(?:local-command-"
    r"|bash-(?:input|stdout|stderr)|task-notification|user-prompt-submit-hook|teammate-message|command-message|ide_)"
)
_INTERRUPTED = "[Request interrupted by user"
# Commands to the program, not to the model.
_HOUSEKEEPING = frozenset(
    f"/{name}"
    for name in (
        "agents", "clear", "compact", "config", "context", "cost", "doctor", "effort", "exit", "export", "help", "hooks", "login",
        "logout", "mcp", "memory", "model", "permissions", "quit", "rename", "resume", "rewind", "status", "theme",
        "usage", "vim",
    )
)  # fmt: skip
_WRITING = {"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_ABOUT = ("command", "file_path", "notebook_path", "pattern", "url", "query", "description", "prompt")
_TOKENS = {"input": "input_tokens", "output": "output_tokens", "cached": "cache_read_input_tokens",
           "cache_written": "cache_creation_input_tokens"}  # fmt: skip


def named(where: Where) -> LocatedTranscript | None:
    """What the process itself says goes before all: `/clear` and `/resume` put it into another conversation."""
    now = next((found for pid in where.pids if (found := _of_process(pid, where))), None)
    given = [now, where.conversation]
    if "--fork-session" not in where.command:
        given += [after_option(where.command, "--session-id"), after_option(where.command, "--resume", "-r")]
    for conversation in given:
        if conversation and _ID.fullmatch(conversation):
            paths = (f"{folder}/{conversation}.jsonl" for folder in _places(where))
            path = next((path for path in paths if os.path.isfile(path)), None)
            if path or conversation == now:
                return LocatedTranscript(conversation, path, conversation == now)
    return None


def candidates(where: Where) -> Iterator[Candidate]:
    for folder in _places(where):
        for path, changed in listed(folder):
            if changed >= where.started_at - 2 and (found := _candidate(path, changed, where)) is not None:
                yield found


def _roots(where: Where) -> list[str]:
    return [where.named("CLAUDE_CONFIG_DIR") or f"{where.own_home}/.claude", f"{where.own_home}/.config/claude"]


def _places(where: Where) -> list[str]:
    return [place for root in _roots(where) for cwd in where.folders for place in _folders(f"{root}/projects", cwd)]


def _folders(projects: str, cwd: str) -> list[str]:
    """Named after the project's folder; long names are cut and made unique by something that we do not know."""
    name = re.sub(r"[^a-zA-Z0-9]", "-", cwd)
    if len(name) <= _LONGEST_FOLDER:
        return [f"{projects}/{name}"]
    try:
        found = os.listdir(projects)
    except OSError:
        return []
    return [f"{projects}/{each}" for each in found if each.startswith(name[:_LONGEST_FOLDER])]


def _of_process(pid: int, where: Where) -> str | None:
    """Which conversation its process is in, or was in when it was killed. One from before the session, or with another start
    time, is of another process that had this number."""
    file = jsonl.open_own(f"{_roots(where)[0]}/sessions/{pid}.json")
    if file is None:
        return None
    with file:
        if os.fstat(file.fileno()).st_mtime < where.started_at - 2:
            return None
        said = jsonl.parse(file.read(jsonl.HEAD)) or {}
    start, known = str(said.get("procStart", "")), where.starts.get(pid)
    if known is not None and jsonl.number(start) not in (None, known):
        return None
    return words(said.get("sessionId")) if words(said.get("cwd")) in where.folders else None


def _candidate(path: str, changed: float, where: Where) -> Candidate | None:
    """None for one of another folder whose name is written the same."""
    documents = jsonl.head_of(path)
    if documents is None:
        return None
    folder = next((words(document["cwd"]) for document in documents if document.get("cwd")), where.cwd)
    begun = next((at for document in documents if (at := moment(document.get("timestamp"))) is not None), changed)
    if folder not in where.folders:
        return None
    return Candidate(path, name_of(path), begun, changed, asked(documents, steps))


def name_of(path: str) -> str:
    return os.path.basename(path).removesuffix(".jsonl")


def announced(document: dict[str, Any]) -> str:
    """What its stream-json output says on each line."""
    return words(document.get("session_id")) if words(document.get("type")) in ("system", "assistant", "result") else ""


def recognises(document: dict[str, Any]) -> bool:
    if document.get("type") in ("user", "assistant", "attachment", "system", "summary"):
        return "parentUuid" in document or "leafUuid" in document
    return "sessionId" in document and document.get("type") in (
        "mode",
        "permission-mode",
        "queue-operation",
        "last-prompt",
    )


def steps(document: dict[str, Any]) -> Iterator[Step]:
    if words(document.get("sessionId")):
        yield ConversationId(words(document.get("sessionId")))
    match document.get("type"):
        case "assistant":
            yield from _assistant(document)
        case "user":
            yield from _user(document)
        case "attachment":
            attachment = mapping(document.get("attachment"))
            if attachment.get("type") == "queued_command" and not document.get("isSidechain"):
                yield from _request(words(attachment.get("prompt")), document)
        case "last-prompt":
            yield MessageSaid(USER, words(document.get("lastPrompt")), hearsay=True)
        case _:
            return


def _assistant(document: dict[str, Any]) -> Iterator[Step]:
    message = mapping(document.get("message"))
    aside = bool(document.get("isSidechain"))  # a helper's conversation: what it wrote counts, what it said does not
    blocks = mappings(message.get("content"))
    name = words(message.get("id")) or words(document.get("uuid"))
    if not aside and not document.get("isApiErrorMessage"):
        text = "\n".join(words(block.get("text")) for block in blocks if block.get("type") == "text")
        yield MessageSaid(ASSISTANT, text, moment(document.get("timestamp")), name)
    usage = mapping(message.get("usage"))
    yield Used(counts(usage, _TOKENS), name)
    for block in blocks:
        if block.get("type") == "tool_use":
            yield from _tool(block, aside)
    if not aside:
        yield from _stop(document, message, blocks)


def _stop(document: dict[str, Any], message: dict[str, Any], blocks: list[dict[str, Any]]) -> Iterator[Step]:
    """Each block of a message is written by itself; the one with the text is the last of a turn."""
    text = "\n".join(words(block.get("text")) for block in blocks if block.get("type") == "text")
    reason = message.get("stop_reason")
    if document.get("isApiErrorMessage"):
        yield Stopped("failed", text)
    elif text and reason != "tool_use" and not any(block.get("type") == "tool_use" for block in blocks):
        yield Stopped(sure=reason is not None)


def _tool(block: dict[str, Any], aside: bool) -> Iterator[Step]:
    tool, given = words(block.get("name")), mapping(block.get("input"))
    files = (words(given.get(_WRITING[tool])),) if tool in _WRITING else ()
    if aside:
        yield Edited(files)
        return
    yield Began(words(block.get("id")), tool, first_words(given, _ABOUT), files)
    if tool == "TodoWrite":
        todos = mappings(given.get("todos"))
        yield Planned(tuple((words(todo.get("content")), todo.get("status") == "completed") for todo in todos))
    elif tool == "TaskUpdate":
        status = words(given.get("status"))
        done = status in ("completed", "deleted") if status else None
        yield Task(words(given.get("taskId")), words(given.get("subject")) or None, done)


def _user(document: dict[str, Any]) -> Iterator[Step]:
    content = mapping(document.get("message")).get("content")
    aside = bool(document.get("isSidechain"))
    results = [block for block in mappings(content) if block.get("type") == "tool_result"]
    for block in results:
        yield Finished(words(block.get("tool_use_id")), block.get("is_error") is True)
    task = mapping(mapping(document.get("toolUseResult")).get("task"))
    if task.get("id") and words(task.get("subject")) and not aside:
        yield Task(str(task["id"]), words(task.get("subject")))
    if results or aside or document.get("isMeta") or document.get("isCompactSummary"):
        return
    if document.get("isVisibleInTranscriptOnly") or mapping(document.get("origin")).get("kind", "human") != "human":
        return
    texts = [words(block.get("text")) for block in mappings(content) if block.get("type") == "text"]
    texts += [words(each) for each in listing(content) if isinstance(each, str)]
    yield from _request(words(content) or "\n".join(texts), document)


def _request(text: str, document: dict[str, Any]) -> Iterator[Step]:
    """What a person asked, without what the program has put around it."""
    text = shortened(_REMINDER.sub("", text).strip())
    if text.startswith(_INTERRUPTED):
        yield Stopped("interrupted")
    command = _COMMAND.search(text)
    if command and text.startswith("<command-"):
        given = _ARGUMENTS.search(text)
        text = "" if command[1] in _HOUSEKEEPING else f"{command[1]} {given[1].strip() if given else ''}".strip()
    if text and not _NOT_A_REQUEST.match(text):
        yield MessageSaid(USER, text, moment(document.get("timestamp")), words(document.get("uuid")) or None)


_AGAIN = frozenset({"--continue", "-c", "--resume", "-r", "--fork-session"})
_TRANSCRIPTS = Format(
    "claude", named, candidates, name_of, announced, recognises, steps, again=_AGAIN, variable="CLAUDE_CONFIG_DIR"
)


# -- screens

_INPUT = re.compile(r"[❯!#]\s?")
_BENEATH = re.compile(r" {2}|$")
_CLOSING = re.compile(r"\b(?:Enter to (?:confirm|select|set)|Esc to (?:cancel|exit|close))\b")
_CHOICE = re.compile(r"^ {2,}(?:❯ )?(?:Yes|No), ")
_ERROR = re.compile(
    r"(?:[●⏺] |\s+⎿\s+)(?P<error>(?:API Error|Request timed out|Credit balance|Invalid API key|Please run /login"
    r"|You've (?:hit|reached|used)|\S+ usage limit|.{0,40}\blimit reached).*)"
)
_NUMBERED = re.compile(r"^ +(?:❯ )?\d\. \S")
_PANEL = re.compile(r"^▔{20}")
_ADDRESS = re.compile(r" +url: ")
_COMMAND_SHOWN = re.compile(r"╌{20}")


def _input_line(lines: Sequence[str]) -> Box | None:
    return fenced(lines, RULE, _INPUT, RULE, beneath=_BENEATH)


def _shown_command(lines: Sequence[str], place: int) -> str:
    fences = [number for number in range(place, len(lines)) if _COMMAND_SHOWN.match(lines[number])]
    return " ".join(lines[fences[0] + 1 : fences[1]]) if len(fences) > 1 else ""


def _fetched(lines: Sequence[str], place: int) -> str:
    return from_line(lines, place, _ADDRESS).split(" ")[0]


def _heading(lines: Sequence[str], place: int) -> str:
    rule = next((number for number in range(place, -1, -1) if RULE.match(lines[number])), None)
    return lines[rule + 1].strip() if rule is not None else "a tool"


_SCREENS = ScreenPatterns(
    tried="2.1.325",
    box=_input_line,
    placeholder=re.compile(r"Try \"|Press up to edit queued"),
    busy=re.compile(r"\besc to interrupt\b|^[·✢✳✶✻✽*] \S.*…(?: \(|$)"),
    busy_title=re.compile(r"[◐◑◒◓\u2801-\u28ff]"),
    turned=re.compile(r"^[●⏺] |^[✢✳✶✻✽*] \S+ for \d|^ +⎿ +Interrupted"),
    failed=last_said(_ERROR, re.compile(r"[❯●⏺] ")),
    retrying=re.compile(r"^[·✢✳✶✻✽*] (?P<error>.+?) · Retrying in ", re.MULTILINE),
    dialogs=(
        Dialog(re.compile(r"Is this a project you created or one you trust\?"), "trust in this folder", _CLOSING),
        Dialog(re.compile(r"running in Bypass Permissions mode"), "consent to bypassing permissions", _CLOSING),
        Dialog(
            re.compile(r"^ +Background work is running"),
            "a word on what it runs in the background",
            _CLOSING,
            leaves="1",
        ),
        Dialog(re.compile(r"^ Bash command$"), "permission to run: {about}", _CLOSING, _shown_command, ends=_NUMBERED),
        Dialog(
            re.compile(r"^ Claude wants to fetch content from"),
            "permission to fetch {about}",
            _CLOSING,
            _fetched,
            ends=_NUMBERED,
        ),
        Dialog(
            re.compile(r"^ Do you want to (?P<act>[^?]+)\?"),
            "permission to {act} ({about})",
            _CLOSING,
            _heading,
            ends=_NUMBERED,
        ),
        Dialog(re.compile(r"^ +Exit plan mode\?$"), "approval of its plan", _CLOSING, ends=_NUMBERED),
        Dialog(re.compile(r"^ (?P<question>Make auto mode [^?]+\?)$"), "an answer: {question}", _CHOICE),
        Dialog(re.compile(r"^(?P<question>\S.*\?)$"), "an answer: {question}", _CLOSING, ends=_NUMBERED),
        Dialog(re.compile(r"^ *❯ (?:\d\. )?\S"), "an answer", _CLOSING, ends=_NUMBERED),
        Dialog(_PANEL, "somebody to close its panel", re.compile(r"\S"), alone=True),
    ),
)

_ONE_TASK = ("-p", "--output-format", "stream-json", "--verbose")
_START = AgentCommand(
    agent="claude",
    program=("claude",),
    package="@anthropic-ai/claude-code",
    terminal=Mode(
        new=("--session-id", "{conversation}"),
        resume=("--resume", "{conversation}"),
        last=("--continue",),
        prompt=("--", "{prompt}"),
    ),
    headless=Mode(
        new=(*_ONE_TASK, "--session-id", "{conversation}"),
        resume=(*_ONE_TASK, "--resume", "{conversation}"),
        last=(*_ONE_TASK, "--continue"),
        needs_prompt=True,
    ),
    model=("--model", "{model}"),
    by_folder=True,
    # Else the left arrow on an empty line moves the conversation to a worker of its daemon, out of the session.
    environment={"CLAUDE_CODE_DISABLE_AGENT_VIEW": "1"},
    hands_over=frozenset({"--bg", "--background"}),
)

# -- what it leaves behind


def _registry(home: str, environment: Mapping[str, str]) -> Iterator[OnRecord]:
    """`sessions/<pid>.json`, with a key and a socket beside it: they stay when the process is killed."""
    folder = f"{environment.get('CLAUDE_CONFIG_DIR') or f'{home}/.claude'}/sessions"
    for path, _ in listed(folder, ending=".json"):
        said = jsonl.document_of(path)
        pid, start = count(said.get("pid")), words(said.get("procStart"))
        if not pid or said.get("pidDomain", here()) != here():
            continue
        keys = [key for key, _ in listed(folder, beginning=f"{pid}.", ending=".key")]
        socket = words(said.get("messagingSocketPath"))
        beside = (*keys, socket) if socket.endswith(f"/{pid}.sock") else (*keys,)
        yield OnRecord(path, words(said.get("sessionId")), pid, jsonl.number(start), beside)


_FINGERPRINTS = Fingerprints(
    agent="claude",
    options=("--session-id", "--resume", "-r"),
    anew=("--fork-session",),
    sessions=("CLAUDE_CODE_SESSION_ID",),
    pids=("CLAUDE_PID",),
    plain=("CLAUDECODE",),
    shell=re.compile(r"/shell-snapshots/snapshot-[a-z]+-"),
    output=re.compile(r"/claude-\d+/[^/]+/[0-9a-fA-F-]{36}/tasks/[^/]+\.output$"),
    registry=_registry,
    variables=("CLAUDE_CONFIG_DIR",),
)


def _is_server(words: Sequence[str]) -> bool:
    return "daemon" in words[1:3] and "--origin" in words


def _may_use(words: Sequence[str]) -> bool:
    """Any at a terminal: the left arrow on an empty line moves its conversation there."""
    return not {"-p", "--print"} & {*words[1:]}


def _stop_commands(conversation: str) -> tuple[tuple[str, ...], ...]:
    return (("stop", conversation[:8]),)


_SHARED_DAEMON = SharedDaemon("claude", _is_server, _may_use, _stop_commands, words=("daemon", "run", "--origin"))

_ACP = AcpCommand(command=("claude-agent-acp",))

_HOOKS = Hooks(
    agent="claude",
    names={START: "SessionStart", STOP: "Stop", COMPACT: "PreCompact", END: "SessionEnd"},
    limit=10_000,
    read=usual,
    answer=usual_answer,
)


def _file(site: Site) -> str:
    """The user's are in a file beside its folder, which moves into the folder when that is elsewhere."""
    if site.project is not None:
        return os.path.join(site.project, ".mcp.json")
    return os.path.join(site.folder("", "CLAUDE_CONFIG_DIR"), ".claude.json")


def _servers(server: McpServer) -> dict[str, Any]:
    return usual_servers(server, type="stdio")


def _hooks(site: Site) -> list[ConfigEntry]:
    return usual_hooks(_HOOKS, os.path.join(site.folder(".claude", "CLAUDE_CONFIG_DIR"), "settings.json"), site, 10)


_SETUP = Setup(
    _file,
    ".mcp.json of a project, or run: claude mcp add-json NAME 'what is inside its braces'",
    _servers,
    _hooks,
    "Claude Code reads its hooks when it starts: those that run now have none yet",
)


AGENT = Agent(
    name="claude",
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
