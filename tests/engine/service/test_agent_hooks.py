"""Hooks of agents in sessions: what they tell is so once, what they get fits, and nothing of it decides how a session ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.hooked import LAMP, Hooked
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def hand_over(lit: Engine, folder: Path, *texts: str) -> None:
    """What somebody before left in this folder."""
    lit.call("store_records", records=[{"content": text, "type": "constraint"} for text in texts], folder=str(folder))


def quiet(lit: Engine, event: str, **options: Any) -> bool:
    """Whether a hook that nobody's session runs says nothing, and succeeds."""
    done = subprocess.run(
        [LAMP, "hook", "claude", event], env=lit.environment, capture_output=True, check=False, timeout=200, **options
    )
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def conversation(lit: Engine, session: str) -> dict[str, Any]:
    found = [event for event in lit.events(session) if event["action"] == "conversation"]
    return found[-1]["detail"] if found else {}


def test_a_start_names_the_conversation_and_gives_the_packet_once(both: Engine, shop: Path, tmp_path: Path) -> None:
    hand_over(both, shop, "never touch the lexer")
    agent = Hooked(both, tmp_path, cwd=str(shop))
    said = {"session_id": "conv-1", "transcript_path": "/nowhere.jsonl", "cwd": str(shop), "source": "startup"}
    given = agent.context("start", **said)
    assert "never touch the lexer" in given
    assert len(given) <= 10_000
    assert conversation(both, agent.id)["conversation"] == "conv-1"
    before = len(both.events(agent.id))
    assert agent.hook("start", said) == "", "twice fired, given once"
    assert len(both.events(agent.id)) == before


def test_what_is_no_id_names_no_conversation(lit: Engine, shop: Path, tmp_path: Path) -> None:
    """Whoever goes on with this session would give it to the agent among its options. The rest of the hook counts."""
    hand_over(lit, shop, "never touch the lexer")
    agent = Hooked(lit, tmp_path, cwd=str(shop))
    said = {"cwd": str(shop), "source": "startup"}
    assert "never touch the lexer" in agent.context("start", session_id="--dangerously-skip-permissions", **said)
    for forged in ("a b", "\x1b[2J", "a\u2028b", "x" * 201, "conv-1\n"):
        agent.hook("start", {"session_id": forged, **said})
    assert conversation(lit, agent.id) == {}


@pytest.mark.alone
def test_after_a_restart_of_the_daemon_it_is_still_given_once(lit: Engine, shop: Path, tmp_path: Path) -> None:
    hand_over(lit, shop, "never touch the lexer")
    agent = Hooked(lit, tmp_path, cwd=str(shop))
    said = {"session_id": "conv-1", "cwd": str(shop), "source": "startup"}
    assert agent.hook("start", said)
    lit.kill(lit.daemon())
    assert agent.hook("start", said) == ""


def test_where_nothing_was_left_nothing_is_said(lit: Engine, shop: Path, tmp_path: Path) -> None:
    agent = Hooked(lit, tmp_path, cwd=str(shop))
    assert agent.hook("start", {"session_id": "conv-1", "cwd": str(shop), "source": "startup"}) == ""


def test_what_goes_on_has_it_already(lit: Engine, shop: Path, tmp_path: Path) -> None:
    hand_over(lit, shop, "never touch the lexer")
    agent = Hooked(lit, tmp_path, cwd=str(shop))
    assert agent.hook("start", {"session_id": "conv-9", "source": "resume", "cwd": str(shop)}) == ""
    assert conversation(lit, agent.id)["conversation"] == "conv-9"


@pytest.mark.alone
def test_a_packet_that_does_not_fit_is_told_of(lit: Engine, shop: Path, tmp_path: Path) -> None:
    for hundred in range(2):
        hand_over(lit, shop, *(f"rule {hundred}.{number}: " + "x" * 80 for number in range(100)))
    agent = Hooked(lit, tmp_path, cwd=str(shop))
    given = agent.context("start", session_id="c", source="startup", cwd=str(shop))
    assert "load_handoff with a budget of" in given
    assert len(given) <= 10_000


def transcript(folder: Path, words: str) -> Path:
    path = folder / "t.jsonl"
    said = {"role": "user", "content": words}
    user = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "conv-1", "message": said}
    path.write_text(json.dumps(user) + "\n")
    return path


def test_what_compaction_would_lose_is_captured_and_given_back(lit: Engine, shop: Path, tmp_path: Path) -> None:
    hand_over(lit, shop, "never touch the lexer")
    agent = Hooked(lit, tmp_path, cwd=str(shop))
    path = transcript(shop, "mend the date parser, please")
    said = {"session_id": "conv-1", "transcript_path": str(path), "cwd": str(shop)}
    agent.hook("start", {**said, "source": "startup"})
    assert agent.hook("compact", {**said, "trigger": "auto"}) == ""
    assert agent.hook("compact", {**said, "trigger": "auto"}) == ""
    (capture,) = lit.call("list_captures", session=agent.id)["captures"]
    assert capture["reason"] == "before compaction (auto)"
    given = agent.context("start", **said, source="compact")
    assert "never touch the lexer" in given
    assert "mend the date parser, please" in given
    assert len(given) <= 10_000
    assert agent.hook("start", {**said, "source": "compact"}) == "", "two hooks for one compaction"
    path.write_text(path.read_text() * 2)
    agent.hook("compact", {**said, "trigger": "manual"})
    assert agent.context("start", **said, source="compact"), "the next compaction is another"


def test_clear_is_no_end_and_the_session_stays(lit: Engine, shop: Path, tmp_path: Path) -> None:
    hand_over(lit, shop, "never touch the lexer")
    agent = Hooked(lit, tmp_path, cwd=str(shop))
    path = transcript(shop, "mend the date parser")
    said = {"session_id": "conv-1", "transcript_path": str(path), "cwd": str(shop)}
    agent.hook("start", {**said, "source": "startup"})
    agent.hook("end", {**said, "reason": "clear"})
    given = agent.context("start", session_id="conv-2", cwd=str(shop), source="clear")
    assert "never touch the lexer" in given
    assert "mend the date parser" in given
    assert conversation(lit, agent.id)["conversation"] == "conv-2"
    assert lit.show(agent.id)["state"] == "running"
    assert not [event for event in lit.events(agent.id) if event["action"] == "agent_left"]


def test_an_end_is_noted_once_and_ends_nothing(lit: Engine, tmp_path: Path) -> None:
    agent = Hooked(lit, tmp_path)
    agent.hook("start", {"session_id": "conv-1", "source": "startup"})
    for _ in range(2):
        agent.hook("end", {"session_id": "conv-1", "reason": "prompt_input_exit"})
    agent.hook("end", {"session_id": "conv-0", "reason": "other"})
    found = [event["detail"] for event in lit.events(agent.id) if event["action"] == "agent_left"]
    assert found == [{"conversation": "conv-1", "reason": "prompt_input_exit"}]
    assert lit.show(agent.id)["state"] == "running"


def test_an_agent_inside_the_agent_does_not_speak_for_it(both: Engine, shop: Path, tmp_path: Path) -> None:
    """As when a tool of Claude's runs `claude -p`: the same hooks, in the same session, of another conversation."""
    agent = Hooked(both, tmp_path, cwd=str(shop))
    agent.hook("start", {"session_id": "conv-1", "source": "startup"})
    inner = tmp_path / "inner" / "claude"
    inner.parent.mkdir()
    inner.write_text('sh -c "$1"\n')
    tool = tmp_path / "tool"
    tool.write_text('bash "$1" "$2"\ntrue\n')
    for event in ("start", "stop", "end"):
        agent.hook(event, {"session_id": "conv-inner", "source": "startup", "reason": "other"}, f"bash {tool} {inner}")
    assert conversation(both, agent.id)["conversation"] == "conv-1"
    assert not [event for event in both.events(agent.id) if event["action"] == "agent_left"]


def test_a_late_start_does_not_bring_the_old_conversation_back(lit: Engine, tmp_path: Path) -> None:
    """Begun before the newer one, and heard after it."""
    agent = Hooked(lit, tmp_path)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    said = tmp_path / "late.json"
    said.write_text(json.dumps({"session_id": "conv-old", "source": "startup"}))
    done = tmp_path / "late.done"
    agent.order(f"( {LAMP} hook claude start < {gate}; echo $? > {done}.part; mv {done}.part {done} ) &")
    with gate.open("wb") as held:  # open on both sides: it has begun, and waits for what it is told
        agent.hook("start", {"session_id": "conv-new", "source": "clear"})
        held.write(said.read_bytes())
    assert wait_until(done.exists)
    assert conversation(lit, agent.id)["conversation"] == "conv-new"


GARBAGE = (b"", b"\xff\xfe", b"[1]", b'{"session_id": 7}', b'{"session_id": "a\\u0000b"}', b"{" * 100_000)


def test_garbage_breaks_nothing_and_of_ten_megabytes_what_matters_is_told(lit: Engine, tmp_path: Path) -> None:
    agent = Hooked(lit, tmp_path)
    for garbage in GARBAGE:
        assert agent.hook("start", garbage) == ""
    for event in ("stop", "compact", "end"):
        assert agent.hook(event, GARBAGE[1]) == ""
        assert agent.hook(event, b"x" * 10_000_000) == ""
    assert conversation(lit, agent.id) == {}
    assert lit.show(agent.id)["state"] == "running"
    agent.hook("start", {"session_id": "conv-1", "source": "startup", "prompt": "x" * 10_000_000})
    assert conversation(lit, agent.id)["conversation"] == "conv-1"


def test_after_the_end_it_changes_nothing(lit: Engine, tmp_path: Path) -> None:
    """Asked as the session by whoever is still there of it, and refused nothing: there is nothing left to change."""
    agent = Hooked(lit, tmp_path)
    agent.hook("start", {"session_id": "conv-1", "source": "startup"})
    lit.call("kill_session", session=agent.id, grace="0s", force=True)
    before = lit.events(agent.id)
    assert quiet(lit, "end", input=b'{"session_id": "conv-1", "reason": "other"}')
    assert lit.events(agent.id) == before


@pytest.mark.alone
def test_a_daemon_is_started_for_a_start_and_for_nothing_else(lit: Engine) -> None:
    for event in ("stop", "end", "compact", "start"):
        assert not (lit.folder / "run" / "daemon.sock").exists(), event
        assert quiet(lit, event, input=b"{}")
    assert wait_until((lit.folder / "run" / "daemon.sock").exists)


@pytest.mark.alone
def test_a_daemon_that_hangs_is_not_waited_for(lit: Engine, tmp_path: Path) -> None:
    agent = Hooked(lit, tmp_path)
    pid, _ = lit.daemon()
    os.kill(pid, signal.SIGSTOP)
    try:
        for event in ("start", "stop"):
            assert agent.hook(event, {"session_id": "conv-1"}) == ""
    finally:
        os.kill(pid, signal.SIGCONT)
    assert lit.show(agent.id)["state"] == "running"


@pytest.mark.alone
def test_input_that_never_ends_is_not_waited_for(lit: Engine) -> None:
    lit.call("get_status")
    reader, writer = os.pipe()
    try:
        assert quiet(lit, "stop", stdin=reader)
    finally:
        os.close(reader)
        os.close(writer)
