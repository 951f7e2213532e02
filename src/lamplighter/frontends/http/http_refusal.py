"""What is answered to those who are not let in. Knows HTTP; knows no rule."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from lamplighter.domain.permission import Caller, Rank
from lamplighter.errors import Code

STRANGER = Caller(Rank.NOBODY, "http")


class HttpRefusal(Exception):
    """`reason` is what the event says; None for what is only not there."""

    def __init__(
        self, status: int, code: Code, message: str, hint: str, reason: str | None = None, by: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.reason = reason
        self.by = by
        self.closes = False  # the connection ends with the answer, and what comes after is not looked at

    @property
    def caller(self) -> Caller:
        return Caller(Rank.TOKEN, self.by) if self.by else STRANGER

    def response(self) -> Response:
        headers = {"content-type": "application/json", "cache-control": "no-store"}
        if self.closes:
            headers["connection"] = "close"
        if self.status == 401:
            headers["www-authenticate"] = 'Bearer realm="lamplighter"'
        error: dict[str, Any] = {"code": self.code.value, "message": self.message, "hint": self.hint, "details": {}}
        return Response(json.dumps({"error": error}), self.status, headers)
