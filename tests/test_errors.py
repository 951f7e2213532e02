"""Errors as documents: what a peer sends arrives as it was sent, also from a release that has more codes."""

from __future__ import annotations

import pytest

from lamplighter.errors import Code, ForbiddenError, LampError, MissingError
from lamplighter.frontends.cli import exit_status as cli
from lamplighter.frontends.web import http_status as web

NEWER = {"code": "HOST_UNREACHABLE", "message": "laptop does not answer", "hint": "wait", "details": {"host": "laptop"}}


@pytest.mark.parametrize("code", Code)
def test_every_code_arrives_as_itself(code: Code) -> None:
    error = LampError.from_document({"code": code.value, "message": "m", "hint": "h", "details": {"a": 1}})
    assert error.code is code
    assert code in type(error).codes
    assert error.document() == {"code": code.value, "message": "m", "hint": "h", "details": {"a": 1}}


def test_a_code_that_is_not_known_is_carried() -> None:
    error = LampError.from_document(NEWER)
    assert type(error) is LampError
    assert error.document() == NEWER
    assert error.code == Code.of("HOST_UNREACHABLE") != Code.INTERNAL
    assert f"{error.code}" == error.code.value == "HOST_UNREACHABLE"
    assert "HOST_UNREACHABLE" not in Code.__members__


@pytest.mark.parametrize("code", ["", "no code", "not_found", "A" * 41, "\x1b[31m", None, 7])
def test_what_is_no_code_is_a_fault(code: object) -> None:
    assert LampError.from_document({**NEWER, "code": code}).code is Code.INTERNAL


def test_a_front_end_has_a_status_for_it() -> None:
    newer = LampError.from_document(NEWER).code
    assert cli.status_of(newer) == cli.STATUS[Code.INTERNAL]
    assert web.status_of(newer) == web.STATUS[Code.INTERNAL]
    assert cli.status_of(Code.NOT_FOUND) == 4


def test_details_that_are_called_like_parts_of_an_error_do_no_harm() -> None:
    found = LampError.from_document({"code": "NOT_FOUND", "message": "m", "hint": "h", "details": {"code": 1, "x": 2}})
    assert isinstance(found, MissingError)
    assert found.details == {"x": 2}
    assert isinstance(LampError.from_document({"code": "FORBIDDEN"}), ForbiddenError)
