"""Agents are started in their own way: their words, their conversations, what they are told first."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support import recording_agent
from tests.support.engine import Engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mortality import deaths
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared

PROGRAMS = ("claude", "codex", "gemini", "opencode", "kiro-cli", "qwen", "copilot", "pi", "aider")


@dataclass
class Stage:
    """An engine with every agent's program on the PATH, and what they wrote down."""

    lit: Engine
    folder: Path
    path: str

    def start(self, *words: str, **arguments: Any) -> dict[str, Any]:
        usual = {"command": list(words), "cwd": str(self.folder), "environment": self.environment()}
        return self.lit.call("start_session", **{**usual, **arguments})

    def environment(self, **more: str) -> dict[str, str]:
        return {"PATH": self.path, "HOME": str(self.folder), "RECORD": str(self.folder / "record"), **more}

    def records(self, count: int = 1) -> list[dict[str, Any]]:
        """What was written down, once there is so much of it."""
        file = self.folder / "record"

        def read() -> list[dict[str, Any]]:
            lines = file.read_text().splitlines(keepends=True) if file.exists() else []
            return [json.loads(line) for line in lines if line.endswith("\n")]

        assert wait_until(lambda: len(read()) >= count)
        return read()

    def headless(self, agent: str, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Started for one task and over: how it was started, and what it wrote down."""
        started = self.start(agent=agent, headless=True, **{"prompt": "go", **arguments})
        self.lit.call("wait_session", session=started["id"], until="ended", timeout="120s")
        return started, self.records()[-1]

    def refused(self, *words: str, **arguments: Any) -> LampError:
        with pytest.raises(LampError) as caught:
            self.start(*words, **arguments)
        return caught.value


@pytest.fixture
def stage(lit: Engine, tmp_path: Path) -> Stage:
    return Stage(lit, tmp_path, recording_agent.install(tmp_path / "bin", *PROGRAMS))


# What is known of each program: terminal, one task. U is a conversation's id, P the prompt.
NEW = {
    "claude": ("--session-id U -- P", "-p --output-format stream-json --verbose --session-id U"),
    "codex": ('-c projects./dev/null.trust_level="untrusted" -- P', "exec --json --skip-git-repo-check"),
    "gemini": ("--session-id U --prompt-interactive=P", "-o stream-json --skip-trust --session-id U"),
    "opencode": ("--prompt=P", "run --format json"),
    "kiro": ("chat -- P", "chat --no-interactive"),
    "qwen": ("--prompt-interactive=P", "-o stream-json"),
    "copilot": ("--interactive=P", "--output-format json --prompt=P"),
}
TYPED = {"pi": "--mode json --print", "aider": "--message=P"}
"""On a terminal their first prompt is typed."""
ON = {
    "claude": "-p --output-format stream-json --verbose --resume U --model big --debug",
    "codex": "exec resume --json --skip-git-repo-check U --model big --debug",
    "gemini": "-o stream-json --skip-trust --resume U --model big --debug",
    "opencode": "run --format json --session U --model big --debug",
    "kiro": "chat --no-interactive --resume-id U --model big --debug",
    "qwen": "-o stream-json --resume U --model big --debug",
    "copilot": "--output-format json --resume=U --model big --debug --prompt=P",
    "pi": "--mode json --print --session U --model big --debug",
}


def words(line: str, conversation: str | None, prompt: str) -> list[str]:
    return [word.replace("U", conversation or "").replace("P", prompt) for word in line.split()]


def test_each_begins_in_its_own_way(stage: Stage) -> None:
    prompt = "-x 'mend' \"it\" \U0001f3ee\nand this: $(id) {prompt}"
    for count, (agent, (terminal, headless)) in enumerate(NEW.items()):
        started = stage.start(agent=agent, prompt=prompt)
        record = stage.records(2 * count + 1)[-1]
        assert record["words"] == words(terminal, started["conversation"], prompt), agent
        assert record["input"] is None
        shown = stage.lit.show(started["id"])
        assert (shown["agent"], shown["name"]) == (agent, agent)
        started, record = stage.headless(agent, prompt=prompt)
        assert record["words"] == words(headless, started["conversation"], prompt), agent
        assert record["input"] == ("" if "P" in headless else prompt)
        assert ("never tried" in (started["note"] or "")) == (agent in ("kiro", "qwen", "copilot"))


def test_one_task_for_those_whose_first_prompt_is_typed(stage: Stage) -> None:
    for agent, headless in TYPED.items():
        _, record = stage.headless(agent, prompt="go")
        assert record["words"] == words(headless, None, "go"), agent
        assert record["input"] == ("" if "P" in headless else "go")


def test_each_goes_on_in_its_own_way(stage: Stage) -> None:
    for agent, line in ON.items():
        own = uuid.uuid4().hex
        started, record = stage.headless(agent, command=["--debug"], resume=own, model="big")
        assert record["words"] == words(line, own, "go"), agent
        assert started["conversation"] == own
        assert stage.lit.call("list_events", session=started["id"])["events"]


def test_its_conversation_is_known_from_the_first(stage: Stage) -> None:
    started = stage.start(agent="claude")
    assert str(uuid.UUID(started["conversation"])) == started["conversation"]
    assert stage.refused(agent="claude", resume=started["conversation"]).code is Code.ACTIVE
    assert stage.start(agent="codex")["conversation"] is None


@pytest.mark.parametrize("by", ["id", "name", "conversation", "last"])
def test_a_session_that_was_in_it_is_gone_on_with(stage: Stage, by: str) -> None:
    before, _ = stage.headless("claude", name="before")
    stage.headless("codex", name="other")
    stage.headless("claude", name="elsewhere", cwd="/")
    after, record = stage.headless("claude", resume=before[by] if by != "last" else "last")
    assert after["conversation"] == before["conversation"]
    assert record["words"][-2:] == ["--resume", before["conversation"]]


def test_the_last_of_nobody_is_the_agents_own(stage: Stage) -> None:
    _, record = stage.headless("gemini", resume="last")
    assert record["words"][-2:] == ["--resume", "latest"]
    _, record = stage.headless("codex", resume="last")
    assert record["words"][-1] == "--last"


def test_two_are_never_in_one_conversation(stage: Stage) -> None:
    before, _ = stage.headless("claude")
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(stage.start, agent="claude", resume="last") for _ in range(4)]
    lost = [one.exception() for one in asked if one.exception() is not None]
    assert len(lost) == 3
    assert all(isinstance(error, LampError) and error.code is Code.ACTIVE for error in lost)
    (won,) = [one.result() for one in asked if one.exception() is None]
    assert won["conversation"] == before["conversation"]


WRONG: dict[str, tuple[dict[str, Any], Code, str]] = {
    "unknown": ({"agent": "clod"}, Code.NO_SUCH_PROGRAM, "claude, codex"),
    "no task": ({"agent": "claude", "headless": True}, Code.BAD_INPUT, "--prompt"),
    "no model": ({"agent": "generic", "command": ["cat"], "model": "big"}, Code.BAD_INPUT, "--agent"),
    "no resume": ({"command": ["cat"], "resume": "last"}, Code.BAD_INPUT, "--agent"),
    "contradiction": ({"agent": "claude", "command": ["--resume", "x"]}, Code.BAD_INPUT, "--resume"),
    "equality": ({"agent": "gemini", "command": ["--session-id=x"]}, Code.BAD_INPUT, "--resume"),
    "option": ({"agent": "claude", "resume": "--dangerously"}, Code.BAD_INPUT, "last"),
    "blank": ({"agent": "codex", "resume": "a b"}, Code.BAD_INPUT, "last"),
    "nul": ({"agent": "codex", "prompt": "a\0b"}, Code.BAD_INPUT, "NUL"),
    "overlooked": ({"agent": "opencode", "resume": "last", "prompt": "x"}, Code.BAD_INPUT, "lamp send"),
    "nothing": ({}, Code.EMPTY_COMMAND, "--"),
    "nothing generic": ({"agent": "generic", "prompt": "x"}, Code.EMPTY_COMMAND, "--"),
    "long model": ({"agent": "codex", "model": "x" * 201}, Code.BAD_INPUT, "model"),
    "no prompt": ({"agent": "codex", "prompt": ""}, Code.BAD_INPUT, "prompt"),
}


def test_what_makes_no_sense_is_refused_and_nothing_is_started(stage: Stage) -> None:
    for name, (arguments, code, said) in WRONG.items():
        error = stage.refused(**arguments)
        assert error.code is code, name
        assert said in f"{error.message} {error.hint}", name
    assert stage.lit.call("list_sessions")["sessions"] == []


def test_what_is_not_installed_says_how_to_get_it(stage: Stage) -> None:
    error = stage.refused(agent="codex", environment={"PATH": "/nowhere"})
    assert error.code is Code.NO_SUCH_PROGRAM
    assert "npm install -g @openai/codex" in error.hint


def test_another_agents_conversation_is_no_use(stage: Stage) -> None:
    before, _ = stage.headless("claude", name="before")
    assert "--from" in stage.refused(agent="codex", resume="before").hint
    away = stage.refused(agent="claude", resume=before["id"], cwd="/")
    assert f"--cwd {stage.folder}" in away.hint
    silent, _ = stage.headless("kiro", name="silent")
    assert stage.refused(agent="kiro", resume=silent["id"]).code is Code.NOT_FOUND


def test_a_program_of_ones_own(stage: Stage) -> None:
    elsewhere = stage.folder / "elsewhere"
    recording_agent.install(elsewhere, "claude")
    _, record = stage.headless("claude", command=[str(elsewhere / "claude"), "--add-dir", "x"])
    assert record["words"][-2:] == ["--add-dir", "x"]
    assert record["words"][:1] == ["-p"]


def test_a_plain_command_stays_as_it_is(stage: Stage) -> None:
    stage.start("claude", "--debug")
    assert stage.records(1)[-1]["words"] == ["--debug"]
    stage.start("claude")
    assert stage.records(2)[-1]["words"] == []
    started = stage.start("claude", "--debug", prompt="go")
    assert stage.records(3)[-1]["words"] == ["--session-id", started["conversation"], "--debug", "--", "go"]


def test_any_command_is_told_on_its_input(stage: Stage) -> None:
    started = stage.start("cat", prompt="two\nlines", headless=True)
    stage.lit.call("wait_session", session=started["id"], until="ended", timeout="120s")
    assert stage.lit.output(started["id"]) == "two\nlines"
    assert not list(Path(started["folder"]).glob("prompt*"))
    started = stage.start("cat", prompt="a line")
    stage.lit.call("wait_session", session=started["id"], until="text=a line", timeout="120s")
    assert not list(Path(started["folder"]).glob("prompt*"))


def test_a_prompt_too_long_for_an_argument_is_a_file(stage: Stage) -> None:
    prompt = "\U0001f3ee" * 50_000
    started = stage.start(agent="claude", prompt=prompt)
    told = stage.records()[-1]["words"][-1]
    place = f"{started['folder']}/prompt.md"
    assert place in told
    assert place in started["note"]
    assert Path(place).read_text() == prompt
    _, record = stage.headless("claude", prompt=prompt)
    assert record["input"] == prompt


def ended(stage: Stage) -> str:
    identifier = stage.lit.start("sleep", "300", cwd=str(stage.folder))["id"]
    stage.lit.call("end_session", session=identifier, checkpoint="the third lamp is out")
    return identifier


def test_the_packet_and_the_prompt_are_one(stage: Stage) -> None:
    before = ended(stage)
    started = stage.start(agent="claude", prompt="go on", from_session=before)
    told = stage.records()[-1]["words"][-1]
    assert "the third lamp is out" in told
    assert told.endswith("\n\ngo on")
    assert stage.lit.show(started["id"])["command"][-1] == "{handoff} go on"
    _, record = stage.headless("codex", prompt=None, from_session=before, force=True)
    assert "the third lamp is out" in record["input"]
    _, record = stage.headless("opencode", prompt="see {handoff}!", from_session=before, force=True)
    assert record["input"].startswith("see #")
    assert record["input"].count("the third lamp is out") == 1


def test_a_packet_that_does_not_fit_is_named(stage: Stage) -> None:
    started = stage.start(agent="claude", prompt="x" * 130_900, from_session=ended(stage))
    record = stage.records()[-1]
    assert f"{started['folder']}/handoff.md" == record["handoff"]
    assert record["handoff"] in record["words"][-1]
    assert record["words"][-1].endswith("\n\n" + "x" * 130_900)
    assert record["handoff"] in started["note"]


def test_it_is_in_no_other_agent(stage: Stage) -> None:
    inside = stage.environment(CLAUDECODE="1", GEMINI_CLI="1", CODEX_SESSION_ID="x")
    _, record = stage.headless("claude", environment=inside)
    assert record["marks"] == []
    _, record = stage.headless("claude", environment=inside, env={"CLAUDECODE": "1"})
    assert record["marks"] == ["CLAUDECODE"]


def test_one_agent_starts_another_without_settings(stage: Stage) -> None:
    given = {"task": "-do it", "cwd": str(stage.folder), "environment": stage.environment(CLAUDECODE="1")}
    spawned = stage.lit.call("spawn_agent", agent="codex", **given)
    record = stage.records()[-1]
    assert (record["words"][:2], record["input"], record["marks"]) == (["exec", "--json"], "-do it", [])
    assert spawned["agent"] == "codex"
    stage.lit.call("spawn_agent", agent="claude", stays=True, model="big", **given)
    assert stage.records(2)[-1]["words"][-4:] == ["--model", "big", "--", "-do it"]


def test_from_the_command_line(stage: Stage) -> None:
    env = {**stage.lit.environment, **stage.environment()}
    asked = ("start", "--agent", "claude", "--prompt=--odd", "--model", "big", "--", "--debug")
    ran = stage.lit.cli(*asked, env=env, cwd=stage.folder)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("started claude (")
    assert stage.records()[-1]["words"][2:] == ["--model", "big", "--debug", "--", "--odd"]
    ran = stage.lit.cli("start", "--agent", "qwen", env=env, cwd=stage.folder)
    assert "never tried" in ran.stdout
    ran = stage.lit.cli("start", "--prompt", "x", env=env, cwd=stage.folder)
    assert "EMPTY_COMMAND" in ran.stderr


@EVERY_STEP
def test_a_start_is_whole_and_once(mortal: Engine, tmp_path: Path, every: int) -> None:
    """Whatever step the daemon dies at: one agent, told once, in the one conversation that is on record."""
    stage = Stage(mortal, tmp_path, recording_agent.install(tmp_path / "bin", *PROGRAMS))
    before, _ = stage.headless("claude")
    for made, death in enumerate(deaths(mortal, every), 2):
        death.arm()
        started = stage.start(agent="claude", resume="last", prompt="go")
        assert started["conversation"] == before["conversation"]
        assert len(stage.records(made)) == made
        mortal.call("kill_session", session=started["id"], grace="0s", force=True)


@pytest.mark.parametrize(
    "given", [{"agent": "claude", "command": ["--bg"]}, {"command": ["claude", "--background", "do"]}]
)
def test_what_gives_its_work_to_a_daemon_is_refused(stage: Stage, given: dict[str, Any]) -> None:
    with pytest.raises(LampError, match="own daemon") as refused:
        stage.start(**given)
    assert refused.value.code is Code.BAD_INPUT
    assert "lamp attach" in refused.value.hint


def test_claude_is_kept_from_its_daemon_unless_its_user_says_otherwise(stage: Stage) -> None:
    variable = "CLAUDE_CODE_DISABLE_AGENT_VIEW"
    for given, expected in (({}, "1"), ({variable: "0"}, "0")):
        pid = stage.start(agent="claude", env=given)["pid"]
        assert f"{variable}={expected}" in Path(f"/proc/{pid}/environ").read_text().split("\0")
