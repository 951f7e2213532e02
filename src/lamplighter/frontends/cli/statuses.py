"""The exit status of every error code. Knows nothing of how errors are shown."""

from __future__ import annotations

from lamplighter.errors import Code

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
