"""Real agents over ACP: prompts and replies, permissions, cancelled turns, a daemon that dies, loading, ending."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_home import MODULES, NODE, Agent
from tests.support.engine import Engine, engine
from tests.support.model import Call, Gate, Hang, Run, Say, echo
from tests.support.model.steps import Turn
from tests.support.processes import wait_until
from tests.support.real_agents import AGENTS
from tests.support.scripted_model import scripted

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]
ADAPTERS = {"claude": "claude-agent-acp", "codex": "codex-acp"}
OPTIONS = {"gemini": ["--acp", "-m", "gemini-2.5-flash"], "opencode": ["acp"]}


@pytest.fixture(scope="module")
def served() -> Iterator[Engine]:
    with engine() as made:
        yield made


def command(agent: Agent) -> list[str]:
    if agent.name in ADAPTERS:
        return [str(NODE), str(MODULES / ".bin" / ADAPTERS[agent.name])]
    return [*agent.program(), *OPTIONS[agent.name]]


def environment(agent: Agent) -> dict[str, str]:
    """The adapters bring an agent of their own; here they use the one that is tested."""
    own = {
        "claude": {"CLAUDE_CODE_EXECUTABLE": agent.program()[0]},
        "codex": {"CODEX_PATH": str(MODULES / ".bin" / "codex")},
    }
    return {**agent.environment(), **own.get(agent.name, {})}


def ask_first(agent: Agent) -> dict[str, str]:
    """Its user has allowed nothing: it asks before it runs a command. What its environment is to have for that."""
    home = agent.home
    if agent.name == "claude":
        (home / ".claude" / "settings.json").write_text("{}")
    elif agent.name == "opencode":
        place = home / ".config" / "opencode" / "opencode.json"
        place.write_text(json.dumps({**json.loads(place.read_text()), "permission": {"bash": "ask"}}))
    # By itself codex-acp has a model decide; and it sets policy and sandbox itself, whatever the configuration says.
    return {"INITIAL_AGENT_MODE": "read-only"} if agent.name == "codex" else {}


def touching(which: str, name: str) -> Run | Call:
    """In its own folder: about another one opencode asks first, and then about the command. Codex asks when the model does."""
    leave = {"sandbox_permissions": "require_escalated", "justification": "may I?"}
    return Call("exec_command", {"cmd": f"touch {name}", **leave}) if which == "codex" else Run(f"touch {name}")


def grow_older(agent: Agent) -> None:
    """Gemini CLI names its files by the minute: one that loads a conversation in the minute of its start begins that file anew
    before it looks into it, and then finds nothing."""
    for chat in agent.home.glob(".gemini/tmp/*/chats/session-*"):
        chat.rename(chat.with_name("session-2020-01-01T00-00-" + chat.name.rpartition("-")[2]))


class Talk:
    def __init__(self, served: Engine, agent: Agent, **arguments: Any) -> None:
        self.served, self.agent = served, agent
        given = {"cwd": str(agent.project), "environment": environment(agent), "agent": None, **arguments}
        self.id = served.start(*command(agent), acp=True, **given)["id"]

    def send(self, text: str, **options: Any) -> int:
        return self.served.call("send_input", session=self.id, text=text, **options)["cursor"]

    def ask(self, text: str) -> str:
        cursor = self.send(text)
        self.wait()
        return self.read(cursor)

    def wait(self) -> None:
        self.served.call("wait_session", session=self.id, until="reply", timeout="120s")

    def read(self, since: int = 0) -> str:
        return self.served.call("read_output", session=self.id, mode="output", since=since)["text"]

    def show(self) -> dict[str, Any]:
        return self.served.show(self.id)

    def request(self) -> str:
        def found() -> list[str]:
            listed = self.served.call("list_approvals")["approvals"]
            return [each["id"] for each in listed if each["caller"] == f"session:{self.id}"]

        assert wait_until(lambda: bool(found()), 100.0), self.show()
        return found()[0]

    def end(self) -> None:
        ended = self.served.call("end_session", session=self.id)
        assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])


@pytest.fixture(params=list(AGENTS))
def which(request: pytest.FixtureRequest) -> str:
    return request.param


def make(which: str, tmp_path: Path, model: Any) -> Agent:
    agent = AGENTS[which](tmp_path / which, model)
    if why := agent.missing():
        pytest.skip(why)
    agent.accept()
    return agent


def test_prompts_replies_and_a_conversation_gone_on_with(which: str, served: Engine, tmp_path: Path) -> None:
    with scripted(echo) as model:
        agent = make(which, tmp_path, model)
        talk = Talk(served, agent)
        assert "STUB-REPLY 1: first words" in talk.ask("first words")
        served.kill(served.daemon())
        assert "STUB-REPLY 2: second words" in talk.ask("second words")
        assert [model.count(said) for said in ("first words", "second words")] == [1, 1]
        assert talk.show()["agent"] == which
        talk.end()
        grow_older(agent)
        again = Talk(served, agent, resume=talk.id)
        assert "STUB-REPLY 3: third words" in again.ask("third words"), again.read()
        assert "first words" in again.read(), "what was said before comes with the conversation"
        told, _, new = again.read().partition("> third words")
        assert "REPLY 2: second words" in told, "and before the new prompt"
        assert new.rstrip().endswith("STUB-REPLY 3: third words")
        again.end()


def test_a_permission_is_asked_of_the_operator(which: str, served: Engine, tmp_path: Path) -> None:
    def script(said: str, number: int) -> Turn:
        return [touching(which, f"made-{number}"), Say(f"done {number}")]

    with scripted(script) as model:
        agent = make(which, tmp_path, model)
        asking = ask_first(agent)
        talk = Talk(served, agent, environment={**environment(agent), **asking})
        for decision, number in (("refuse", 1), ("grant", 2)):
            cursor = talk.send(f"make it, attempt {number}")
            request = talk.request()
            assert talk.show()["verdict"] == "waiting", talk.show()
            served.kill(served.daemon())
            served.call("decide_approval", request=request, decision=decision)
            talk.wait()
            assert (agent.project / f"made-{number}").exists() == (decision == "grant"), talk.read(cursor)
        talk.end()


def test_the_model_is_chosen(which: str, served: Engine, tmp_path: Path) -> None:
    wanted = {"claude": "sonnet", "codex": "gpt-6-astra", "gemini": "gemini-2.5-pro", "opencode": "own/own"}[which]
    with scripted(echo) as model:
        agent = make(which, tmp_path, model)
        talk = Talk(served, agent, model=wanted)
        talk.ask("some words")
        asked = [f"{path} {body.get('model')}" for path, body in model.requests if "some words" in str(body)]
        assert asked
        assert all(wanted.rpartition("/")[2] in each for each in asked), asked
        assert talk.show()["tokens"]["output"] > 0
        talk.end()
        if which == "gemini":
            return  # it takes any name
        other = Talk(served, agent, model="nonsense-9", prompt="never said")
        assert wait_until(lambda: other.show()["verdict"] == "stuck", 60.0), other.show()
        assert "the model nonsense-9 is not to be had" in other.show()["evidence"][0]
        assert wanted in other.show()["evidence"][0]
        other.end()
        assert model.count("never said") == 0


def test_a_turn_is_cancelled_and_the_next_one_runs(which: str, served: Engine, tmp_path: Path) -> None:
    gate = Gate()

    def script(said: str, number: int) -> Turn:
        return [Hang(gate), Say("too late")] if "hang" in said and number == 1 else f"answered {number}"

    with scripted(script) as model:
        agent = make(which, tmp_path, model)
        talk = Talk(served, agent)
        talk.send("hang")
        assert gate.reached.wait(100)
        assert talk.show()["verdict"] == "working"
        talk.send("Escape", keys=True)
        talk.wait()
        assert "[the turn is over: cancelled]" in talk.read()
        assert "answered" in talk.ask("go on")
        gate.release()
        talk.end()


def test_it_is_ended_in_the_middle_of_a_turn(which: str, served: Engine, tmp_path: Path, mark: str) -> None:
    gate = Gate()
    job = f"setsid sh -c 'trap \"\" TERM; : {mark}; while :; do sleep 1; done' >/dev/null 2>&1 &"

    with scripted(lambda _, __: [Run(job), Hang(gate), Say("never")]) as model:
        agent = make(which, tmp_path, model)
        if which == "gemini":
            OPTIONS["gemini"] = ["--acp", "-m", "gemini-2.5-flash", "--yolo"]
        talk = Talk(served, agent)
        talk.send("leave a job")
        assert gate.reached.wait(100), talk.show()
        talk.end()
        gate.release()
