"""What people type who know other programs, and the command here that does it. Knows words; runs nothing.

Imported only when something was not understood.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from lamplighter.errors import InputError
from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.parser.arguments import metavar, parse

_REST = "…"
_SEVERAL = frozenset("*?[],+")
_AS_HERE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ps", "list", "sessions", "top", "list-sessions"), ("ls", _REST)),
    **dict.fromkeys(("stop", "quit", "exit", "close", "terminate"), ("end", _REST)),
    **dict.fromkeys(("signal", "kill-session"), ("kill", _REST)),
    **dict.fromkeys(("logs", "log", "cat", "output"), ("read", _REST, "--output")),
    **dict.fromkeys(("tail", "watch"), ("read", _REST, "--output", "--follow")),
    **dict.fromkeys(("screen", "capture-pane", "capture"), ("read", _REST, "--screen")),
    **dict.fromkeys(("play", "playback"), ("replay", _REST)),
    **dict.fromkeys(("search", "find", "grep"), ("recall", _REST)),
    **dict.fromkeys(("exec", "new", "spawn", "launch", "add", "new-session"), ("start", _REST)),
    **dict.fromkeys(("info", "inspect", "describe", "get"), ("show", _REST)),
    **dict.fromkeys(("connect", "attach-session"), ("attach", _REST)),
    **dict.fromkeys(("type", "send-keys", "input"), ("send", _REST)),
    **dict.fromkeys(("clean", "gc", "reap"), ("cleanup", _REST)),
    **dict.fromkeys(("note", "memo"), ("remember", _REST)),
    **dict.fromkeys(("history", "audit"), ("events", _REST)),
    **dict.fromkeys(("shutdown",), ("down", _REST)),
    **dict.fromkeys(("ui", "web", "dashboard"), ("open", _REST)),
    **dict.fromkeys(("check", "diagnose"), ("doctor",)),
    "version": ("--version",),
}
_TOLD: dict[str, str] = {
    **dict.fromkeys(
        ("rm", "remove", "delete", "del"),
        "lamp kill ID ends a session that runs; one that has ended is kept in lamp ls --all; lamp prune --apply deletes old logs",
    ),
    **dict.fromkeys(
        ("record", "rec"),
        "every session is recorded by itself: lamp replay ID plays it here, lamp read ID --cast > FILE keeps it",
    ),
    **dict.fromkeys(
        ("resume", "continue"),
        "lamp start --agent claude --resume last goes on with an agent's last conversation; lamp start --from ID -- COMMAND is a "
        "session's successor",
    ),
    "restart": "lamp end ID, then lamp start with the same command; lamp start --from ID -- COMMAND hands on what it knew",
    **dict.fromkeys(
        ("pause", "suspend"), "lamp send ID --keys C-z stops what is in front, where that heeds it; lamp end ID ends it"
    ),
}
_BULK = ("--dry-run", "--older-than", "--quiet-for", "--all", "--yes", "--selection")


def for_command(commands: Mapping[str, Command], name: str, rest: Sequence[str]) -> str:
    """What to do about a command that there is not."""
    if name in _TOLD:
        return _TOLD[name]
    if name in _AS_HERE:
        words = _filled(_AS_HERE[name], rest)
        if not rest or not _is_understood(commands, words):
            words = _filled(_AS_HERE[name], _needed(commands, _AS_HERE[name][0]))
        return f"lamp {shlex.join(words)} does that here"
    near = get_close_matches(name, commands, 1)
    return f"{f'did you mean lamp {near[0]}? ' if near else ''}lamp --help lists what there is"


def for_option(command: Command, spelling: str, known: Sequence[str], words: Sequence[str]) -> str:
    """What to do about an option that a command has not. `words`: all that was typed after the command."""
    if command.ends_one and spelling in _BULK:
        return for_several(words)
    told = command.elsewhere.get(spelling)
    if told is not None:
        return told
    near = get_close_matches(spelling, known, 1) if spelling.startswith("--") else []
    if near:
        return f"did you mean {near[0]}?"
    if "command" in command.positional:
        return f"an option of the command's own comes after it: lamp {command.name} -- COMMAND {spelling}"
    if any(command.field(name)["words"] for name in command.positional):
        return f"a text that begins with a dash goes after --; lamp {command.name} --help lists the options"
    return f"lamp {command.name} --help lists its options"


def means_several(words: Sequence[str]) -> bool:
    """Whether these name sessions by a selection, or more than one of them."""
    return len(words) > 1 or any(not _SEVERAL.isdisjoint(word) for word in words)


def for_several(words: Sequence[str]) -> str:
    """The cleanup that says the same: a plan, in which every session is named before it is ended."""
    chosen, kept = _taken_apart(words)
    line = shlex.join(["cleanup", *(["+".join(chosen)] if chosen else []), *kept])
    return f"lamp {line} shows the plan for that and ends nothing; lamp cleanup --apply PLAN ends it"


def _taken_apart(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The sessions that are named, and the options that a cleanup has too, as it calls them."""
    chosen, kept, left = list[str](), list[str](), list(words)
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name in ("--older-than", "--quiet-for", "--grace", "--reason"):
            value = value if equals else (left.pop(0) if left else "")
            kept += ["--quiet-for" if name == "--older-than" else name, value] if value else []
        elif name == "--selection":
            chosen.append(value if equals else (left.pop(0) if left else ""))
        elif name == "--force":
            kept.append(name)
        elif name == "--all":
            chosen.append("all")
        elif not name.startswith("-"):
            chosen.append(f"{name}{equals}{value}")
    return [word for word in chosen if word], kept


def _filled(words: Sequence[str], rest: Sequence[str]) -> list[str]:
    """With what was typed in its place."""
    return [one for word in words for one in (rest if word == _REST else (word,))]


def _needed(commands: Mapping[str, Command], name: str) -> list[str]:
    """Names for what the command cannot be without."""
    command = commands.get(name)
    if command is None:
        return []
    if "command" in command.positional:
        return ["--", "COMMAND"]
    fields = map(command.field, command.positional)
    return [metavar(field) for field in fields if field["required"] or command.ends_one]


def _is_understood(commands: Mapping[str, Command], words: Sequence[str]) -> bool:
    command = commands.get(words[0])
    if command is None:
        return False
    try:
        parse(command, list(words[1:]))
    except InputError:
        return False
    return True
