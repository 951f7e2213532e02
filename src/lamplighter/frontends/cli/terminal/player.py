"""`lamp replay`: a session's recording on the person's own terminal, as fast as they like, forward and back.

Knows the keys and a raw terminal; what is shown when, the recording knows.
"""

from __future__ import annotations

import re
import select
import time
from typing import Any

from lamplighter.domain.duration import parse_duration
from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.caller_context import screen_size
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.format import clean
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.exit_status import number_of
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.terminal.playback import Playback, SavedRecording
from lamplighter.frontends.cli.terminal.raw_terminal import CLEAR, Terminal, is_terminal
from lamplighter.frontends.cli.terminal.signals import Signals
from lamplighter.home import find_home

_STOPPED_BY = ("INT", "TERM", "HUP", "QUIT")
_JUMP, _LEAP = 5.0, 60.0
# A key of its own, a sequence that the terminal sends for one, or an answer of the terminal's that nobody asked for here.
KEY = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[A-Z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[P_^X][^\x1b]*\x1b\\)|\x1b(?=[^\[\]OP_^X])|[^\x1b]",
    re.S,
)
NAMES = {b"\x1b[C": "right", b"\x1b[D": "left", b"\x1b[A": "up", b"\x1b[B": "down", b"\x1bOC": "right", b"\x1bOD": "left",
         b"\x1bOA": "up", b"\x1bOB": "down", b"\x1b[H": "home", b"\x1b[F": "end", b"\x1b[1~": "home",
         b"\x1b[4~": "end"}  # fmt: skip
_LONGEST_KEY = 4096


def replay(operation: str, arguments: Arguments, output: CommandOutput) -> int:
    """Until the recording is over or the person leaves. With --json the document comes after that."""
    if not is_terminal():
        raise InputError(
            Code.BAD_INPUT,
            "replay needs a terminal on standard input and output",
            f"lamp read {arguments.request.get('session', 'ID')} --cast > FILE keeps the recording for another player",
        )
    speed, begin, longest = _options(arguments.options)
    name, text = _fetch(DaemonClient(find_home()), operation, arguments.request)
    recording = SavedRecording(text, longest)
    with Signals((*_STOPPED_BY, "WINCH", "CONT")) as signals, Terminal() as terminal:
        playback = Playback(recording, time.monotonic(), speed=speed)
        playback.paused = bool(arguments.options.get("paused"))
        player = Player(playback, terminal, signals, begin=begin)
        how = player.play()
    played = player.playback.at(time.monotonic()) if how == "left" else recording.seconds
    if output.as_json:
        output.document({"name": name, "how": how, "at": round(played, 3), "seconds": round(recording.seconds, 3)})
    else:
        output.out.write(
            f"[{how} at {_clock(played)} of {_clock(recording.seconds)}: {clean(name)}{_fit(recording)}]\n"
        )
        output.out.flush()
    return 128 + number_of(how) if how in _STOPPED_BY else 0


def _options(options: dict[str, Any]) -> tuple[float, float, float | None]:
    word = str(options.get("speed") or "1").lower().removesuffix("x")
    try:
        speed = float(word)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e6:
        raise InputError(Code.BAD_INPUT, f"no such speed: {word[:20]!r}", "2 is twice as fast, 0.5 half as fast")
    begin = parse_duration(options["from"], "from") if options.get("from") else 0.0
    longest = parse_duration(options["max_pause"], "max_pause") if options.get("max_pause") else None
    return speed, begin, longest


def _fetch(client: DaemonClient, operation: str, request: dict[str, Any]) -> tuple[str, str]:
    """The session's name and its recording, whole; after a break it comes anew."""
    pages: list[str] = []

    def again(before: dict[str, Any]) -> dict[str, Any]:
        pages.clear()
        return before

    asked = {**request, "mode": "cast", "follow": True}
    client.call(operation, asked, each=lambda page: pages.append(page["text"]), again=again)
    name = client.call("get_session", {"session": request["session"]})["name"]
    return name, "".join(pages)


class Player:
    def __init__(self, playback: Playback, terminal: Terminal, signals: Signals, *, begin: float) -> None:
        self.recording = playback.recording
        self.terminal = terminal
        self.signals = signals
        self.playback = playback
        self.how = ""
        self._typed = b""
        terminal.output.put(b"\r\n" * screen_size()[0])  # what was there scrolls away, unharmed
        self._jump(begin)

    def play(self) -> str:
        """How it was over: ended, left, or the signal."""
        while not self.how:
            now = time.monotonic()
            if self.terminal.output.has_room:
                self._put(self.playback.take(now))
            if self.playback.is_over(now) and not self.terminal.output.pending:
                self.how = "ended"
            elif not self.how:
                self._turn(self.playback.wait(now))
        self.terminal.output.drain(2.0)
        return self.how

    def _turn(self, pause: float | None) -> None:
        output = self.terminal.output
        poll = select.poll()
        poll.register(self.signals, select.POLLIN)
        poll.register(self.terminal.source, select.POLLIN)
        if output.pending:
            poll.register(output.descriptor, select.POLLOUT)
        if not output.has_room:
            pause = None  # a slow terminal is waited for
        for descriptor, _ in poll.poll(None if pause is None else pause * 1000 + 1):
            if descriptor == self.signals.fileno():
                self._take_signals()
            elif descriptor == self.terminal.source:
                self._take_keys()
            else:
                output.write()
        if output.broken:
            self.how = "HUP"

    def _take_signals(self) -> None:
        for name in self.signals.take():
            if name == "CONT":
                self.terminal.make_raw()
            if name in ("CONT", "WINCH"):
                self._jump(self.playback.at(time.monotonic()))
            else:
                self.how = self.how or name

    def _take_keys(self) -> None:
        typed = self.terminal.typed()
        if not typed:
            self.how = "HUP"
            return
        self._typed = (self._typed + typed)[-_LONGEST_KEY:]
        at = 0
        for found in KEY.finditer(self._typed):
            if found.start() != at:
                break
            at = found.end()
            self._press(NAMES.get(found[0], found[0].decode("latin-1")))
        self._typed = self._typed[at:]

    def _press(self, key: str) -> None:
        now = time.monotonic()
        here = self.playback.at(now)
        if key in ("q", "Q", "\x03", "\x04"):
            self.how = self.how or "left"
        elif key in (" ", "p"):
            self.playback.pause(now)
            self._jump(self.playback.at(now))
        elif key in ("right", "left", "up", "down", "l", "h"):
            by = {"right": _JUMP, "l": _JUMP, "left": -_JUMP, "h": -_JUMP, "up": _LEAP, "down": -_LEAP}[key]
            self._jump(here + by * (1 if abs(by) == _LEAP else max(1.0, self.playback.speed)))
        elif key in ("home", "g"):
            self._jump(0.0)
        elif key in ("end", "G"):  # and stays there, for whoever wants to go back
            self.playback.paused = True
            self._jump(self.recording.seconds)
        elif key.isdigit():
            self._jump(self.recording.seconds * int(key) / 10)
        elif key in ("+", "=", ">", "-", "<"):
            self.playback.change_speed(now, 2.0 if key in "+=>" else 0.5)
            self._say()
        elif key in (".", "n"):
            text = self.playback.step(now)
            self._jump(self.playback.at(now)) if not text else self._put(text)
            self._say()

    def _jump(self, to: float) -> None:
        self.terminal.output.put(CLEAR)
        self._put(self.playback.jump(time.monotonic(), to))
        self._say()

    def _put(self, text: str) -> None:
        self.terminal.output.put(text.encode("utf-8", "replace"))

    def _say(self) -> None:
        """Where it is: in the title; while it stands still also in the last line, which the next picture draws over."""
        now = time.monotonic()
        place = f"{_clock(self.playback.at(now))} of {_clock(self.recording.seconds)}, {self.playback.speed:g}x"
        state = "paused" if self.playback.paused else "replay"
        self._put(f"\x1b]2;{state} {place}\x07")
        if self.playback.paused:
            rows = screen_size()[0]
            keys = "space plays, arrows jump, + and - change the speed, . steps, q leaves"
            self._put(f"\x1b7\x1b[r\x1b[{rows};1H\x1b[0;7m{state} {place}: {keys}\x1b[K\x1b[0m\x1b8")


def _fit(recording: SavedRecording) -> str:
    rows, cols = screen_size()
    if recording.rows <= rows and recording.cols <= cols:
        return ""
    return f"; it was recorded at {recording.cols}x{recording.rows}, and this terminal has {cols}x{rows}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
