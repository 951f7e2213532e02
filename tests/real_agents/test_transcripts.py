"""Real agents' own transcripts, while they run: replies, messages by cursor, tokens, and which conversation it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.engine import Engine, engine
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.staged import Stage

pytestmark = pytest.mark.agents


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    with engine() as made:
        yield made


def _reply(lit: Engine, session: str) -> dict[str, Any]:
    return lit.call("wait_session", session=session, until="reply", timeout="100s")


def _read(lit: Engine, session: str, **more: Any) -> dict[str, Any]:
    return lit.call("read_output", session=session, mode="transcript", **more)


def _said(page: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["text"]) for message in page["messages"]]


def test_replies_and_messages_in_a_terminal(stage: Callable[..., Stage], lit: Engine) -> None:
    staged = stage(lit)
    session = staged.terminal()
    staged.submit(session, "word-of-the-first")
    assert staged.shows(session, "STUB-REPLY 1: word-of-the-first"), staged.told(session)
    found = _reply(lit, session)
    assert (found["reply"], found["turn"], found["source"]) == (
        "STUB-REPLY 1: word-of-the-first",
        "done",
        "transcript",
    ), staged.told(session)
    page = _read(lit, session)
    assert _said(page) == [("user", "word-of-the-first"), ("assistant", "STUB-REPLY 1: word-of-the-first")]
    staged.submit(session, "word-of-the-second")
    assert _reply(lit, session)["reply"] == "STUB-REPLY 2: word-of-the-second"
    assert _said(_read(lit, session, since=page["cursor"])) == [
        ("user", "word-of-the-second"),
        ("assistant", "STUB-REPLY 2: word-of-the-second"),
    ]
    shown = lit.show(session)
    assert shown["tokens"]["output"] > 0, shown
    if staged.agent.name == "claude":
        _cleared(staged, lit, session)


def _cleared(staged: Stage, lit: Engine, session: str) -> None:
    """Another conversation, and the same session; nothing that was said is lost."""
    before = lit.show(session)["conversation"]["id"]
    lit.call("send_input", session=session, text="/clear", enter=False)
    assert staged.shows(session, "/clear"), staged.told(session)
    lit.call("send_input", session=session, text="Enter", keys=True)
    assert wait_until(lambda: lit.show(session)["conversation"]["id"] != before, 30), staged.told(session)
    staged.submit(session, "word-of-the-third")
    assert _reply(lit, session)["reply"].endswith("word-of-the-third")
    assert [text for role, text in _said(_read(lit, session, lines=20)) if role == "user"] == [
        "word-of-the-first",
        "word-of-the-second",
        "word-of-the-third",
    ]


def test_the_reply_of_one_that_answers_and_leaves(stage: Callable[..., Stage], lit: Engine) -> None:
    staged = stage(lit)
    session = staged.headless("word-of-the-only")
    found = _reply(lit, session)
    assert (found["reply"], found["source"]) == ("STUB-REPLY 1: word-of-the-only", "transcript"), staged.told(session)
    ended = staged.ended(session)
    assert ended["tokens"]["output"] > 0
    assert ended["conversation"]["id"]
    assert _said(_read(lit, session)) == [
        ("user", "word-of-the-only"),
        ("assistant", "STUB-REPLY 1: word-of-the-only"),
    ]
