"""A program that keeps a transcript as Claude Code does, and answers what it is told to: a real process, no model.

It reads lines from its terminal (or its first argument after -p) and writes down who said what, in the folder where the agent
would. What a line begins with says what it does:

    say TEXT        answers TEXT, with the escape character where it says <ESC>
    tool TEXT       uses a tool, which ends when the file `go` is there; then answers TEXT
    half TEXT       answers TEXT, written in two halves; the second comes when the file `go` is there
    stop TEXT       says TEXT and is interrupted
    fail TEXT       the model cannot be reached
    /clear          forgets, and goes on in another conversation

For tests only; the folder of `go` is its HOME.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HOME = Path(os.environ["HOME"])
_PASTE = re.compile(r"\x1b\[20[01]~")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Scribe:
    def __init__(self) -> None:
        self.cwd = str(Path.cwd())
        self.id = str(uuid.uuid4())
        self._register()

    def _register(self) -> None:
        stat = Path("/proc/self/stat").read_text()
        started = stat[stat.rfind(")") + 2 :].split()[19]
        place = HOME / ".claude" / "sessions" / f"{os.getpid()}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({"pid": os.getpid(), "sessionId": self.id, "cwd": self.cwd, "procStart": started}))

    @property
    def transcript(self) -> Path:
        folder = HOME / ".claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", self.cwd)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self.id}.jsonl"

    def write(self, kind: str, message: dict[str, Any], *, half: bool = False, **more: Any) -> None:
        entry = {"parentUuid": None, "type": kind, "uuid": str(uuid.uuid4()), "timestamp": _now(), "cwd": self.cwd}
        line = json.dumps({**entry, "sessionId": self.id, "message": message, **more}, ensure_ascii=False) + "\n"
        cut = len(line) // 2 if half else len(line)
        with self.transcript.open("a") as file:
            file.write(line[:cut])
            file.flush()
            if half:
                wait_for_go()
                file.write(line[cut:])

    def answer(self, content: list[dict[str, Any]], reason: str, **more: Any) -> None:
        usage = {"input_tokens": 100, "output_tokens": 7, "cache_read_input_tokens": 40}
        message = {"id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "content": content, "stop_reason": reason}
        self.write("assistant", {**message, "usage": usage}, **more)

    def hear(self, line: str) -> None:
        word, _, text = line.replace("<ESC>", "\x1b").partition(" ")
        if word == "/clear":
            self.id = str(uuid.uuid4())
            self._register()
            print("cleared", flush=True)
            return
        self.write("user", {"role": "user", "content": line}, origin={"kind": "human"})
        said = [{"type": "text", "text": text}]
        if word == "tool":
            tool = {"type": "tool_use", "id": f"t{uuid.uuid4().hex}", "name": "Bash", "input": {"command": "make test"}}
            self.answer([tool], "tool_use")
            print("at work", flush=True)
            wait_for_go()
            done = {"type": "tool_result", "tool_use_id": tool["id"], "content": "ok"}
            self.write("user", {"role": "user", "content": [done]})
        if word == "stop":
            self.answer(said, "tool_use")
            self.write("user", {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]})
        elif word == "fail":
            self.answer([{"type": "text", "text": f"API Error: {text}"}], "stop_sequence", isApiErrorMessage=True)
        else:
            if word == "half":
                prompt()  # as an agent does: what was submitted leaves the input line before it is answered
            self.answer(said, "end_turn", half=word == "half")
        print(f"> {text}", flush=True)


def wait_for_go() -> None:
    while not (HOME / "go").exists():
        time.sleep(0.01)
    (HOME / "go").unlink()


def prompt() -> None:
    """An input line as Claude Code draws it, the cursor in it; what is typed is echoed there."""
    rule = "─" * 60
    print(f"\x1b[?2004h\n{rule}\n❯ \n{rule}\x1b[A\r\x1b[2C", end="", flush=True)


def main() -> None:
    scribe = Scribe()
    if "-p" in sys.argv:
        scribe.hear(sys.argv[sys.argv.index("-p") + 1])
        return
    print("ready", flush=True)
    prompt()
    for line in sys.stdin:
        if text := _PASTE.sub("", line).strip():
            scribe.hear(text)
        prompt()


if __name__ == "__main__":
    main()
