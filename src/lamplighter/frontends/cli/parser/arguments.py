"""Words on the command line → a request's arguments. What is not an option of the command is an error, never a guess.

Knows the shape of options; knows nothing of what they mean. Not argparse, because an error must be able to come out as
one JSON document, an abbreviation must never run something else, and a command's own words must stay untouched.
"""

from __future__ import annotations

from typing import Any

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.command import Command, spellings

_METAVARS = {
    "grace": "TIME",
    "idle_limit": "TIME",
    "max_age": "TIME",
    "max_pause": "TIME",
    "from": "TIME",
    "max_memory": "SIZE",
    "older_than": "TIME",
    "quiet": "TIME",
    "timeout": "TIME",
    "session": "ID",
    "selection": "SELECTION",
    "apply": "PLAN",
    "without": "ID",
    "approval": "REQUEST",
    "request": "REQUEST",
    "parent": "ID",
    "command": "COMMAND…",
    "agent": "NAME",
    "resume": "ID|last",
    "from_session": "ID",
    "since": "CURSOR",
    "env": "K=V",
    "cwd": "FOLDER",
    "until": "ended|idle|waiting|reply|text=TEXT",
    "detach_key": "KEY",
    "expires": "TIME",
    "scope": "SCOPES",
    "records": "ID…",
    "record": "ID",
    "files": "PATH",
    "commits": "SHA",
    "after": "TIME",
    "before": "TIME",
    "content": "TEXT",
}


class Arguments:
    """What was asked for: `request` goes to the daemon, `options` is for the client alone."""

    __slots__ = ("options", "request")

    def __init__(self) -> None:
        self.request: dict[str, Any] = {}
        self.options: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The idempotency key that was given, or a new one."""
        from lamplighter.domain.call_key import new_key

        return self.options.get("key") or new_key()


def parse(command: Command, words: list[str]) -> Arguments:
    """The arguments, or BAD_INPUT. With --help nothing else is checked."""
    return _Parser(command, words).parse()


class _Parser:
    def __init__(self, command: Command, words: list[str]) -> None:
        self.command = command
        self.words = words
        self.at = 0
        self.found = Arguments()
        self.loose: list[str] = []
        self.takes_rest = "command" in command.positional  # whose own options are not ours
        self.spellings: dict[str, tuple[dict[str, Any], Any]] = {}
        for option in command.options:
            flags: dict[str, Any] = option["flags"] or {}
            self.spellings |= {spelling: (option, flags.get(spelling)) for spelling in spellings(option)}
        self.spellings["-h"] = self.spellings["--help"]

    def parse(self) -> Arguments:
        while self.at < len(self.words):
            word = self.words[self.at]
            if word == "--":
                self.loose += self.words[self.at + 1 :]
                break
            if word.startswith("-") and word != "-":
                self._option(word)
            elif self.takes_rest:
                self.loose = self.words[self.at :]
                break
            else:
                self.loose.append(word)
                self.at += 1
        if self.found.options.get("help"):
            return self.found
        if self.command.ends_one:
            self._check_one()
        self._place()
        return self.found

    def _option(self, word: str) -> None:
        spelling, equals, value = word.partition("=")
        if spelling not in self.spellings:
            raise self._unknown(spelling)
        option, flag = self.spellings[spelling]
        self.at += 1
        if flag is not None or option["type"] == "boolean":
            if equals:
                raise self._wrong(f"{spelling} takes no value")
            self._set_flag(option, spelling, flag)
            return
        self._set_value(option, spelling, value if equals else self._next(spelling))

    def _next(self, spelling: str) -> str:
        if self.at >= len(self.words) or self.words[self.at].startswith("--"):
            raise self._wrong(f"{spelling} needs a value", f"write {spelling}=VALUE when the value begins with --")
        self.at += 1
        return self.words[self.at - 1]

    def _set_flag(self, option: dict[str, Any], spelling: str, flag: Any) -> None:
        before = self.found.request.get(option["name"])
        if flag is not None and before not in (None, flag):
            raise self._wrong(f"--{before} and {spelling} exclude each other")
        self._store(option, flag if flag is not None else not option["negated"])

    def _set_value(self, option: dict[str, Any], spelling: str, value: str) -> None:
        if option["dict"]:
            name, equals, content = value.partition("=")
            if not equals or not name:
                raise self._wrong(f"{spelling} wants NAME=VALUE, not {value[:40]!r}")
            self.found.request.setdefault(option["name"], {})[name] = content
        elif option["list"]:
            self.found.request.setdefault(option["name"], []).append(self._scalar(option, spelling, value))
        else:
            self._store(option, self._scalar(option, spelling, value))

    def _scalar(self, option: dict[str, Any], spelling: str, value: str) -> Any:
        if option["choices"] and value not in option["choices"]:
            raise self._wrong(f"{spelling} cannot be {value[:40]!r}", f"it is one of {', '.join(option['choices'])}")
        if option["type"] not in ("integer", "number"):
            return value
        try:
            return int(value) if option["type"] == "integer" else float(value)
        except ValueError:
            raise self._wrong(f"{spelling} wants a number, not {value[:40]!r}") from None

    def _store(self, option: dict[str, Any], value: Any) -> None:
        into = self.found.options if option.get("client") else self.found.request
        into[option["name"]] = value

    def _place(self) -> None:
        """The words without an option, each to its field."""
        left = self.loose
        for name in self.command.positional:
            field = self.command.field(name)
            if field["list"]:
                self.found.request[name], left = left, []
            elif left and field["words"]:
                self.found.request[name], left = " ".join(left), []
            elif left:
                value = self._scalar(field, name, left[0]) if field["choices"] else left[0]
                self.found.request[name], left = value, left[1:]
            if field["required"] and name not in self.found.request:
                raise self._wrong(f"{self.command.name} needs {metavar(field)}")
            if field["list"] and not self.found.request[name]:
                if name == "command" and "agent" in self.found.request:
                    continue  # an agent's own words are enough
                if name != "command":
                    raise self._wrong(f"{self.command.name} needs {metavar(field)}")
                raise InputError(
                    Code.EMPTY_COMMAND,
                    "there is no command to start",
                    f"lamp {self.command.name} -- COMMAND…, or --agent NAME",
                )
        if left:
            raise self._wrong(f"{self.command.name} does not know what to do with {left[0][:40]!r}")

    def _unknown(self, spelling: str) -> InputError:
        from lamplighter.frontends.cli.parser import suggestions

        hint = suggestions.for_option(self.command, spelling, list(self.spellings), self.words)
        return self._wrong(f"{self.command.name} has no option {spelling[:40]!r}", hint)

    def _check_one(self) -> None:
        """Only one session is ended by its name; several are the cleanup's, where each is seen before."""
        from lamplighter.frontends.cli.parser import suggestions

        if suggestions.means_several(self.loose):
            raise self._wrong(f"{self.command.name} ends one session", suggestions.for_several(self.words))

    def _wrong(self, message: str, hint: str = "") -> InputError:
        return InputError(Code.BAD_INPUT, message, hint or f"lamp {self.command.name} --help shows how it is used")


def metavar(field: dict[str, Any]) -> str:
    """What help calls a field's value."""
    if field["choices"]:
        return "|".join(field["choices"])
    return _METAVARS.get(field["name"], "N" if field["type"] == "integer" else field["name"].upper().replace("_", "-"))
