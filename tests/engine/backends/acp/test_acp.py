"""Sessions that speak ACP: prompts, answers as they stream, permissions, cancelling, going on, ending."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support import acp_agent
from tests.support.engine import Engine, engine
from tests.support.processes import alive, inspect, wait_until

AGENT = acp_agent.__file__


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    """One for all that does not hurt it: the SDK is loaded once."""
    with engine() as made:
        yield made


class Talk:
    """A session with the scripted agent, which notes all that it is sent."""

    def __init__(self, lit: Engine, *options: str, program: str = AGENT, **arguments: Any) -> None:
        self.lit = lit
        self.log = lit.folder / f"heard-{uuid.uuid4().hex}"
        home = ["--home", str(lit.folder)]
        command = (lit.python, program, "--log", str(self.log), *home, *options)
        self.started = lit.start(*command, acp=True, **arguments)
        self.id = self.started["id"]

    def heard(self, method: str | None = None) -> list[dict[str, Any]]:
        """What the agent has noted that it was sent, in order. Our own log shows a prompt before the agent has read it."""
        lines = self.log.read_text().splitlines(keepends=True) if self.log.exists() else []
        messages = [json.loads(line) for line in lines if line.endswith("\n")]
        return [message for message in messages if method is None or message.get("method") == method]

    def send(self, text: str, **options: Any) -> int:
        return self.lit.call("send_input", session=self.id, text=text, **options)["cursor"]

    def wait(self, until: str = "reply") -> dict[str, Any]:
        return self.lit.call("wait_session", session=self.id, until=until, timeout="120s")

    def reply(self) -> tuple[str, str]:
        """What it answered last, and how the turn ended."""
        told = self.wait()
        assert told["source"] == "transcript"
        return told["reply"], told["turn"]

    def read(self, since: int = 0) -> str:
        return self.lit.call("read_output", session=self.id, mode="output", since=since)["text"]

    def ask(self, text: str) -> str:
        """A prompt, and what came of it."""
        cursor = self.send(text)
        self.wait()
        return self.read(cursor)

    def show(self) -> dict[str, Any]:
        return self.lit.show(self.id)

    def request(self) -> str:
        """The permission that it waits for."""
        assert wait_until(lambda: self._requests() != [])
        return self._requests()[0]["id"]

    def _requests(self) -> list[dict[str, Any]]:
        found = self.lit.call("list_approvals")["approvals"]
        return [each for each in found if each["target"] and each["target"]["id"] == self.id]

    def decide(self, decision: str) -> None:
        self.lit.call("decide_approval", request=self.request(), decision=decision)

    def end(self) -> dict[str, Any]:
        return self.lit.call("end_session", session=self.id)

    def kill(self) -> dict[str, Any]:
        return self.lit.call("kill_session", session=self.id, force=True, grace="0s")


def test_a_prompt_and_its_answer(lit: Engine) -> None:
    talk = Talk(lit)
    assert talk.ask("say hello there") == "> say hello there\nhello there"
    assert talk.ask("recall").endswith("> recall\nsay hello there")
    shown = talk.show()
    assert (shown["driver"], shown["state"]) == ("acp", "running")
    assert wait_until(lambda: talk.show()["verdict"] == "idle"), talk.show()
    assert "end_turn" in talk.show()["evidence"][0]
    (greeting,) = talk.heard("initialize")
    nothing = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    assert greeting["params"]["clientCapabilities"] == nothing
    assert len(talk.heard("session/new")) == 1
    assert talk.end()["how"] == "asked"
    assert len(talk.heard("session/close")) == 1
    assert talk.read().endswith("> recall\nsay hello there"), "an ended one can be read"


def test_waiting_for_the_reply_tells_it(lit: Engine) -> None:
    talk = Talk(lit, prompt="say first")
    assert talk.reply() == ("first", "done")
    talk.send("say let me see\ntool notes.txt\nsay second words\nthink all is said")
    assert talk.reply() == ("second words", "done")
    talk.send("say a warning\npart m1 one two\npart m2 three four")
    assert talk.reply() == ("threefour", "done")
    assert talk.read().endswith("a warning\nonetwo\nthreefour")
    talk.send("fail overloaded")
    assert talk.reply() == ("", "failed")
    talk.send("ask something\nsay never")
    talk.request()
    talk.send("Escape", keys=True)
    assert talk.reply() == ("<cancelled>", "interrupted")
    talk.send("think hm")
    assert talk.reply() == ("", "done")
    lit.kill(lit.daemon())
    assert talk.reply() == ("", "done")
    talk.end()
    assert talk.reply() == ("", "done"), "it was answered, without a word"


@pytest.mark.parametrize(
    "text", ["- leading", "two\nlines", "'q' \"d\" `t` $HOME \\n {}", "Wörter 漢字 👩‍👩‍👧", "y" * 1_500_000]
)
def test_a_prompt_is_sent_as_it_is(lit: Engine, text: str) -> None:
    talk = Talk(lit)
    talk.send(text)
    talk.wait()
    (prompt,) = talk.heard("session/prompt")
    assert prompt["params"]["prompt"] == [{"type": "text", "text": text}]
    talk.kill()


def test_prompts_wait_for_the_turn_before_them(lit: Engine, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    talk = Talk(lit)
    talk.send(f"gate {gate}\nsay first")
    talk.wait("text=> gate")
    assert wait_until(lambda: talk.heard("session/prompt"))
    talk.send("say second")
    talk.send("say third")
    assert talk.show()["verdict"] == "working"
    assert len(talk.heard("session/prompt")) == 1
    gate.touch()
    talk.wait()
    assert talk.read() == f"> gate {gate}\n> say first\nfirst\n> say second\nsecond\n> say third\nthird"
    talk.kill()


def test_the_same_key_is_one_prompt(lit: Engine) -> None:
    talk = Talk(lit)
    for _ in range(3):
        lit.call("send_input", session=talk.id, text="say once", key="the-same")
    talk.wait()
    assert len(talk.heard("session/prompt")) == 1
    talk.kill()


def test_a_first_prompt_and_a_conversation_gone_on_with(lit: Engine) -> None:
    talk = Talk(lit, prompt="say first")
    talk.wait()
    assert wait_until(lambda: "conversation" in [event["action"] for event in lit.events(talk.id)])
    talk.end()
    loaded = Talk(lit, "--models", "option", resume=talk.id, model="large-1")
    assert loaded.ask("recall").endswith("say first")
    assert loaded.read().startswith("> say first\n(as before)\n> recall\n"), loaded.read()
    assert loaded.ask("model").endswith("\nlarge-1")
    resumed = Talk(lit, "--without", "load", resume="last")
    assert resumed.ask("recall") == "> recall\nsay first | recall | model"
    assert [len(resumed.heard(f"session/{name}")) for name in ("list", "load", "resume", "new")] == [1, 0, 1, 0]
    loaded.kill()
    resumed.kill()


def test_what_was_said_before_may_be_told_late(lit: Engine) -> None:
    """It is not taken for the answer to the first prompt."""
    talk = Talk(lit, prompt="say first")
    talk.wait()
    talk.end()
    loaded = Talk(lit, "--late", resume=talk.id, prompt="say second")
    assert loaded.reply() == ("second", "done")
    assert loaded.read() == "> say first\n(as before)\n> say second\nsecond"
    loaded.kill()


def test_an_agent_that_cannot_go_on_says_so(lit: Engine) -> None:
    talk = Talk(lit, "--without", "load", "--without", "resume", resume="conv-of-long-ago")
    assert wait_until(lambda: talk.show()["verdict"] == "stuck"), talk.show()
    assert "no conversation of before" in talk.show()["evidence"][0]
    with pytest.raises(LampError) as refused:
        talk.send("say hello")
    assert refused.value.code is Code.NOT_ACTIVE
    with pytest.raises(LampError) as waited:
        talk.wait()
    assert waited.value.code is Code.NOT_ACTIVE
    talk.kill()


@pytest.mark.parametrize("offered", ["option", "groups", "old"])
@pytest.mark.parametrize("model", ["large-1", "Large"])
def test_the_model_is_chosen_before_the_first_prompt(lit: Engine, offered: str, model: str) -> None:
    talk = Talk(lit, "--models", offered, model=model, prompt="model")
    assert talk.reply() == ("large-1", "done")
    chosen = "session/set_model" if offered == "old" else "session/set_config_option"
    assert [each["method"] for each in talk.heard()] == ["initialize", "session/new", chosen, "session/prompt"]
    talk.kill()


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "lets nobody choose its model"), (("--models", "option"), "no such model; it offers small-1, large-1")],
    ids=["nothing to choose", "not that one"],
)
def test_a_model_that_is_not_to_be_had(lit: Engine, options: tuple[str, ...], said: str) -> None:
    talk = Talk(lit, *options, model="huge", prompt="say never")
    assert wait_until(lambda: talk.show()["verdict"] == "stuck"), talk.show()
    assert said in talk.show()["evidence"][0]
    with pytest.raises(LampError) as waited:
        talk.wait()
    assert waited.value.code is Code.NOT_ACTIVE
    assert said in waited.value.message
    assert talk.heard("session/prompt") == [], "no other model answers instead"
    talk.kill()


def test_a_login_by_key_and_none(lit: Engine) -> None:
    talk = Talk(lit, "--login")
    assert wait_until(lambda: talk.show()["verdict"] == "stuck"), talk.show()
    assert "Authentication required" in talk.show()["evidence"][0]
    assert talk.heard("authenticate") == []
    talk.kill()


# -- permissions


def test_evidence_does_not_say_what_for_where_agents_read_their_own() -> None:
    with engine(LAMPLIGHTER_AGENTS_READ="own") as made:
        talk = Talk(made)
        talk.send("ask rm -rf build")
        request = talk.request()
        assert f"asks for permission; lamp approve {request}" in talk.show()["evidence"][0]
        talk.kill()


@pytest.mark.parametrize(("decision", "said"), [("grant", "<id-allow_once>"), ("refuse", "<id-reject_once>")])
def test_a_permission_is_the_operators(lit: Engine, decision: str, said: str) -> None:
    talk = Talk(lit)
    cursor = talk.send("ask rm -rf build\nsay done")
    request = talk.request()
    shown = talk.show()
    assert shown["verdict"] == "waiting", shown
    assert f"asks for permission: rm -rf build; lamp approve {request}" in shown["evidence"][0]
    (told,) = lit.call("list_approvals", request=request)["approvals"]
    assert told["arguments"]["input"] == '{"command": "rm -rf build"}'
    talk.decide(decision)
    talk.wait()
    assert f"{said}done" in talk.read(cursor)
    answers = [message for message in talk.heard() if "outcome" in str(message.get("result"))]
    assert len(answers) == 1
    assert lit.call("list_approvals", request=request)["approvals"][0]["state"] in ("used", "refused")
    assert request not in str(lit.call("list_approvals"))
    talk.kill()


def test_an_agent_may_not_decide_for_itself(lit: Engine, tmp_path: Path) -> None:
    talk = Talk(lit)
    talk.send("ask something")
    request = talk.request()
    script = f"{lit.python} -m lamplighter.frontends.cli.main approve {request} --yes; echo said $?; sleep 100"
    other = lit.start("sh", "-c", script, environment=lit.environment)["id"]
    lit.call("wait_session", session=other, until="text=said", timeout="120s")
    assert "said 0" not in lit.output(other)
    assert talk.show()["verdict"] == "waiting"
    lit.call("kill_session", session=other, force=True, grace="0s")
    talk.kill()


@pytest.mark.parametrize("key", ["Escape", "C-c"])
def test_cancelling_a_turn(lit: Engine, key: str) -> None:
    talk = Talk(lit)
    talk.send("ask something\nsay never")
    request = talk.request()
    talk.send(key, keys=True)
    talk.wait()
    assert "[cancelled: something]\n<cancelled>" in talk.read()
    assert "[the turn is over: cancelled]" in talk.read()
    assert "never" not in talk.read().replace("> say never", "")
    assert len(talk.heard("session/cancel")) == 1
    assert request not in str(lit.call("list_approvals"))
    lit.call("decide_approval", request=request, decision="grant")  # too late: nobody hears of it
    with pytest.raises(LampError) as over:
        talk.send("Up", keys=True)
    assert over.value.code is Code.BAD_INPUT
    assert talk.ask("say again").endswith("again")
    talk.kill()


def test_a_request_that_is_open_goes_with_the_session(lit: Engine) -> None:
    talk = Talk(lit)
    talk.send("ask something")
    request = talk.request()
    talk.end()
    (told,) = lit.call("list_approvals", request=request)["approvals"]
    assert told["state"] == "refused"
    assert "approval withdrawn" in [event["action"] for event in lit.events(talk.id)]


# -- odd agents


def test_garbage_between_messages(lit: Engine) -> None:
    talk = Talk(lit)
    assert talk.ask("wrong not here\ngarbage\nsay fine").endswith("\nfine")
    assert talk.ask("say still").endswith("\nstill")
    talk.kill()


def test_what_we_do_not_have_is_refused(lit: Engine) -> None:
    talk = Talk(lit)
    assert talk.ask("read /etc/passwd").endswith("<-32601>")
    talk.kill()


def test_huge_and_many_messages(lit: Engine) -> None:
    talk = Talk(lit)
    cursor = talk.send("big 5000000\nflood 3000")
    talk.wait()
    said = ""
    while True:
        page = lit.call("read_output", session=talk.id, mode="output", since=cursor)
        said, cursor = said + page["text"], page["cursor"]
        if not page["more"]:
            break
    expected = "x" * 5_000_000 + "".join(f"w{number} " for number in range(3000))
    assert said.removeprefix("> big 5000000\n> flood 3000\n") == expected
    talk.kill()


def test_an_error_is_an_answer(lit: Engine) -> None:
    talk = Talk(lit)
    assert talk.ask("fail the model is overloaded").endswith("[the turn is over: error: the model is overloaded]\n")
    assert talk.ask("say better").endswith("better")
    talk.kill()


def test_one_that_dies_in_a_turn(lit: Engine) -> None:
    talk = Talk(lit)
    cursor = talk.send("say last words\ndie 3")
    assert talk.reply() == ("last words", "ended")
    assert "last words" in talk.read(cursor)
    assert lit.call("wait_session", session=talk.id)["exit"] == {"code": 3}
    assert "the agent is gone" in talk.read(cursor)


def test_one_that_dies_without_a_word(lit: Engine) -> None:
    talk = Talk(lit, prompt="say before")
    assert talk.reply() == ("before", "done")
    talk.send("die 3")
    with pytest.raises(LampError) as waited:
        talk.wait()
    assert waited.value.code is Code.ENDED, "what was said to an earlier prompt is no answer to this one"


def test_one_that_stops_reading(lit: Engine) -> None:
    talk = Talk(lit, "--ignore-eof")
    talk.send("deaf\nask something")
    assert wait_until(lambda: "request_permission" in lit.call("read_output", session=talk.id, mode="cast")["text"])
    talk.decide("grant")
    assert wait_until(lambda: talk.show()["verdict"] == "stuck"), talk.show()
    assert "does not read" in talk.show()["evidence"][0]
    talk.kill()


@pytest.mark.parametrize("options", [(), ("--ignore-eof",), ("--ignore-eof", "--ignore-term")], ids=str)
def test_it_is_ended_whatever_it_ignores(lit: Engine, mark: str, options: tuple[str, ...]) -> None:
    talk = Talk(lit, *options)
    talk.ask(f"child {mark}")
    agent = inspect(talk.show()["pid"])
    assert agent is not None
    ended = lit.call("end_session", session=talk.id, grace="0.2s")
    assert ended["state"] == "ended"
    assert not ended["certificate"]["survivors"]
    assert not alive(agent.pid, agent.start_ticks)
    assert len(talk.heard("session/close")) == 1


def test_it_has_no_terminal_and_needs_an_agent(lit: Engine) -> None:
    talk = Talk(lit)
    refusals: tuple[tuple[str, dict[str, Any], Code], ...] = (
        ("attach_session", {"session": talk.id}, Code.NOT_ATTACHABLE),
        ("send_input", {"session": talk.id, "text": "  "}, Code.BAD_INPUT),
        ("start_session", {"command": ["x"], "acp": True, "tmux": True}, Code.BAD_INPUT),
        ("start_session", {"command": [], "acp": True, "agent": "nobody"}, Code.NO_SUCH_PROGRAM),
        ("start_session", {"command": [], "acp": True}, Code.EMPTY_COMMAND),
    )
    for call, arguments, code in refusals:
        with pytest.raises(LampError) as refused:
            lit.call(call, **arguments)
        assert refused.value.code is code, call
    talk.kill()


def test_reading_it_while_it_speaks(lit: Engine, tmp_path: Path) -> None:
    talk = Talk(lit)
    talk.send(f"say one two\ngate {tmp_path / 'gate'}\nsay three\ndie 0")
    talk.wait("text=two")
    (tmp_path / "gate").touch()
    said = lit.cli("read", talk.id, "--follow")
    assert said.stdout.startswith("> say one two"), said
    assert "two" in said.stdout
    assert "three" in said.stdout


def test_what_it_said_is_what_it_leaves(lit: Engine) -> None:
    talk = Talk(lit)
    talk.ask("think hm\ntool notes.txt\nsay all is done")
    talk.end()
    assert "all is done" in str(talk.show()["handoff"]) or "all is done" in str(talk.show()["ending"]), talk.show()


@pytest.mark.parametrize("name", ["claude-agent-acp", "some-agent"])
def test_what_was_said_as_messages(lit: Engine, tmp_path: Path, name: str) -> None:
    """By our own record of the talk, whatever the agent is and whatever file it keeps itself."""
    program = tmp_path / name
    program.symlink_to(AGENT)
    talk = Talk(lit, program=str(program), prompt="say first")
    talk.wait()
    assert (talk.show()["agent"] == "claude") == (name == "claude-agent-acp")
    talk.send("tool notes.txt\nsay second")
    talk.wait()
    path = f"{talk.started['folder']}/conversation.jsonl"
    assert wait_until(lambda: talk.show()["conversation"] is not None), talk.show()
    expected = [
        ("user", "say first"),
        ("assistant", "first"),
        ("user", "tool notes.txt\nsay second"),
        ("tool", "notes.txt"),
        ("assistant", "second"),
    ]
    page = lit.call("read_output", session=talk.id, mode="transcript")
    assert [(each["role"], each["text"]) for each in page["messages"]] == expected
    assert {each["conversation"] for each in page["messages"]} == {talk.show()["conversation"]["id"]}
    assert talk.show()["conversation"]["path"] == path
    used = len("say first") + len("tool notes.txt\nsay second")
    assert talk.show()["tokens"] == {"input": used, "output": 14}
    lit.kill(lit.daemon())
    talk.ask("say third")
    more = lit.call("read_output", session=talk.id, mode="transcript", since=page["cursor"])
    assert [each["text"] for each in more["messages"]] == ["say third", "third"]
    talk.end()
    last = lit.call("read_output", session=talk.id, mode="transcript", lines=1)
    assert [each["text"] for each in last["messages"]] == ["third"]
    assert talk.show()["tokens"] == {"input": used + len("say third"), "output": 21}
    told = lit.call("read_history", session=talk.id, spoken=True)["messages"]
    assert [each["text"] for each in told if each["role"] == "assistant"] == ["first", "second", "third"]
