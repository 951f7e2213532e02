"""A scripted agent that speaks the Agent Client Protocol: a real program, no model. It does what a prompt says, line by line.

Standard library only, and nothing of ours. Conversations are kept in a folder, one file each. For tests only.

    say WORDS      say them, a word at a time           think WORDS    think them aloud
    part ID WORDS  say them as pieces of a message with an id
    gate FILE      wait until FILE is there             note FILE      add a line to FILE: one for each real run
    ask TITLE      ask for permission, say the outcome  tool TITLE     a tool begins and completes
    big N          say N bytes at once                  flood N        say N words
    garbage        print what is no message             wrong WORDS    print them to standard error
    read FILE      ask the client for a file, say what it answered
    model          say which model it is
    recall         say what was said before in this conversation
    deaf           close standard input, and go on
    fail WORDS     answer the prompt with an error      die N          leave at once with status N
    child MARK     leave a child in a session of its own that ignores TERM
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CHILD = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)
_OPTIONS = ("allow_once", "allow_always", "reject_once", "reject_always")


class Cancelled(Exception):
    """The client has cancelled the turn."""


class Failed(Exception):
    """The prompt is answered with an error."""


class Agent:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.answers: dict[int, dict[str, Any]] = {}
        self.changed = threading.Condition()
        self.cancelled = False
        self.numbers = 1000
        self.writing = threading.Lock()
        self.conversation: Path | None = None
        self.deaf = False
        self.loggedin = not options.login
        self.model = "small-1"

    # -- the wire

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self.writing:
            while data:
                data = data[os.write(1, data) :]

    def update(self, what: str, **fields: Any) -> None:
        told = {"sessionUpdate": what, **fields}
        self.send({"method": "session/update", "params": {"sessionId": self.name, "update": told}})

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask the client, and wait for its answer, also past a cancel: each request is answered."""
        self.numbers += 1
        number = self.numbers
        self.send({"id": number, "method": method, "params": {"sessionId": self.name, **params}})
        with self.changed:
            self.changed.wait_for(lambda: number in self.answers)
            return self.answers.pop(number)

    @property
    def name(self) -> str:
        return self.conversation.name if self.conversation else ""

    def run(self) -> int:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            self.note(message)
            if "method" not in message:
                with self.changed:
                    assert message["id"] not in self.answers, "answered twice"
                    self.answers[message["id"]] = message
                    self.changed.notify_all()
                continue
            handler = getattr(self, "do_" + message["method"].replace("/", "_"), None)
            if handler is None:
                self.send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
            else:
                handler(message.get("id"), message.get("params") or {})
            if self.deaf:
                break
        while self.options.ignore_eof:
            time.sleep(600)
        return 0

    def note(self, message: dict[str, Any]) -> None:
        """What came, for a test that counts."""
        if self.options.log:
            with open(self.options.log, "a") as file:
                file.write(json.dumps(message) + "\n")

    # -- requests

    def do_initialize(self, number: int, params: dict[str, Any]) -> None:
        able: dict[str, Any] = {name: {} for name in ("list", "resume", "close") if name not in self.options.without}
        said: dict[str, Any] = {
            "protocolVersion": params["protocolVersion"],
            "agentCapabilities": {"loadSession": "load" not in self.options.without, "sessionCapabilities": able},
            "authMethods": [{"id": "test-key", "name": "a key"}] if self.options.login else [],
        }
        self.send({"id": number, "result": said})

    def do_authenticate(self, number: int, params: dict[str, Any]) -> None:
        self.loggedin = params["methodId"] == "test-key"
        self.send({"id": number, "result": {}})

    def do_session_new(self, number: int, _: dict[str, Any]) -> None:
        if not self.loggedin:
            self.send({"id": number, "error": {"code": -32000, "message": "Authentication required"}})
        elif self.options.refuse:
            self.send({"id": number, "error": {"code": -32603, "message": self.options.refuse}})
        else:
            self.open(f"conv-{uuid.uuid4().hex}")
            self.send({"id": number, "result": {"sessionId": self.name, **self.choices()}})

    def choices(self) -> dict[str, Any]:
        """The models that it offers, in the way that it was told to: as an option, in groups, or as agents once did."""
        small, large = {"value": "small-1", "name": "Small"}, {"value": "large-1", "name": "Large"}
        model = {"id": "brain", "name": "Model", "category": "model", "type": "select", "currentValue": "small-1"}
        mode: dict[str, Any] = {
            "id": "mode",
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": "x",
            "options": [],
        }
        groups: list[Any] = [{"group": "all", "name": "All", "options": [small, large]}]
        old = [{"modelId": each["value"], "name": each["name"]} for each in (small, large)]
        ways: dict[str, dict[str, Any]] = {
            "option": {"configOptions": [mode, {**model, "options": [small, large]}]},
            "groups": {"configOptions": [mode, {**model, "options": groups}]},
            "old": {"models": {"availableModels": old, "currentModelId": "small-1"}},
        }
        return ways.get(self.options.models, {})

    def do_session_set_config_option(self, number: int, params: dict[str, Any]) -> None:
        self.choose(number, params["value"])

    def do_session_set_model(self, number: int, params: dict[str, Any]) -> None:
        self.choose(number, params["modelId"])

    def choose(self, number: int, model: str) -> None:
        if model not in ("small-1", "large-1"):
            self.send({"id": number, "error": {"code": -32602, "message": "no such model"}})
            return
        self.model = model
        self.send({"id": number, "result": {"configOptions": []}})

    def open(self, name: str) -> None:
        folder = Path(self.options.home or os.environ.get("HOME") or ".") / "conversations"
        folder.mkdir(parents=True, exist_ok=True)
        self.conversation = folder / name
        self.conversation.touch()

    def do_session_load(self, number: int, params: dict[str, Any]) -> None:
        self.open(params["sessionId"])
        if self.options.late:
            self.send({"id": number, "result": self.choices()})
            time.sleep(0.1)  # its client has the answer by now, and could prompt
        for said in self.said():
            self.update("user_message_chunk", content={"type": "text", "text": said})
            self.update("agent_message_chunk", content={"type": "text", "text": "(as before)"})
        if not self.options.late:
            self.send({"id": number, "result": self.choices()})

    def do_session_resume(self, number: int, params: dict[str, Any]) -> None:
        self.open(params["sessionId"])
        self.send({"id": number, "result": {}})

    def do_session_list(self, number: int, params: dict[str, Any]) -> None:
        folder = Path(self.options.home or os.environ.get("HOME") or ".") / "conversations"
        found = [
            {"sessionId": path.name, "cwd": params.get("cwd") or "/", "updatedAt": f"{path.stat().st_mtime_ns:020}"}
            for path in folder.glob("conv-*")
        ]
        self.send({"id": number, "result": {"sessions": found}})

    def do_session_close(self, number: int, _: dict[str, Any]) -> None:
        self.send({"id": number, "result": {}})

    def do_session_cancel(self, _: None, __: dict[str, Any]) -> None:
        self.cancelled = True

    def do_session_prompt(self, number: int, params: dict[str, Any]) -> None:
        text = "".join(block["text"] for block in params["prompt"])
        self.cancelled = False
        if text.startswith("deaf"):
            os.close(0)
            self.deaf = True
        threading.Thread(target=self.turn, args=(number, text), daemon=True).start()

    # -- a turn

    def turn(self, number: int, text: str) -> None:
        assert self.conversation is not None
        with self.conversation.open("a") as file:
            file.write(json.dumps(text) + "\n")
        reason = "end_turn"
        try:
            for line in text.splitlines():
                name, _, rest = line.partition(" ")
                act: Callable[[str], None] = getattr(self, f"act_{name}", None) or self.act_echo
                act(rest if hasattr(self, f"act_{name}") else line)
                self.check()
        except Cancelled:
            reason = "cancelled"
        except Failed as error:
            self.send({"id": number, "error": {"code": -32603, "message": str(error)}})
            return
        tokens = {"inputTokens": len(text), "outputTokens": 7, "totalTokens": len(text) + 7}
        self.send({"id": number, "result": {"stopReason": reason, "usage": tokens}})

    def check(self) -> None:
        if self.cancelled:
            raise Cancelled

    def said(self) -> list[str]:
        assert self.conversation is not None
        return [json.loads(line) for line in self.conversation.read_text().splitlines()]

    def speak(self, text: str, kind: str = "agent_message_chunk") -> None:
        self.update(kind, content={"type": "text", "text": text})

    def act_echo(self, line: str) -> None:
        self.speak(f"you said {line}")

    def act_say(self, rest: str) -> None:
        words = rest.split(" ")
        for place, word in enumerate(words):
            self.speak(word if place == len(words) - 1 else f"{word} ")

    def act_part(self, rest: str) -> None:
        name, _, words = rest.partition(" ")
        for word in words.split(" "):
            self.update("agent_message_chunk", content={"type": "text", "text": word}, messageId=name)

    def act_think(self, rest: str) -> None:
        self.speak(rest, "agent_thought_chunk")

    def act_gate(self, rest: str) -> None:
        while not Path(rest).exists():
            self.check()
            time.sleep(0.01)

    def act_note(self, rest: str) -> None:
        with open(rest, "a") as file:
            file.write("ran\n")

    def act_ask(self, rest: str) -> None:
        call = {"toolCallId": uuid.uuid4().hex, "title": rest, "kind": "execute", "rawInput": {"command": rest}}
        options = [{"optionId": f"id-{kind}", "name": kind, "kind": kind} for kind in _OPTIONS]
        answer = self.request("session/request_permission", toolCall=call, options=options)
        outcome = answer["result"]["outcome"]
        self.speak(f"<{outcome.get('optionId', outcome['outcome'])}>")

    def act_tool(self, rest: str) -> None:
        call = uuid.uuid4().hex
        self.update(
            "tool_call", toolCallId=call, title=rest, kind="edit", status="in_progress", locations=[{"path": rest}]
        )
        self.update("tool_call_update", toolCallId=call, status="completed")

    def act_big(self, rest: str) -> None:
        self.speak("x" * int(rest))

    def act_flood(self, rest: str) -> None:
        for number in range(int(rest)):
            self.speak(f"w{number} ")
            self.check()

    def act_garbage(self, _: str) -> None:
        with self.writing:
            os.write(1, b'Loading model...\n{"half": \n\xff\xfe\n[1, 2, null]\n"text"\n{}\n{"id": 99}\n' + b"\n")
        self.update("never_heard_of", content=5)
        self.send({"method": "session/update", "params": {"sessionId": self.name, "update": None}})
        self.send({"method": "_own/thing", "params": {}})

    def act_wrong(self, rest: str) -> None:
        sys.stderr.write(rest + "\n")
        sys.stderr.flush()

    def act_read(self, rest: str) -> None:
        answer = self.request("fs/read_text_file", path=rest)
        self.speak(f"<{answer['error']['code']}>")

    def act_deaf(self, _: str) -> None:
        """The main thread, which reads, has closed standard input before the turn began."""

    def act_model(self, _: str) -> None:
        self.speak(self.model)

    def act_recall(self, _: str) -> None:
        self.speak(" | ".join(self.said()[:-1]))

    def act_fail(self, rest: str) -> None:
        raise Failed(rest)

    def act_die(self, rest: str) -> None:
        os._exit(int(rest))

    def act_child(self, rest: str) -> None:
        command = [sys.executable, "-c", _CHILD, rest]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
        assert child.stdout is not None
        child.stdout.readline()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log")
    parser.add_argument("--home")
    parser.add_argument("--ignore-eof", action="store_true")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--login", action="store_true")
    parser.add_argument("--refuse")
    parser.add_argument("--models")
    parser.add_argument("--late", action="store_true", help="what was said before is told after it is loaded")
    parser.add_argument("--without", action="append", default=[])
    options = parser.parse_args()
    if options.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return Agent(options).run()


if __name__ == "__main__":
    sys.exit(main())
