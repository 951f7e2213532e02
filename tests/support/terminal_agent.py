"""An agent in a terminal without a model: a real process that draws as Claude Code does, takes pastes, opens dialogs and keeps
what was submitted. For tests only; standard library alone, as it is run as a program called claude.

What is submitted is written as a line of JSON into the file named by its first argument. Some texts do more than be answered:
`work N` works for N seconds, `edit PROGRAM` opens that on its terminal, `tool PROGRAM` on one of its own while it works, `dialog`
asks for permission, `strange` shows a screen that nobody has seen before, until a key, `jobs` leaves a job that its own `/exit`
asks about, `ask later` has it ask for permission when the next text was pasted. Keys that reach a dialog are written down too.
Further arguments are its habits: with `trust` it begins with that dialog, with `slow` it reads late, with `anew` it starts itself
anew, with `deaf` it works on after the first Escape, with `blank` it knows pastes long before it draws, and forgets what came
before that, with `stalls` it draws and then reads nothing for longer than most wait, with `swallows` it loses the first Enter
behind each paste, with `heedless` every Enter. What stands behind `--` is its first prompt, which comes late into its input line,
and is submitted later still.
`--session-id` and its value are left out.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import termios
import time
import tty

RULE = "─" * 60
SPINNER = "◐◑"
_BREATH_SECONDS = 0.1
_FIRST_SECONDS = 2.0
_STALL_SECONDS = 20.0


class Agent:
    def __init__(self, record: str, *habits: str) -> None:
        self.record = record
        self.said: list[str] = []
        self.typed = ""
        self.dialog = "trust" if "trust" in habits else ""
        self.jobs = self.asks_later = False
        self.late = "slow" in habits
        self.blank = "blank" in habits
        self.deaf = "deaf" in habits
        self.stalls = "stalls" in habits
        self.swallows = "swallows" in habits
        self.heedless = "heedless" in habits
        self.swallowed = False
        self.works_until = 0.0
        self.turns = 0
        self.data = b""
        self.came_at = self.pasted_at = 0.0
        self.first = habits[habits.index("--") + 1] if "--" in habits else ""
        self.first_at = time.monotonic() + _FIRST_SECONDS if self.first else 0.0

    def run(self) -> None:
        tty.setraw(0)
        os.write(1, b"\x1b[?2004h")
        if self.blank:
            time.sleep(7)
            termios.tcflush(0, termios.TCIFLUSH)
        while True:
            self.draw()
            if self.works_until and time.monotonic() >= self.works_until:
                self.works_until, self.turns = 0.0, self.turns + 1
                continue
            self.begin()
            ready, _, _ = select.select([0], [], [], 0.1 if self.works_until or self.first_at else None)
            if ready:
                self.came_at = time.monotonic()
                if self.late:
                    time.sleep(0.8)
                if self.stalls:
                    self.stalls = False
                    time.sleep(_STALL_SECONDS)
                self.data += os.read(0, 1 << 20)
                self.take()

    def begin(self) -> None:
        """With its first prompt: put into its input line, and submitted with whatever stands there then."""
        if self.first_at and time.monotonic() >= self.first_at:
            if self.first:
                self.typed, self.first, self.first_at = self.typed + self.first, "", time.monotonic() + _FIRST_SECONDS
            else:
                self.first_at = 0.0
                self.submit()
            self.draw()

    def take(self) -> None:
        """Keys, and pastes, of which the whole must be there. Enter in the same breath as a paste is a part of it, and
        so is one that comes right after that was taken."""
        while self.data:
            if self.data.startswith(b"\x1b[200~"):
                paste, found, rest = self.data[6:].partition(b"\x1b[201~")
                if not found:
                    return
                if rest.startswith(b"\r"):
                    paste, rest = paste + b"\r", rest[1:]
                self.data = rest
                if self.dialog:
                    self.note(dialog=self.dialog, keys="paste")
                else:
                    self.typed += paste.decode().replace("\r", "\n")
                    self.dialog = "permission" if self.asks_later else ""
                self.pasted_at = time.monotonic()
            else:
                key, self.data = self.data[:1], self.data[1:]
                self.press(key.decode(errors="replace"))

    def press(self, key: str) -> None:
        if self.dialog:
            self.note(dialog=self.dialog, keys=key)
            self.answer(key)
        elif key == "\r" and self.came_at < self.pasted_at + _BREATH_SECONDS:
            self.typed += "\n"
        elif key == "\r" and (self.heedless or (self.swallows and not self.swallowed)):
            self.swallowed = True
            self.note(lost="Enter")
        elif key == "\r":
            self.swallowed = False
            self.submit()
        elif key == "\x1b":
            self.works_until = self.works_until if self.deaf else 0.0
            self.deaf = False
            self.note(key="Escape")
        elif key == "\x03":
            self.typed = ""
        else:
            self.typed += key

    def answer(self, key: str) -> None:
        dialog, self.dialog = self.dialog, ""
        if (dialog == "exit" and key == "1") or (dialog == "trust" and key in "\r\x1b"):
            self.leave()

    def submit(self) -> None:
        text, self.typed = self.typed.strip(), ""
        if not text:
            return
        if text == "/exit":
            self.note(leave=True)
            if not self.jobs:
                self.leave()
            self.dialog = "exit"
            return
        self.note(submitted=text)
        if text.startswith("work "):
            self.works_until = time.monotonic() + float(text.split()[1])
        elif text.startswith("edit "):
            os.write(1, b"\x1b[2J\x1b[H")
            subprocess.run(text.split()[1:], check=False)
        elif text.startswith("tool "):
            self.works_until = time.monotonic() + 600
            spawn = [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])", *text.split()[1:]]
            subprocess.Popen(spawn, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        elif text in ("dialog", "strange"):
            self.dialog = "permission" if text == "dialog" else "strange"
        elif text == "ask later":
            self.asks_later = True
        elif text == "jobs":
            self.jobs = True
        else:
            self.turns += 1

    def leave(self) -> None:
        os.write(1, b"\x1b[?2004l\r\nbye\r\n")
        termios.tcdrain(1)
        sys.exit(0)

    def note(self, **what: object) -> None:
        with open(self.record, "a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")

    def draw(self) -> None:
        busy = bool(self.works_until)
        title = f"{SPINNER[int(time.monotonic() * 10) % 2] if busy else '✳'} Claude Code"
        lines = ["Claude Code", *(["● All done here."] if self.turns else [])]
        lines += self.question() if self.dialog else self.prompt(busy)
        screen = "\r\n".join(lines)
        os.write(1, f"\x1b]0;{title}\x07\x1b[2J\x1b[H{screen}".encode())

    def prompt(self, busy: bool) -> list[str]:
        shown = self.typed if len(self.typed) < 50 else f"[Pasted text #1 +{self.typed.count(chr(10))} lines]"
        doing = [f"✻ Working… ({int(time.monotonic())}s)"] if busy else []
        hint = " · esc to interrupt" if busy else ""
        return [*doing, RULE, f"❯ {shown}".replace("\n", "\r\n  "), RULE, f"  manual mode on{hint}"]

    def question(self) -> list[str]:
        if self.dialog == "trust":
            asked = [" Is this a project you created or one you trust?", " ❯ No, exit", "   Yes, I trust this folder"]
        elif self.dialog == "strange":
            return ["  What shall become of it?", "  > keep it", "    throw it away", "  (space chooses)"]
        elif self.dialog == "exit":
            asked = ["   Background work is running", "   ❯ 1. Exit and stop tasks", "     3. Stay"]
        else:
            fence = "╌" * 60
            asked = [" Bash command", fence, " make all", fence, " Do you want to proceed?", " ❯ 1. Yes", "   2. No"]
        return [RULE, *asked, " Enter to confirm · Esc to cancel"]


def start_anew(words: list[str]) -> int:
    """As agents under node do: a process that only waits for the one that has the same terminal."""
    with subprocess.Popen([sys.executable, *words]) as child:
        select.select([os.pidfd_open(child.pid)], [], [])
    return child.returncode


if __name__ == "__main__":
    if "anew" in sys.argv:
        sys.exit(start_anew([word for word in sys.argv if word != "anew"]))
    own = sys.argv.index("--session-id") if "--session-id" in sys.argv else len(sys.argv)
    Agent(*sys.argv[1:own], *sys.argv[own + 2 :]).run()
