"""Going on from a session: what the successor gets, who may, and that one hand-off has one successor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lamplighter.errors import Code, LampError
from lamplighter.testing.engine import Engine


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
    lit.call("wait_session", session=after["id"], until="ended", timeout="30s")
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
    lit.call("wait_session", session=after["id"], until="ended", timeout="30s")
    assert lit.output(after["id"]).startswith("say: ")
    assert before in lit.output(after["id"])
    assert lit.show(after["id"])["command"] == ["printf", "%s", "say: {handoff}"]


def test_an_agent_gets_it_as_its_first_prompt(lit: Engine, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    program.chmod(0o755)
    before = ended(lit, "before", checkpoint="half of it")
    after = lit.start(str(program), from_session=before, headless=True)
    lit.call("wait_session", session=after["id"], until="ended", timeout="30s")
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
    lit.call("wait_session", session=ran["id"], until="ended", timeout="30s")
    after = lit.start("sleep", "300", from_session="last")
    assert lit.call("get_lineage", session=after["id"])["generations"][0]["id"] == spoke


def test_last_of_nothing_is_said(lit: Engine) -> None:
    with pytest.raises(LampError) as caught:
        lit.start("sleep", "300", from_session="last")
    assert caught.value.code is Code.NOT_FOUND
