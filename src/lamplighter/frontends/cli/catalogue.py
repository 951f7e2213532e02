"""The commands there are: those made from the operations (commands.json) and the few made by hand on top of them.

Knows names, options and words of help; runs nothing.
"""

from __future__ import annotations

import json
import os
from typing import Any

from lamplighter.frontends.cli.record_commands import of_records

GROUPS = ("sessions", "memory", "machine")
_ORDER = (
    "start",
    "run",
    "ls",
    "show",
    "tree",
    "attach",
    "send",
    "read",
    "replay",
    "wait",
    "end",
    "kill",
    "scan",
    "cleanup",
    "approve",
    "protect",
    "adopt",
    "handoff",
    "remember",
    "recall",
    "records",
    "resolve",
    "supersede",
    "forget",
    "up",
    "open",
    "status",
)


class Command:
    """One command: the operation it calls (None when made by hand of several), and its fields and options."""

    __slots__ = ("changes", "details", "fields", "group", "name", "operation", "positional", "summary")

    def __init__(self, document: dict[str, Any]) -> None:
        self.name: str = document["command"]
        self.operation: str = document["name"]
        self.group: str = document["group"]
        self.positional: list[str] = document["positional"]
        self.changes: bool = document["changes"]
        self.summary: str = document["summary"]
        self.details: str = document["details"]
        self.fields: list[dict[str, Any]] = document["fields"]

    @property
    def options(self) -> list[dict[str, Any]]:
        """All that has a name on the command line: the operation's fields, then what only the client knows."""
        own = [field for field in self.fields if field["name"] not in self.positional]
        return [*own, *CLIENT_OPTIONS.get(self.name, ()), *((_KEY,) if self.changes else ()), _JSON, _HELP]

    def field(self, name: str) -> dict[str, Any]:
        return next(field for field in self.fields if field["name"] == name)

    def document(self) -> dict[str, Any]:
        return {
            "command": self.name,
            "group": self.group,
            "positional": self.positional,
            "changes": self.changes,
            "summary": self.summary,
            "details": self.details,
            "options": [_public(option) for option in self.options],
        }


def _option(
    name: str, spelling: str, description: str, kind: str = "boolean", default: object = False
) -> dict[str, Any]:
    return {
        "name": name,
        "option": spelling,
        "flags": None,
        "type": kind,
        "required": False,
        "default": default,
        "choices": None,
        "description": description,
        "list": False,
        "dict": False,
        "negated": False,
        "words": False,
        "client": True,
    }


def spellings(option: dict[str, Any]) -> tuple[str, ...]:
    """All that it may be called, the name that help uses first."""
    return tuple(option["flags"] or (option["option"], *option.get("also", ())))


def _public(option: dict[str, Any]) -> dict[str, Any]:
    names = ("option", "flags", "type", "default", "choices", "description", "list", "dict")
    return {**{name: option[name] for name in names}, "spellings": spellings(option)}


_JSON = _option("json", "--json", "print one JSON document and nothing else; errors too")
_HELP = _option("help", "--help", "show this")
_KEY = _option(
    "key", "--key", "idempotency key: the same key again returns what happened, and does nothing", "string", None
)
_DETACH = _option(
    "detach_key", "--detach-key", "the key that detaches, such as C-x or C-]; none for no such key", "string", "C-\\"
)
_YES = _option("yes", "--yes", "with --all: do not ask")
_DRY_PLAN = _option("dry_run", "--dry-run", "make the plan and end nothing, as without --yes and --apply")
_YES_APPLY = _option("yes", "--yes", "make the plan and apply it at once")

_GRANT = _option("yes", "--yes", "grant it, and do not ask")
_REFUSE = _option("refuse", "--refuse", "refuse it, and do not ask")

_PRINT = _option("print", "--print", "print the link, and start no browser")
_LOG_OUT = _option("log_out", "--log-out", "log out every browser, at once; opens nothing")

_FOREGROUND = _option(
    "foreground", "--foreground", "stay until the daemon is told to go, as a service manager wants it"
)
_DRY = _option("dry_run", "--dry-run", "show what would be written and run, and do nothing")
_PROJECT = _option("project", "--project", "agents: in this folder's project, not for all of yours")
_NO_START = _option("no_start", "--no-start", "service: the file alone, nothing is run; for images and dotfiles")
_SHELL = _option("shell", "--shell", "completion: for this shell (default: yours, to uninstall all)", "string", None)

_TOOLS = _option(
    "tools", "--tools", "which tools: the core, or those of another server, for its users", "string", "core"
)
_PRINT_CONFIG = _option(
    "print_config",
    "--print-config",
    "print what to paste into this client's configuration, and do nothing else",
    "string",
    None,
)

TOOLSETS = ("core", "openclaw", "tmux", "kiro", "delx", "rekindle")
MCP_CLIENTS = ("claude", "codex", "gemini", "opencode", "cursor", "vscode")
HOOKED = ("claude", "codex", "gemini", "opencode")
HOOK_EVENTS = ("start", "stop", "compact", "end")
INSTALLABLE = ("service", "completion", "claude", "codex", "gemini", "opencode", "cursor", "vscode")
SHELLS = ("bash", "zsh", "fish")

_EVERYTHING = _option("everything", "--everything", "all of Lamplighter: what was installed, the daemon, its state")
_END_SESSIONS = _option("end_sessions", "--end-sessions", "with --everything: end the sessions that run")
_AGREED = _option("yes", "--yes", "with --everything: do not ask")
_SPEED = _option("speed", "--speed", "how fast: 2 is twice as fast, 0.5 half as fast", "string", "1")
_FROM = _option("from", "--from", "begin this far into it: 90s, 10m", "string", None)
_PAUSED = _option("paused", "--paused", "begin stopped")
_MAX_PAUSE = _option("max_pause", "--max-pause", "cut pauses that are longer than this: 2s", "string", None)

_SAVE = _option("save", "--save", "store a hand-off instead, and end nothing; say what in the options below")

CLIENT_OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "approve": (_GRANT, _REFUSE, _KEY),
    "attach": (_DETACH,),
    "cleanup": (_YES_APPLY, _DRY_PLAN),
    "down": (_YES,),
    "handoff": (_SAVE,),
    "mcp": ({**_TOOLS, "choices": list(TOOLSETS)}, {**_PRINT_CONFIG, "choices": list(MCP_CLIENTS)}),
    "open": (_PRINT, _LOG_OUT),
    "replay": (_SPEED, _FROM, _MAX_PAUSE, _PAUSED),
    "up": (_FOREGROUND,),
    "install": (_DRY, _PROJECT, _NO_START, {**_SHELL, "choices": list(SHELLS)}),
    "uninstall": (_EVERYTHING, _END_SESSIONS, _AGREED, _DRY, _PROJECT, _NO_START, {**_SHELL, "choices": list(SHELLS)}),
}
"""Options that never reach the daemon."""


_OF_THE_CLIENT: dict[str, Any] = {"name": "", "group": "machine", "changes": False}


def _place(name: str, choices: tuple[str, ...], description: str) -> dict[str, Any]:
    """A word without an option, for a command made by hand."""
    found = _option(name, "", description, "string", None)
    return {**found, "option": None, "required": True, "choices": list(choices), "client": False}


def _by_hand(documents: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    start, listing = documents["start"], documents["ls"]
    return [
        {
            **start,
            "command": "run",
            "fields": [
                _in_foreground(field) for field in start["fields"] if field["name"] != "tmux"
            ],  # tmux has a terminal
            "summary": "Run a command in the foreground, for cron and CI, and end everything it leaves behind.",
            "details": (
                "Standard streams are passed through byte by byte, signals are passed on, and the exit status is the "
                "command's own (128 + n when signal n ended it). What it left behind is ended and reported on standard "
                "error. On a terminal it gets a terminal. With --json the document is the last line of standard error, "
                "because standard output is the command's. If this client goes away, the session ends."
            ),
        },
        {
            **listing,
            "command": "tree",
            "summary": "Draw the sessions as a tree: who started whom.",
            "details": "With --all, those that have ended too. As a flat list: ls.",
        },
        {
            "name": "get_status",
            "command": "up",
            "group": "machine",
            "positional": [],
            "changes": False,
            "summary": "Start the daemon if it is not running, and show it, with a link to the page.",
            "details": "No command needs this first: the daemon starts by itself on first use. The link is as from open.",
            "fields": [],
        },
        _replay(documents["read"]),
        _token(),
        *_for_the_user(),
    ]


_FOREGROUND_LIMITS = {
    "idle_limit": "end it when it has been quiet for this long, to the second: 30s, 8h; exit status 124",
    "max_age": "end it after this long, to the second: 90s, 2h; exit status 124",
    "max_memory": "end it when its whole tree takes more than this: 500M, 2G; exit status 125",
}


def _in_foreground(field: dict[str, Any]) -> dict[str, Any]:
    """Where somebody waits, a limit is kept at once, and --timeout is the word for one."""
    words = _FOREGROUND_LIMITS.get(field["name"])
    if words is None:
        return field
    spelt = {"option": "--timeout", "also": ["--max-age"]} if field["name"] == "max_age" else {}
    return {**field, **spelt, "description": words}


def _handoff(loading: dict[str, Any], saving: dict[str, Any]) -> dict[str, Any]:
    """Two operations behind one word: what was left, and leaving something."""
    known = {field["name"] for field in loading["fields"]}
    own = [
        {**field, "description": f"save: {field['description']}"}
        for field in saving["fields"]
        if field["name"] not in known
    ]
    return {**loading, "changes": True, "positional": ["session"], "fields": [*loading["fields"], *own]}


def _replay(reading: dict[str, Any]) -> dict[str, Any]:
    return {
        **reading,
        "command": "replay",
        "fields": [field for field in reading["fields"] if field["name"] in ("session", "approval")],
        "summary": "Play a session's recording in this terminal.",
        "details": (
            "Every session is recorded by itself, and can be played while it runs and for as long as its log is kept. Space "
            "stops and goes on; left and right jump 5 seconds, up and down a minute; 0 to 9 jump to that tenth, g to the "
            "beginning and G to the end; + and - double and halve the speed; . shows the next output alone; q leaves. What a "
            "recording asks of the terminal is not passed on. As a file for another player: read --cast."
        ),
    }


def _token() -> dict[str, Any]:
    """Three operations behind one word."""
    name = {**_place("name", (), "what it is called"), "required": False, "choices": None}
    scope = _option(
        "scope", "--scope", "create: what it may do: read, start, send, end, records, with commas between", "string", ""
    )
    expires = _option("expires", "--expires", "create: how long it holds: 8h, 30d (if not told), none", "string", None)
    return {
        "name": "create_token",
        "command": "token",
        "group": "machine",
        "positional": ["action", "name"],
        "changes": True,
        "summary": "Make, list and revoke the tokens that clients use over HTTP.",
        "details": (
            "The secret is shown once, by create; only its hash is stored. read is to list, show, read and wait; end is to end "
            "and kill what the token started itself. Revoking closes at once what is open with it; its sessions go on. "
            "Only the operator may."
        ),
        "fields": [
            _place("action", ("create", "ls", "revoke"), "what to do"),
            name,
            *({**option, "client": False} for option in (scope, expires)),
        ],
    }


def _for_the_user() -> list[dict[str, Any]]:
    """Commands that write the user's own files and ask the daemon nothing."""
    target = _place("target", INSTALLABLE, "what to install")
    return [
        {
            **_OF_THE_CLIENT,
            "command": "install",
            "fields": [target],
            "positional": ["target"],
            "summary": "Make Lamplighter at home: in an agent's configuration, as a service of yours, in your shell.",
            "details": (
                "An agent gets our MCP server and, where it has them, our hooks in its own configuration; nothing else in those "
                "files changes, and each is kept as it was. Only the operator may. "
                "service writes a systemd user unit that starts the daemon at login; stopping it never ends a session. "
                "completion puts the script where the shell looks for it. A file that is there already and is not ours is "
                "kept, and comes back with uninstall. The second time there is nothing to do."
            ),
        },
        {
            **_OF_THE_CLIENT,
            "command": "uninstall",
            "fields": [{**target, "required": False, "description": "what to take away"}],
            "positional": ["target"],
            "summary": "Take away what install wrote, and put back what was there before.",
            "details": (
                "An agent's files are as they were, to the byte; where they have changed since, only what is ours is taken out. "
                "A file of ours that was edited by hand is kept beside it. What is not ours is left alone. --everything shows "
                "all that it would take away and asks: what was installed, for agents also in projects, the service, completion, "
                "the daemon, the state with all that sessions knew, and the link that ./run made. It refuses while sessions run, "
                "unless told; only the operator may. The program itself is left to whoever installed it."
            ),
        },
        {
            **_OF_THE_CLIENT,
            "command": "mcp",
            "fields": [],
            "positional": [],
            "summary": "Serve agents over MCP on standard input and output; this is what their configuration starts.",
            "details": (
                "A small bridge to the daemon, which is started if need be and may be stopped or upgraded at any time: it "
                "connects again, and no call is carried out twice. It ends when its client does. Who the agent is, the kernel "
                "says; what it may do is what it may do anywhere."
            ),
        },
        {
            **_OF_THE_CLIENT,
            "command": "hook",
            "fields": [
                _place("agent", HOOKED, "whose hook it is"),
                _place("event", HOOK_EVENTS, "what has happened, in our words"),
            ],
            "positional": ["agent", "event"],
            "summary": "What agents run at their events; install sets them up, nobody types it.",
            "details": (
                "Reads what the agent says on standard input, tells the daemon, and prints what the agent takes: at a start, the "
                "hand-off. Without a daemon, or with one that does not answer in time, it prints nothing; its status is always 0."
            ),
        },
        {
            **_OF_THE_CLIENT,
            "command": "completion",
            "fields": [_place("shell", SHELLS, "the shell that it is for")],
            "positional": ["shell"],
            "summary": "Print the completion script of a shell: commands, options, names of sessions, plans.",
            "details": "To have it always: install completion.",
        },
    ]


def load() -> dict[str, Command]:
    """Every command by name, in the order in which help lists them."""
    path = os.path.join(os.path.dirname(__file__), "commands.json")
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)["commands"]
    documents = {entry["command"]: entry for entry in entries if entry["command"]}
    operations = {entry["name"]: entry for entry in entries}
    documents |= {entry["command"]: entry for entry in (*_by_hand(documents), *of_records(operations))}
    documents["handoff"] = _handoff(documents["handoff"], operations["hand_off"])
    names = [*(name for name in _ORDER if name in documents), *(name for name in documents if name not in _ORDER)]
    return {name: Command(documents[name]) for name in names}
