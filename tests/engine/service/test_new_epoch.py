"""A store that was restored is a new epoch: what was granted before is void, and what was called for is not done again."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support import asker
from tests.support.engine import Engine, engine
from tests.support.losing import delete, garble, restart, stop
from tests.support.places import ROOT
from tests.support.processes import wait_until
from tests.support.web import Page, page, port_of

TIMELESS = "0123456789abcdef0123456789abcdef"  # as 0.1.0 makes them: not a word of when


def lose(lit: Engine) -> None:
    """All that was there is in the snapshot that is restored."""
    stop(lit)
    garble(lit)


def follow(page: Page, lit: Engine) -> None:
    """To the port that this daemon listens on, as if it were the same."""
    assert page.cookie is not None
    page.port = port_of(lit)
    page.cookie = f"lamplighter-{page.port}={page.cookie.partition('=')[2]}"


def code_of(lit: Engine, operation: str, **arguments: Any) -> Code:
    with pytest.raises(LampError) as refused:
        lit.call(operation, **arguments)
    return refused.value.code


def test_logins_approvals_and_tokens_are_void_after_a_restore() -> None:
    with engine(LAMPLIGHTER_HTTP_PORT="0") as lit:
        mine = page(lit)
        other = lit.start("cat", name="other")["id"]
        request = _asked(lit)
        assert lit.call("decide_approval", request=request, decision="grant")["state"] == "granted"
        token = lit.call("create_token", name="outside", scope="read")["secret"]
        secret = _recovery_token(lit)
        restart(lit)
        follow(mine, lit)
        assert mine.ask("POST", "/api/call/list_sessions", "{}").status == 200
        lose(lit)
        assert lit.show(other)["state"] == "running"
        follow(mine, lit)
        assert mine.ask("POST", "/api/call/list_sessions", "{}").status == 401
        mine.secret = token
        assert mine.ask("POST", "/mcp", "{}", cookie=None, x_lamplighter_proof=None, origin=None).status == 401
        assert lit.call("list_approvals")["approvals"] == []
        assert code_of(lit, "decide_approval", request=request, decision="grant") is Code.NOT_FOUND
        assert code_of(lit, "resume_logical", namespace="delx", agent="anna", token=secret) is Code.FORBIDDEN


def _asked(lit: Engine) -> str:
    """The id of what an agent in a session asks the operator for."""
    answer = lit.folder / "answer"
    words = [sys.executable, asker.__file__, lit.home.run, str(answer), "plain", "kill_session"]
    words += [json.dumps({"session": "other", "force": True}), uuid.uuid4().hex]
    lit.start(*words, name="asks", headless=True)
    assert wait_until(answer.exists)
    return json.loads(answer.read_text())["error"]["details"]["request"]


def _recovery_token(lit: Engine) -> str:
    begun = lit.call("start_logical", name="anna", told={"agent_id": "anna"}, shared={"delx": "anna"})
    return lit.call("close_logical", session=begun["id"], policy="successor_allowed")["token"]


CALLS: dict[str, dict[str, Any]] = {
    "hand_off": {"checkpoint": "half of it is done"},
    "store_records": {"everywhere": True, "records": [{"content": "only once"}]},
}


@pytest.mark.parametrize("operation", CALLS)
def test_a_key_that_does_not_say_when_it_was_made(lit: Engine, operation: str) -> None:
    """Whoever is older than the loss may have asked before it; whoever is younger has not."""
    session = lit.start("sleep", "300", headless=True)["id"]
    given = {"session": session, **CALLS[operation]} if operation == "hand_off" else CALLS[operation]
    lit.call(operation, key=TIMELESS, **given)
    stop(lit)
    delete(lit)
    with pytest.raises(LampError) as unknown:
        lit.call(operation, key=TIMELESS, **given)
    assert unknown.value.code is Code.OUTCOME_UNKNOWN
    assert lit.call("list_records", all=True)["records"] == []
    by_a_younger = {"operation": operation, "key": "f" * 32, "arguments": given}
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.ordinary"],
        cwd=ROOT,
        input=json.dumps(by_a_younger),
        env=lit.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "result" in json.loads(done.stdout)
    assert len(lit.call("list_records", all=True)["records"]) == 1


def test_an_end_is_carried_out_whatever_its_key_says(lit: Engine) -> None:
    session = lit.start("sleep", "300", headless=True)["id"]
    stop(lit)
    delete(lit)
    assert lit.call("kill_session", key=TIMELESS, session=session, force=True, grace="0s")["state"] == "ended"
