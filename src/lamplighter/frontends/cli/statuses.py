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

DECLINED = 9
WAITED_FOR_FAILED = 10
TIME_LIMIT = 124
MEMORY_LIMIT = 125
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS: tuple[tuple[str, str], ...] = (
    ("0", "done"),
    ("1", "a fault of Lamplighter's own"),
    ("2", "what was asked for makes no sense"),
    ("3", "the daemon or a part of the machine is not there"),
    ("4", "no such session, or more than one"),
    ("5", "the session is not in a state for this"),
    ("6", "not yours to do"),
    ("7", "it took longer than the timeout"),
    ("8", "something survived an ending"),
    ("9", "the answer to a question was no; nothing was done"),
    ("10", "wait: what was waited for ended, and failed"),
    ("124", "run: a limit on time ended the command"),
    ("125", "run: its limit on memory ended the command"),
    ("130", "interrupted with Ctrl-C"),
    ("141", "whoever read the output went away"),
)
