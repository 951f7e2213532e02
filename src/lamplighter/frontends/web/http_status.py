"""The HTTP status of every error code."""

from __future__ import annotations

from lamplighter.errors import Code

STATUS: dict[Code, int] = {
    Code.BAD_INPUT: 400,
    Code.BAD_NAME: 400,
    Code.EMPTY_COMMAND: 400,
    Code.NO_SUCH_PROGRAM: 400,
    Code.NO_SUCH_FOLDER: 400,
    Code.HOME_TOO_LONG: 400,
    Code.START_FAILED: 400,
    Code.BUDGET_TOO_SMALL: 400,
    Code.FORBIDDEN: 403,
    Code.APPROVAL_NEEDED: 403,
    Code.NOT_FOUND: 404,
    Code.AMBIGUOUS: 409,
    Code.NAME_TAKEN: 409,
    Code.TOO_MANY: 409,
    Code.ACTIVE: 409,
    Code.ENDED: 409,
    Code.KEY_REUSED: 409,
    Code.NOT_ATTACHABLE: 409,
    Code.PLAN_EXPIRED: 409,
    Code.PLAN_APPLIED: 409,
    Code.ADOPTED: 409,
    Code.APPROVAL_USED: 409,
    Code.APPROVAL_EXPIRED: 409,
    Code.SUCCEEDED: 409,
    Code.NO_SUCCESSOR: 409,
    Code.NO_HANDOFF: 409,
    Code.NOT_ACTIVE: 409,
    Code.SURVIVORS: 409,
    Code.TIMEOUT: 504,
    Code.INTERNAL: 500,
    Code.UNSUPPORTED: 501,
    Code.DAEMON_UNREACHABLE: 503,
    Code.HOLDER_UNREACHABLE: 503,
    Code.STORE_BUSY: 503,
    Code.STORE_LOST: 503,
    Code.DISK_FULL: 503,
    Code.OUTCOME_UNKNOWN: 503,
}


def status_of(code: Code) -> int:
    """Of a code of another release, as of a fault: what it means is not known here."""
    return STATUS.get(code, STATUS[Code.INTERNAL])
