"""The exit status of `lamp`: for each error code, a result, and what a command that it ran exited with."""

from __future__ import annotations

from typing import Any

from lamplighter.errors import Code, LampError

STATUS: dict[Code, int] = {
    Code.INTERNAL: 1,
    Code.BAD_INPUT: 2,
    Code.BAD_NAME: 2,
    Code.EMPTY_COMMAND: 2,
    Code.NO_SUCH_PROGRAM: 2,
    Code.NO_SUCH_FOLDER: 2,
    Code.HOME_TOO_LONG: 2,
    Code.START_FAILED: 2,
    Code.BUDGET_TOO_SMALL: 2,
    Code.DAEMON_UNREACHABLE: 3,
    Code.HOLDER_UNREACHABLE: 3,
    Code.STORE_BUSY: 3,
    Code.STORE_LOST: 3,
    Code.DISK_FULL: 3,
    Code.UNSUPPORTED: 3,
    Code.OUTCOME_UNKNOWN: 3,
    Code.NOT_FOUND: 4,
    Code.AMBIGUOUS: 4,
    Code.NAME_TAKEN: 5,
    Code.TOO_MANY: 5,
    Code.ACTIVE: 5,
    Code.ENDED: 5,
    Code.KEY_REUSED: 5,
    Code.NOT_ATTACHABLE: 5,
    Code.PLAN_EXPIRED: 5,
    Code.PLAN_APPLIED: 5,
    Code.ADOPTED: 5,
    Code.APPROVAL_USED: 5,
    Code.APPROVAL_EXPIRED: 5,
    Code.SUCCEEDED: 5,
    Code.NO_SUCCESSOR: 5,
    Code.NO_HANDOFF: 5,
    Code.NOT_ACTIVE: 5,
    Code.FORBIDDEN: 6,
    Code.APPROVAL_NEEDED: 6,
    Code.TIMEOUT: 7,
    Code.SURVIVORS: 8,
}


def status_of(code: Code) -> int:
    """Of a code that a newer daemon sent, as of a fault: what it means is not known here."""
    return STATUS.get(code, STATUS[Code.INTERNAL])


def status_of_result(result: dict[str, Any]) -> int:
    """0, but for what the result itself says went wrong: survivors, or a machine with something broken."""
    certificate: dict[str, Any] = result.get("certificate") or {}
    if certificate.get("survivors") and result.get("state") == "ending":
        return STATUS[Code.SURVIVORS]
    if any(check.get("state") == "bad" for check in result.get("checks", ())):
        return STATUS[Code.UNSUPPORTED]
    return 0


def status_of_several(rows: list[dict[str, Any]], *, survived: bool) -> int:
    """Survivors first, then the first error. What is skipped is no failure."""
    errors = [row["error"] for row in rows if row.get("error")]
    if survived or not errors:
        return STATUS[Code.SURVIVORS] if survived else 0
    return status_of(LampError.from_document(errors[0]).code)


DECLINED = 9
WAITED_FOR_FAILED = 10
TIME_LIMIT = 124
MEMORY_LIMIT = 125
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS: tuple[tuple[str, str], ...] = (
    ("0", "done"),
    ("1", "an error in Lamplighter itself"),
    ("2", "the request is wrong: an argument, a program, a folder"),
    ("3", "the daemon, or what the command needs of the machine, is not available"),
    ("4", "nothing found, or more than one"),
    ("5", "not possible in this state: name taken, active, ended, expired"),
    ("6", "not allowed, or only with an approval"),
    ("7", "the timeout passed"),
    ("8", "a process survived an ending"),
    ("9", "the answer to a question was no; nothing was done"),
    ("10", "wait: the session ended badly, or its turn was not finished"),
    ("124", "run: a time limit ended the command"),
    ("125", "run: the memory limit ended the command"),
    ("130", "interrupted with Ctrl-C"),
    ("141", "the reader of the output went away"),
)


def number_of(name: str) -> int:
    """The number of a signal as a holder names it; 0 for one that this system does not have."""
    import signal  # making its enums takes longer than most commands need for all else here

    if name.isdigit():
        return int(name)
    return int(getattr(signal, f"SIG{name.removeprefix('SIG')}", 0))


def status_of_exit(found: dict[str, Any] | None) -> int:
    """What a shell would make of an exit: the code, or 128 and the signal's number; 1 when nobody saw it."""
    if found and found.get("signal"):
        return 128 + number_of(str(found["signal"]))
    code = found.get("code") if found else None
    return 1 if code is None else int(code)
