"""A recording as it is played back: what is shown when, how fast, and where one is in it. Knows asciicast; knows no terminal and
no clock.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import NamedTuple

# What a terminal would answer, into the player's own input, and what would change the clipboard of whoever looks on.
_QUESTIONS = re.compile(
    r"\x1b\[[?>=]?[0-9;]*[cn]|\x1b\[\??[0-9;]*\$p|\x1b\[>[0-9]*q|\x1b\[\?u|\x1b\[(?:1[1-9]|2[01])(?:;[0-9;]*)?t"
    r"|\x1b\](?:[0-9]+;)+\?(?:\x07|\x1b\\)|\x1b\]52;[^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP[$+]q[^\x1b]*\x1b\\|\x05|\x1bZ"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,65536}\x1b?|P[^\x1b]{0,65536}\x1b?)?\Z")
_FRESH = "\x1bc"
_SLOWEST, _FASTEST = 1 / 16, 1024.0


class TimedText(NamedTuple):
    """What appeared, and when after the beginning."""

    at: float
    text: str


class SavedRecording:
    """`rows` and `cols` are those it began with. Pauses longer than `longest` are cut to that."""

    def __init__(self, text: str, longest: float | None = None) -> None:
        lines = iter(text.splitlines())
        header = json.loads(next(lines, '{"width": 80, "height": 24}'))
        self.rows, self.cols = int(header["height"]), int(header["width"])
        self.shown: list[TimedText] = []
        self.seconds = last = 0.0
        kept = ""
        for line in lines:
            at, code, data = json.loads(line)
            step, last = at - last, at
            self.seconds += min(step, longest) if longest is not None else step
            if code == "o":
                data = _QUESTIONS.sub("", kept + data)
                begun = _BEGUN.search(data)
                data, kept = (data[: begun.start()], data[begun.start() :]) if begun else (data, "")
                self.shown.append(TimedText(self.seconds, data))
        self._times = [one.at for one in self.shown]

    def until(self, at: float) -> int:
        """How much of it has been shown by then."""
        return bisect_right(self._times, at)

    def drawn(self, count: int) -> str:
        """All that makes the screen as it is then, from the last time that everything was reset."""
        begun = next((n for n in range(count - 1, -1, -1) if _FRESH in self.shown[n].text), 0)
        return "".join(one.text for one in self.shown[begun:count])


class Playback:
    """A place in a recording that moves on with time. `now` is on a clock that only goes forward."""

    def __init__(self, recording: SavedRecording, now: float, *, speed: float = 1.0, at: float = 0.0) -> None:
        self.recording = recording
        self.speed = min(max(speed, _SLOWEST), _FASTEST)
        self.paused = False
        self.count = 0
        self._at = at
        self._since = now

    def at(self, now: float) -> float:
        """Seconds of the recording that have been played."""
        played = 0.0 if self.paused else max(0.0, now - self._since) * self.speed
        return min(self.recording.seconds, self._at + played)

    def take(self, now: float) -> str:
        """What has to be shown by now, and was not yet."""
        count = self.recording.until(self.at(now))
        text = "".join(one.text for one in self.recording.shown[self.count : count])
        self.count = max(self.count, count)
        return text

    def wait(self, now: float) -> float | None:
        """Until there is more to show, or the end has come; None where that is never."""
        if self.paused:
            return None
        shown = self.recording.shown
        following = shown[self.count].at if self.count < len(shown) else self.recording.seconds
        return max(0.0, following - self.at(now)) / self.speed

    def is_over(self, now: float) -> bool:
        return not self.paused and self.count == len(self.recording.shown) and self.at(now) >= self.recording.seconds

    def pause(self, now: float) -> None:
        self._move(now, self.at(now))
        self.paused = not self.paused

    def change_speed(self, now: float, factor: float) -> None:
        self._move(now, self.at(now))
        self.speed = min(max(self.speed * factor, _SLOWEST), _FASTEST)

    def jump(self, now: float, to: float) -> str:
        """Go there, and say what draws the screen as it is there."""
        self._move(now, min(max(0.0, to), self.recording.seconds))
        self.count = self.recording.until(self._at)
        return self.recording.drawn(self.count)

    def step(self, now: float) -> str:
        """On to what is shown next, and stay there."""
        self.paused, before = True, self.at(now)
        shown = self.recording.shown
        self._move(now, max(before, shown[self.count].at) if self.count < len(shown) else self.recording.seconds)
        return self.take(now)

    def _move(self, now: float, at: float) -> None:
        self._at, self._since = at, now
