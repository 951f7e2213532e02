"""A scripted kiro-cli: a real program, no model. It does what the message says, line by line. For tests only.

As the real one it keeps a conversation for each folder under KIRO_HOME (else ~/.kiro), begins a new one without --resume and
goes on with the folder's newest with it. Standard library only, and nothing of ours.

    say WORDS      print them, a word at a time         recall         print what was said before in this conversation
    gate FILE      wait until FILE is there             note FILE      add a line to FILE: one for each real run
    raw HEX        print these bytes                    wrong WORDS    print them to standard error
    child MARK     leave a child in a session of its own that ignores TERM
    hang           wait for ever                        deaf           ignore TERM from here on
    fail N         end with status N                    flood N        print N lines
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

_SPEAKER = "kiro-acp.py"
_OPTIONS = ("--agent", "--model")
_CHILD = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)


def install(folder: Path, *, acp: bool = False) -> str:
    """Put it into a folder as kiro-cli; the PATH that finds it there first. With `acp` it speaks that too, as the scripted agent
    of `acp_agent` does."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "kiro-cli"
    program.write_text(f"#!{sys.executable} -IS\n{Path(__file__).read_text()}")
    program.chmod(0o755)
    if acp:
        (folder / _SPEAKER).write_text(Path(__file__).with_name("acp_agent.py").read_text())
    return f"{folder}:{os.environ['PATH']}"


def main(words: list[str]) -> int:
    speaker = Path(sys.argv[0]).with_name(_SPEAKER)
    if words[:1] == ["acp"] and speaker.exists():
        if words[1:] == ["--help"]:
            return 0
        home = os.environ.get("KIRO_HOME") or str(Path.home() / ".kiro")
        os.execv(sys.executable, [sys.executable, "-I", str(speaker), "--home", f"{home}/sessions", *words[1:]])
    if words[:2] == ["agent", "list"]:
        return _list_agents()
    if not words or words[0] != "chat" or "--no-interactive" not in words:
        return _refuse(f"unexpected arguments: {words}")
    unknown = set(words[1:]) - {
        "--no-interactive",
        "--trust-all-tools",
        "--resume",
        *_OPTIONS,
        *(_option(words, name) for name in _OPTIONS),
    }
    if unknown:
        return _refuse(f"unexpected arguments: {sorted(unknown)}")
    message = sys.stdin.read().rstrip("\n")
    if message.startswith("/"):
        return _slash(message, _Conversation(resume="--resume" in words))
    conversation = _Conversation(resume="--resume" in words)
    conversation.keep(message)
    for line in message.splitlines():
        name, _, rest = line.partition(" ")
        status = _ACTS.get(name, _echo)(line if name not in _ACTS else rest, conversation)
        if status is not None:
            return status
    print(
        f"({', '.join(filter(None, (_option(words, '--agent') or 'kiro_default', _option(words, '--model'))))})",
        flush=True,
    )
    return 0


class _Conversation:
    def __init__(self, *, resume: bool) -> None:
        home = Path(os.environ.get("KIRO_HOME") or Path.home() / ".kiro")
        self._folder = home / "sessions" / "cli"
        self._folder.mkdir(parents=True, exist_ok=True)
        mine = [path for path in self._folder.glob("*.json") if json.loads(path.read_text())["cwd"] == os.getcwd()]
        newest = max(mine, key=lambda path: path.stat().st_mtime_ns) if resume and mine else None
        self._path = newest or self._folder / f"{uuid.uuid4()}.json"
        self.before: list[str] = json.loads(newest.read_text())["messages"] if newest else []

    def keep(self, message: str) -> None:
        self._path.write_text(json.dumps({"cwd": os.getcwd(), "messages": [*self.before, message]}))


def _option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1] if name in words else ""


def _refuse(why: str) -> int:
    print(f"error: {why}", file=sys.stderr)
    return 2


def _list_agents() -> int:
    print("* kiro_default    (Built-in)")
    for place in (Path(".kiro/agents"), Path(os.environ.get("KIRO_HOME") or Path.home() / ".kiro") / "agents"):
        for path in sorted(place.glob("*.json")):
            print(f"  {path.stem}    {path.parent}")
    return 0


def _slash(message: str, conversation: _Conversation) -> int:
    name, _, rest = message.partition(" ")
    if name == "/save" and rest:
        Path(rest).write_text(json.dumps(conversation.before))
        print(f"Exported conversation state to {rest}")
        return 0
    if message == "/help":
        print("Commands: /help /usage")
        return 0
    if message == "/usage":
        print("0.1 credits")
        print("an estimate", file=sys.stderr)
        return 0
    if message == "/hang":
        return _hang("", None) or 0
    return _refuse(f"unknown command {message}")


def _say(rest: str, _: object) -> None:
    for word in rest.split():
        print(word, end=" ", flush=True)
    print(flush=True)


def _echo(line: str, _: object) -> None:
    _say(f"You said: {line}", None)


def _recall(_: str, conversation: _Conversation) -> None:
    print(" | ".join(" ".join(message.split()) for message in conversation.before), flush=True)


def _gate(rest: str, _: object) -> None:
    while not Path(rest).exists():
        time.sleep(0.01)


def _note(rest: str, _: object) -> None:
    with open(rest, "a") as file:
        file.write(f"{os.getpid()}\n")


def _raw(rest: str, _: object) -> None:
    sys.stdout.buffer.write(bytes.fromhex(rest))
    sys.stdout.buffer.flush()


def _wrong(rest: str, _: object) -> None:
    print(rest, file=sys.stderr, flush=True)


def _child(rest: str, _: object) -> None:
    command = [sys.executable, "-c", _CHILD, rest]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    assert child.stdout is not None
    child.stdout.readline()


def _hang(_: str, __: object) -> int | None:
    while True:
        signal.pause()


def _deaf(_: str, __: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _fail(rest: str, _: object) -> int:
    print("it went wrong", file=sys.stderr, flush=True)
    return int(rest)


def _flood(rest: str, _: object) -> None:
    for number in range(int(rest)):
        print(f"line {number} of what is to be a lot of text")
    sys.stdout.flush()


_ACTS: dict[str, Callable[[str, _Conversation], int | None]] = {
    "say": _say,
    "recall": _recall,
    "gate": _gate,
    "note": _note,
    "raw": _raw,
    "wrong": _wrong,
    "child": _child,
    "hang": _hang,
    "deaf": _deaf,
    "fail": _fail,
    "flood": _flood,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
