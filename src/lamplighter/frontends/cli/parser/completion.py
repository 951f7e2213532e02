"""What can stand where the cursor is: `lamp __complete SHELL …`, which the shells' scripts call on every TAB.

Standard library only, starts nothing, and whatever goes wrong is silence: a shell must never stumble over it. Each line is a
candidate and, after a tab, what it is; a line that begins with a blank tells the shell to complete folders or a command
by itself. Knows the catalogue and the ordinary door; knows no shell but bash's habit of breaking words.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.errors import LampError
from lamplighter.frontends.cli.catalogue import load
from lamplighter.frontends.cli.command import AgentNames, Command, spellings

Candidate = tuple[str, str]

FOLDERS, COMMAND = " folders", " command"
"""To the shell: complete this by yourself. A command with how many words there are from its program to the cursor."""
_ENDED_MOST = 300
_LIMIT = 0.7
_VERDICTS = ("working", "waiting", "idle", "finished", "stuck", "orphaned", "leftovers", "unknown")
_KEYS = {"kind": 3, "project": 4, "owner": 5}


def main(words: list[str]) -> int:
    """Always 0: an error on a TAB helps nobody."""
    try:
        shell, *rest = words
        _print(for_bash(*rest[:2]) if shell == "bash" else [_line(one) for one in find(rest)])
    except Exception:
        pass
    return 0


def find(words: list[str]) -> list[Candidate]:
    """The candidates for the last word; the first is the command line's first word after `lamp`."""
    *before, current = words or [""]
    return [one for one in _find(before, current) if one[0].startswith((" ", current))]


def for_bash(line: str, word: str = "") -> list[str]:
    """For a line up to the cursor, and the part of its last word that readline will replace: it breaks words at : and =."""
    words, quote = _split(line)
    found = find(words[1:])
    current, tail = words[-1] if words else "", _split(word)[0][-1] if word else ""
    cut = len(current) - len(tail) if current.endswith(tail) else 0
    lines: list[str] = []
    for text, _ in found:
        if text.startswith(" "):
            lines.append(text)
        elif text.startswith(current[:cut]):
            lines.append(text[cut:] if quote else _escaped(text[cut:]))
    return lines


def _split(line: str) -> tuple[list[str], str]:
    """The words of an unfinished line, the last one perhaps empty, and the quote that is open."""
    for quote in ("", "'", '"'):
        try:
            words = shlex.split(line + quote)
        except ValueError:
            continue
        if not quote and (not line or line[-1].isspace()):
            words.append("")
        return words, quote
    return line.split(" "), ""


def _escaped(text: str) -> str:
    return "".join(c if c.isalnum() or c in "_-./:=@%,+" else f"\\{c}" for c in text)


def _find(before: list[str], current: str) -> Iterable[Candidate]:
    while before[:1] == ["--json"]:
        before = before[1:]
    commands = load()
    if not before or before == ["help"]:
        yield from ((name, entry["summary"]) for name, entry in commands.entries.items())
        if not before:
            yield from (("help", "what a command does"), ("--help", ""), ("--version", ""), ("--json", ""))
        return
    command = commands.get(before[0])
    if command is not None:
        yield from _Place(command, before[1:]).candidates(current)


class _Place:
    """Where in a command's words the cursor is."""

    def __init__(self, command: Command, words: list[str]) -> None:
        self.command = command
        self.loose: list[str] = []
        self.only_loose = False
        self.option: dict[str, Any] | None = None
        self.rest_at: int | None = None
        self.count = len(words)
        self.spellings = {spelling: option for option in command.options for spelling in spellings(option)}
        takes_rest = "command" in command.positional
        for at, word in enumerate(words):
            if self.option is not None:
                self.option = None
            elif self.only_loose or not word.startswith("-") or word == "-":
                self.loose.append(word)
                if takes_rest and self.rest_at is None:
                    self.rest_at, self.only_loose = at, True
            elif word == "--":
                self.only_loose = True
                self.rest_at = at + 1 if takes_rest else None
            elif "=" not in word and self._takes_value(word):
                self.option = self.spellings[word]

    def candidates(self, current: str) -> Iterable[Candidate]:
        if self.option is not None:
            return self._values(self.option, current)
        if current.startswith("-") and not self.only_loose:
            spelling, equals, _ = current.partition("=")
            if equals and self._takes_value(spelling):
                begun = self._values(self.spellings[spelling], current[len(spelling) + 1 :])
                return ((text if text[:1] == " " else f"{spelling}={text}", what) for text, what in begun)
            return ((spelling, option["description"]) for spelling, option in self.spellings.items())
        places = self.command.positional[len(self.loose) :]
        if self.command.positional[-1:] == ["records"]:
            return _records()
        if self.rest_at is not None or places[:1] == ["command"]:
            return [(f"{COMMAND} {0 if self.rest_at is None else self.count - self.rest_at}", "")]
        return self._values(self.command.field(places[0]), current) if places else []

    def _takes_value(self, spelling: str) -> bool:
        option = self.spellings.get(spelling)
        return option is not None and not option["flags"] and option["type"] != "boolean"

    def _values(self, field: dict[str, Any], current: str) -> Iterable[Candidate]:
        if field["choices"]:
            return [(choice, "") for choice in field["choices"]]
        name = field["name"]
        if name in ("session", "parent"):
            return _sessions(ended=self.command.ended_too)
        if name == "selection":
            return _selections(current)
        if name in ("plan", "apply"):
            return _plans()
        if name == "request":
            return _requests()
        if name == "record":
            return _records()
        if name == "agent":
            return [(agent, "") for agent in AgentNames("start")]
        if name == "until":
            return [("idle", ""), ("ended", ""), ("text=", "")]
        if name == "cwd":
            return [(FOLDERS, "")]
        return []


def _sessions(*, ended: bool) -> Iterator[Candidate]:
    rows = _names(_ENDED_MOST if ended else 0)
    yield from ((row[1], f"{row[2]}, {row[0]}") for row in rows)
    yield from ((row[0], row[1]) for row in rows)


def _names(ended: int = 0) -> list[list[str]]:
    """Id, name, state, kind, project and owner."""
    return _ask("list_names", {"ended": ended}).get("names", [])


def _selections(current: str) -> Iterator[Candidate]:
    """Terms are joined by a comma (and) or a plus (or); the last one is being written."""
    at = max(current.rfind(","), current.rfind("+")) + 1
    done, term = current[:at], current[at:]
    key, colon, _ = term.partition(":")
    if colon and key in _KEYS:
        values = dict.fromkeys(row[_KEYS[key]] for row in _names() if row[_KEYS[key]])
        if key == "kind":
            values |= dict.fromkeys(load()["start"].field("kind")["choices"] or [])
        yield from ((f"{done}{key}:{value}", "") for value in values)
        return
    yield from ((done + verdict, "") for verdict in _VERDICTS)
    yield from ((f"{done}{key}:", "") for key in _KEYS)
    yield from ((done + row[1], row[2]) for row in _names())


def _plans() -> Iterator[Candidate]:
    for row in _ask("list_plans", {}).get("plans", []):
        rows = row.get("sessions", row.get("rows"))
        yield str(row["id"]), counted(rows, "session") if isinstance(rows, int) else ""


def _requests() -> Iterator[Candidate]:
    for row in _ask("list_approvals", {}).get("approvals", []):
        yield str(row["id"]), f"{row['state']}, {row['caller']}"


def _records() -> Iterator[Candidate]:
    """Those in force here, the newest first."""
    for row in _ask("list_records", {"folder": os.getcwd()}).get("records", []):
        yield str(row["id"]), f"{row['type']}: {' '.join(str(row['content']).split())[:60]}"


def _ask(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    from lamplighter.frontends.cli.daemon_client import DaemonClient
    from lamplighter.home import find_home

    try:
        return DaemonClient(find_home(), start=False, patience=0, limit=_LIMIT).call(operation, arguments)
    except LampError:
        return {}  # no daemon, or one that does not know this yet


def _line(candidate: Candidate) -> str:
    text, what = candidate
    return f"{text}\t{what}" if what else text


def _print(lines: Iterable[str]) -> None:
    """Only what is harmless: a character that cannot be shown is in no name of ours."""
    kept = dict.fromkeys(line for line in lines if line.replace("\t", "").isprintable())
    os.write(1, "".join(f"{line}\n" for line in kept).encode("utf-8", "surrogateescape"))
