"""Every error that Lamplighter shows: its code, what happened, to what, and what to do next.

    LampError
    ├── InputError         what was asked for makes no sense; nothing changed
    │     BAD_INPUT  BAD_NAME  EMPTY_COMMAND  NO_SUCH_PROGRAM  NO_SUCH_FOLDER  HOME_TOO_LONG  START_FAILED
    │     BUDGET_TOO_SMALL
    ├── MissingError       it is not there
    │     NOT_FOUND  AMBIGUOUS
    ├── ConflictError      it is there, but not in a state for this
    │     NAME_TAKEN  TOO_MANY  ACTIVE  ENDED  KEY_REUSED  NOT_ATTACHABLE  PLAN_EXPIRED  PLAN_APPLIED  ADOPTED
    │     APPROVAL_USED  APPROVAL_EXPIRED  SUCCEEDED  NO_SUCCESSOR  NO_HANDOFF  NOT_ACTIVE
    ├── ForbiddenError     it is not yours
    │     FORBIDDEN  APPROVAL_NEEDED
    ├── DeadlineError      it did not happen in time; it may still
    │     TIMEOUT
    ├── SurvivorsError     an ending left something alive; the patrol tries on
    │     SURVIVORS
    └── UnavailableError   a part of Lamplighter or of the machine is not there now
          DAEMON_UNREACHABLE  HOLDER_UNREACHABLE  STORE_BUSY  STORE_LOST  DISK_FULL  UNSUPPORTED
          OUTCOME_UNKNOWN  INTERNAL

Standard library only: the command line imports this on its fast path.
"""

from __future__ import annotations

import errno
from enum import StrEnum
from typing import Any, ClassVar

_LONGEST_CODE = 40


class Code(StrEnum):
    """What went wrong, for programs. Front ends map every one of them."""

    BAD_INPUT = "BAD_INPUT"
    BAD_NAME = "BAD_NAME"
    EMPTY_COMMAND = "EMPTY_COMMAND"
    NO_SUCH_PROGRAM = "NO_SUCH_PROGRAM"
    NO_SUCH_FOLDER = "NO_SUCH_FOLDER"
    HOME_TOO_LONG = "HOME_TOO_LONG"
    START_FAILED = "START_FAILED"
    BUDGET_TOO_SMALL = "BUDGET_TOO_SMALL"
    NOT_FOUND = "NOT_FOUND"
    AMBIGUOUS = "AMBIGUOUS"
    NAME_TAKEN = "NAME_TAKEN"
    TOO_MANY = "TOO_MANY"
    ACTIVE = "ACTIVE"
    ENDED = "ENDED"
    KEY_REUSED = "KEY_REUSED"
    NOT_ATTACHABLE = "NOT_ATTACHABLE"
    PLAN_EXPIRED = "PLAN_EXPIRED"
    PLAN_APPLIED = "PLAN_APPLIED"
    ADOPTED = "ADOPTED"
    APPROVAL_USED = "APPROVAL_USED"
    APPROVAL_EXPIRED = "APPROVAL_EXPIRED"
    SUCCEEDED = "SUCCEEDED"
    NO_SUCCESSOR = "NO_SUCCESSOR"
    NO_HANDOFF = "NO_HANDOFF"
    NOT_ACTIVE = "NOT_ACTIVE"
    FORBIDDEN = "FORBIDDEN"
    APPROVAL_NEEDED = "APPROVAL_NEEDED"
    TIMEOUT = "TIMEOUT"
    SURVIVORS = "SURVIVORS"
    DAEMON_UNREACHABLE = "DAEMON_UNREACHABLE"
    HOLDER_UNREACHABLE = "HOLDER_UNREACHABLE"
    STORE_BUSY = "STORE_BUSY"
    STORE_LOST = "STORE_LOST"
    DISK_FULL = "DISK_FULL"
    UNSUPPORTED = "UNSUPPORTED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    INTERNAL = "INTERNAL"

    @classmethod
    def of(cls, text: str) -> Code:
        """The code that a peer sent. A word that is none here is of a newer release, and is carried as it is."""
        if text in cls.__members__:
            return cls[text]
        if len(text) > _LONGEST_CODE or not text.replace("_", "A").isalpha() or not (text.isascii() and text.isupper()):
            return cls.INTERNAL
        carried = str.__new__(cls, text)
        carried._name_ = carried._value_ = text
        return carried


_PLACES = ("action", "session", "target", "request", "selection", "text")
"""Fields that a command takes without an option, where a hint gives them."""
_SPELT = {"until": "--for", "from_session": "--from", "types": "--type"}
"""Options that are not called as their field is."""


class Use:
    """A command, as a hint names it, with fields of its operation: Use("wait", session="build", until="idle")."""

    def __init__(self, command: str, /, **fields: Any) -> None:
        self.command = command
        self.fields = fields

    def __str__(self) -> str:
        """As it is typed."""
        from shlex import join, quote

        given = dict(self.fields)
        after = given.pop("command", ())
        names = (*_PLACES, "name") if self.command == "token" else _PLACES
        places = {name: str(given.pop(name)) for name in names if name in given}
        if "selection" in places:
            places["selection"] = f"'{places['selection']}'"  # a shell would take its pattern for names of files
        options = [_option(name, value) for name, value in given.items()]
        flags = [option for option in options if " " not in option]
        words = [word if word[:1] == "'" else quote(word) for word in places.values()]
        typed = " ".join(["lamp", self.command, *flags, *words, *(option for option in options if " " in option)])
        return f"{typed} -- {join(after)}" if after else typed


class Option:
    """A field of the call that failed, as a hint names it, and what to give for it."""

    def __init__(self, name: str, value: Any = None) -> None:
        self.name = name
        self.value = value

    def __str__(self) -> str:
        return _option(self.name, True if self.value is None else self.value)


class Approved:
    """That the call is made with what the operator has granted for it, as a hint says it."""

    def __init__(self, request: str) -> None:
        self.request = request

    def __str__(self) -> str:
        return f" with approval {self.request}"


def _option(name: str, value: Any) -> str:
    if name == "mode":  # whose choices are options of their own
        return f"--{value}"
    option = _SPELT.get(name, f"--{name.replace('_', '-')}")
    if isinstance(value, dict):
        return " ".join(f"{option} {key}={content}" for key, content in value.items())  # pyright: ignore[reportUnknownVariableType]
    return option if value is True else f"{option} {value}"


class Hint:
    """What to do next: text, and parts that name a command, an option or an approval. Each front end words these; the text of
    the whole is for the command line."""

    def __init__(self, *parts: str | Use | Option | Approved | Hint) -> None:
        self.parts: list[str | Use | Option | Approved] = []
        for part in parts:
            self.parts += part.parts if isinstance(part, Hint) else [part]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


class LampError(Exception):
    """An error a person or an agent can act on. `details` holds facts, never secrets. `hint` is what `advice` says, as text."""

    codes: ClassVar[frozenset[Code]] = frozenset()

    def __init__(self, code: Code, message: str, hint: str | Hint, **details: Any) -> None:
        super().__init__(message)
        assert not self.codes or code in self.codes, f"{code} does not belong to {type(self).__name__}"
        self.code = code
        self.message = message
        self.advice = hint if isinstance(hint, Hint) else Hint(hint)
        self.hint = str(hint)
        self.details = details

    def document(self) -> dict[str, Any]:
        """The error as every front end sends it."""
        return {"code": self.code.value, "message": self.message, "hint": self.hint, "details": self.details}

    @staticmethod
    def from_document(document: dict[str, Any]) -> LampError:
        """The error that another process of ours sent, perhaps of another release: what is not known of it is kept."""
        code = Code.of(str(document.get("code", Code.INTERNAL)))
        kind = next((kind for kind in LampError.__subclasses__() if code in kind.codes), LampError)
        sent: dict[str, Any] = document.get("details") or {}
        details = {name: value for name, value in sent.items() if name not in ("code", "message", "hint")}
        return kind(code, str(document.get("message", "")), str(document.get("hint", "")), **details)


class InputError(LampError):
    codes = frozenset(
        {
            Code.BAD_INPUT,
            Code.BAD_NAME,
            Code.EMPTY_COMMAND,
            Code.NO_SUCH_PROGRAM,
            Code.NO_SUCH_FOLDER,
            Code.HOME_TOO_LONG,
            Code.START_FAILED,
            Code.BUDGET_TOO_SMALL,
        }
    )


class MissingError(LampError):
    codes = frozenset({Code.NOT_FOUND, Code.AMBIGUOUS})


class ConflictError(LampError):
    codes = frozenset(
        {
            Code.NAME_TAKEN,
            Code.TOO_MANY,
            Code.ACTIVE,
            Code.ENDED,
            Code.KEY_REUSED,
            Code.NOT_ATTACHABLE,
            Code.PLAN_EXPIRED,
            Code.PLAN_APPLIED,
            Code.ADOPTED,
            Code.APPROVAL_USED,
            Code.APPROVAL_EXPIRED,
            Code.SUCCEEDED,
            Code.NO_SUCCESSOR,
            Code.NO_HANDOFF,
            Code.NOT_ACTIVE,
        }
    )


class ForbiddenError(LampError):
    codes = frozenset({Code.FORBIDDEN, Code.APPROVAL_NEEDED})


class DeadlineError(LampError):
    codes = frozenset({Code.TIMEOUT})


class SurvivorsError(LampError):
    codes = frozenset({Code.SURVIVORS})


class UnavailableError(LampError):
    codes = frozenset(
        {
            Code.DAEMON_UNREACHABLE,
            Code.HOLDER_UNREACHABLE,
            Code.STORE_BUSY,
            Code.STORE_LOST,
            Code.DISK_FULL,
            Code.UNSUPPORTED,
            Code.OUTCOME_UNKNOWN,
            Code.INTERNAL,
        }
    )


def fault_of(error: BaseException) -> LampError:
    """What a caller is told of an error that nobody expected: that there was no descriptor to be had, or that it is ours."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (errno.EMFILE, errno.ENFILE):
            return ConflictError(
                Code.TOO_MANY,
                "the daemon has no file descriptor left",
                "end what is not needed, or raise the limit of open files (ulimit -n), and try again",
            )
        cause = cause.__cause__ or cause.__context__
    return UnavailableError(
        Code.INTERNAL, "something went wrong inside", "the daemon's log says what; please report it"
    )
