"""Going on from a session: what the successor gets, who may, and that one hand-off has one successor."""

from __future__ import annotations

import json
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support import asker
from tests.support.engine import Engine
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared


def ended(lit: Engine, name: str, **words: str) -> str:
    """A session that has handed off and ended."""
    identifier = lit.start("sleep", "300", name=name)["id"]
    lit.call("end_session", session=identifier, **words)
    return identifier


def test_a_successor_gets_the_packet_in_a_file_and_in_its_environment(lit: Engine) -> None:
    before = ended(lit, "before", checkpoint="the lamp in the third street is out")
    after = lit.start(
        "sh",
        "-c",
        'cat "$LAMPLIGHTER_HANDOFF"; echo "from $LAMPLIGHTER_PREDECESSOR"',
        from_session="last",
        headless=True,
    )
    lit.call("wait_session", session=after["id"], until="ended", timeout="120s")
    assert lit.output(after["id"]).splitlines()[-1] == f"from {before}"
    assert before in lit.output(after["id"])
    lineage = lit.call("get_lineage", session=before)["generations"]
    assert [(one["id"], one["predecessor"], one["asked"]) for one in lineage] == [
        (before, None, True),
        (after["id"], before, False),
    ]


def test_the_packet_stands_where_the_command_says_so(lit: Engine) -> None:
    before = ended(lit, "before", checkpoint="half of it")
    after = lit.start("printf", "%s", "say: {handoff}", from_session=before, headless=True)
    lit.call("wait_session", session=after["id"], until="ended", timeout="120s")
    assert lit.output(after["id"]).startswith("say: ")
    assert before in lit.output(after["id"])
    assert lit.show(after["id"])["command"] == ["printf", "%s", "say: {handoff}"]


def test_an_agent_gets_it_as_its_first_prompt(lit: Engine, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\ncat\n')
    program.chmod(0o755)
    before = ended(lit, "before", checkpoint="half of it")
    after = lit.start(str(program), from_session=before, headless=True)
    lit.call("wait_session", session=after["id"], until="ended", timeout="120s")
    assert before in lit.output(after["id"])


def test_one_session_has_one_successor(lit: Engine) -> None:
    before = ended(lit, "before", checkpoint="x")
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(lit.start, "sleep", "300", from_session=before) for _ in range(6)]
    won = [one.result() for one in asked if one.exception() is None]
    lost = [one.exception() for one in asked if one.exception() is not None]
    assert len(won) == 1
    for error in lost:
        assert isinstance(error, LampError)
        assert error.code is Code.SUCCEEDED
        assert error.details["successor"] == won[0]["id"]


def test_a_start_that_fails_claims_nothing(lit: Engine, tmp_path: Path) -> None:
    before = ended(lit, "before", checkpoint="x")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF nothing")
    broken.chmod(0o755)
    with pytest.raises(LampError) as caught:
        lit.start(str(broken), from_session=before)
    assert caught.value.code is Code.START_FAILED
    assert lit.start("sleep", "300", from_session=before)["state"] == "running"


def test_closed_without_successor_is_the_operators_to_override(lit: Engine) -> None:
    before = ended(lit, "before", checkpoint="x", succession_policy="closed_without_successor")
    with pytest.raises(LampError) as caught:
        lit.start("sleep", "300", from_session=before)
    assert caught.value.code is Code.NO_SUCCESSOR
    assert lit.start("sleep", "300", from_session=before, force=True)["state"] == "running"


def test_a_required_successor_stays_on_the_list_until_there_is_one(lit: Engine) -> None:
    before = ended(lit, "before", checkpoint="x", succession_policy="successor_required")
    ended(lit, "other", checkpoint="y")
    assert [one["session"] for one in lit.call("list_handoffs", waiting=True)["handoffs"]] == [before]
    lit.kill(lit.daemon())
    assert [one["session"] for one in lit.call("list_handoffs", waiting=True)["handoffs"]] == [before]
    lit.start("sleep", "300", from_session=before)
    assert lit.call("list_handoffs", waiting=True)["handoffs"] == []


def test_what_is_alive_and_silent_has_no_successor(lit: Engine) -> None:
    living = lit.start("sleep", "300")["id"]
    with pytest.raises(LampError) as caught:
        lit.start("sleep", "300", from_session=living)
    assert caught.value.code is Code.ACTIVE
    lit.call("hand_off", session=living, checkpoint="take over")
    assert lit.start("sleep", "300", from_session=living)["state"] == "running"


def test_last_is_who_spoke_last_not_what_ran_last(lit: Engine) -> None:
    spoke = ended(lit, "spoke", checkpoint="go on here")
    ran = lit.start("true")
    lit.call("wait_session", session=ran["id"], until="ended", timeout="120s")
    after = lit.start("sleep", "300", from_session="last")
    assert lit.call("get_lineage", session=after["id"])["generations"][0]["id"] == spoke


def test_last_of_nothing_is_said(lit: Engine) -> None:
    with pytest.raises(LampError) as caught:
        lit.start("sleep", "300", from_session="last")
    assert caught.value.code is Code.NOT_FOUND


def inside(lit: Engine, operation: str, arguments: dict[str, Any], **start: Any) -> dict[str, Any]:
    """What a process in a new session is answered."""
    file = lit.folder / f"answer-{uuid.uuid4().hex}"
    words = [sys.executable, asker.__file__, lit.home.run, str(file), "plain", operation, json.dumps(arguments)]
    lit.start(*words, headless=True, **start)
    assert wait_until(file.exists)
    return json.loads(file.read_text())


def test_a_successor_has_what_its_predecessor_started(lit: Engine) -> None:
    before = lit.start("sleep", "300", name="before")["id"]
    child = lit.start("sleep", "300", parent=before)["id"]
    stranger = inside(lit, "kill_session", {"session": child, "force": True})
    assert stranger["error"]["code"] in ("FORBIDDEN", "APPROVAL_NEEDED")
    spare = lit.start("sleep", "300", parent=before)["id"]
    lit.call("end_session", session=before, checkpoint="x")
    heir = inside(lit, "kill_session", {"session": child, "force": True}, from_session=before)
    assert heir["result"]["state"] == "ended"
    mine = inside(lit, "list_sessions", {"selection": "mine"}, from_session=before, force=True)["result"]["sessions"]
    assert [one["id"] for one in mine] == [spare]


def test_what_an_agent_goes_on_from_must_be_its_own_or_its_projects(lit: Engine, tmp_path: Path) -> None:
    """And it inherits only from what is its own: else it could have itself given the rights over another's children."""
    before = lit.start("sleep", "300", name="before", cwd=str(tmp_path))["id"]
    child = lit.start("sleep", "300", parent=before)["id"]
    lit.call("end_session", session=before, checkpoint="x")
    wanted = {"command": ["sleep", "300"], "cwd": str(tmp_path), "from_session": before}
    assert inside(lit, "start_session", wanted, cwd="/")["error"]["code"] == "FORBIDDEN"
    assert inside(lit, "start_session", {**wanted, "force": True}, cwd=str(tmp_path))["error"]["code"] == "FORBIDDEN"
    file = lit.folder / "answer"
    kill = json.dumps({"session": child, "force": True})
    words = [sys.executable, asker.__file__, lit.home.run, str(file), "plain", "kill_session", kill]
    inside(lit, "start_session", {**wanted, "command": words}, cwd=str(tmp_path))
    assert wait_until(file.exists)
    assert json.loads(file.read_text())["error"]["code"] in ("FORBIDDEN", "APPROVAL_NEEDED")
