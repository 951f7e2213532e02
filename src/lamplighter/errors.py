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


class LampError(Exception):
    """An error a person or an agent can act on. `details` holds facts, never secrets."""

    codes: ClassVar[frozenset[Code]] = frozenset()

    def __init__(self, code: Code, message: str, hint: str, **details: Any) -> None:
        super().__init__(message)
        assert not self.codes or code in self.codes, f"{code} does not belong to {type(self).__name__}"
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details

    def document(self) -> dict[str, Any]:
        """The error as every front end sends it."""
        return {"code": self.code.value, "message": self.message, "hint": self.hint, "details": self.details}

    @staticmethod
    def from_document(document: dict[str, Any]) -> LampError:
        """The error that another process of ours sent."""
        code = Code(document.get("code", Code.INTERNAL))
        kind = next((kind for kind in LampError.__subclasses__() if code in kind.codes), LampError)
        return kind(code, document.get("message", ""), document.get("hint", ""), **document.get("details", {}))


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
