"""What the page's doors show where agents read their own alone: all to the operator, and to a token what was started with it."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from tests.support.engine import Engine, engine
from tests.support.web import Page, Web, page, web

MARKER = "MARKER-77"


@pytest.fixture
def own() -> Generator[Engine]:
    with engine(LAMPLIGHTER_HTTP_PORT="0", LAMPLIGHTER_AGENTS_READ="own") as made:
        yield made


def printed(made: Engine, name: str) -> str:
    session = made.start("cat", name=name)["id"]
    made.call("send_input", session=session, text=MARKER)
    made.call("wait_session", session=session, until=f"text={MARKER}", since=0, timeout="60s")
    return session


@contextmanager
def with_token(made: Engine) -> Generator[Page]:
    """The page's script with a token instead of a login."""
    mine = Page(made)
    mine.secret = web(made, scope="read,start").secret
    yield mine


def terminal(door: Web, session: str) -> str:
    """The first that a terminal says, and what comes with it."""
    told = {"Authorization": f"Bearer {door.secret}"}
    origin = Origin(f"http://127.0.0.1:{door.port}")
    address = f"ws://127.0.0.1:{door.port}/api/terminal/{session}"
    with connect(address, origin=origin, subprotocols=[Subprotocol("lamplighter")], additional_headers=told) as socket:
        first = socket.recv(30)
        if "error" in json.loads(first):
            return str(first)
        return str(first) + str(socket.recv(30))


def in_full(door: Page, session: str) -> dict[str, Any]:
    with door.live(session=session) as events:
        return next(data for event, data in events if event == "session")


def test_a_token_is_shown_its_own_alone(own: Engine) -> None:
    living, over = printed(own, "living"), printed(own, "over")
    own.call("end_session", session=over, checkpoint="all done")
    with with_token(own) as door:
        mine = door.do("start_session", command=["sh", "-c", "printf 'MARK%s\\n' ER-77; exec cat"], cwd="/")["id"]
        own.call("wait_session", session=mine, until=f"text={MARKER}", since=0, timeout="60s")
        assert MARKER in door.do("read_output", session=mine)["text"]
        assert MARKER in terminal(door, mine)
        assert door.do("read_output", session=living)["code"] == "APPROVAL_NEEDED"
        assert "FORBIDDEN" in terminal(door, living)
        assert in_full(door, living)["name"] == "living"
        assert in_full(door, over)["ending"]["summary"]["last_lines"] == []


def test_the_page_is_shown_all(own: Engine) -> None:
    living, over = printed(own, "living"), printed(own, "over")
    own.call("end_session", session=over, checkpoint="all done")
    door = page(own)
    assert MARKER in door.do("read_output", session=living)["text"]
    assert MARKER in in_full(door, over)["ending"]["summary"]["last_lines"]
    with door.terminal(living) as socket:
        assert json.loads(socket.recv(30))["type"] == "screen"
