"""What the screens of agents say, what must not be typed into them, and how each is asked to leave.

Knows no agent. A screen that is not known for certain says nothing: then the engine's own rules hold. What is taken as certain
stands at the end of a screen, below all that a conversation can show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from lamplighter import lazy_re as re
from lamplighter.domain.screen_sign import ScreenReading, Sign
from lamplighter.lazy_dataclass import dataclass

RULE = re.compile(r"─{20}")
"""The fence that many draw around their input line."""
_BOTTOM = 60
_WIDEST = 500
_ABOVE = 8  # room for what it is doing, a tip and a warning
_CLOSING = 3
_BELOW = 14  # warnings, where there is no input line
_LONGEST = 200
_BLANKS = re.compile(r"\s+")
_FRAME = re.compile(r"[│┃█]")
_OWN = re.compile(r" |$")
_LETTERS = re.compile(r"[^\W_]")
_NEVER = re.compile(r"(?!)")
# The last word opens a list of files, and Enter would choose from it; a path alone looks like a command of the agent's own.
_OPENS_LIST = re.compile(r"(?:^|\s)@\S*\Z|\A/\S*/\S*\Z")


class Box(NamedTuple):
    """An agent's input line: where it begins among the lines of a screen, and what stands in it."""

    start: int
    typed: str


@dataclass(frozen=True)
class Dialog:
    """Open when `closing` matches one of the last lines, or `ends` the very last; which one it is, `shows` finds. `what` it waits
    for is filled with the groups of that, and {about} with what `about` finds from that line on. `leaves`: the key that lets the
    agent leave. `alone`: only where there is no input line."""

    shows: re.Pattern[str]
    what: str
    closing: re.Pattern[str]
    about: Callable[[Sequence[str], int], str] | None = None
    leaves: str = "Escape"
    ends: re.Pattern[str] = _NEVER
    alone: bool = False

    def read(self, lines: Sequence[str]) -> str | None:
        """What it waits for, when it is open."""
        last = lines[-(_BELOW if self.alone else _CLOSING) :]
        if not any(self.closing.search(line) for line in last) and not self.ends.search(lines[-1]):
            return None
        for place in range(len(lines) - 1, -1, -1):
            if (found := self.shows.search(lines[place])) is not None:
                about = self.about(lines, place) if self.about else ""
                return _told(self.what.format(about=about, **found.groupdict()))
        return None


@dataclass(frozen=True)
class ScreenPatterns:
    """`tried`: the newest version whose screens were seen. `box` finds the input line; `placeholder` is what stands there when
    nothing does. `busy_title` and `busy` are how it shows that it works: in the title, and in a line from a little above the box
    on; `asks_title`, that it waits for an answer. `turned`: a line of a turn that is over. `leave` is its own command to leave;
    `interrupt` and `clear` are keys. `shell`: how a text begins that it would run instead of reading it, also with a blank before
    it; `apart`: how one begins that a blank before it keeps from being more than a text. `queues`: it takes a text while it
    works. `busy_foot`: how its last line says that it works where it has no input line then. `sure`: what is found as its input
    line is one, whatever a dialog has in common with it. `failed` finds, above the input line, the error that the last turn ended
    with; `retrying`, where it shows that it works, the error that it tries again after. `notice`: how a paragraph begins that may
    stand below a dialog."""

    tried: str
    box: Callable[[Sequence[str]], Box | None]
    placeholder: re.Pattern[str]
    busy: re.Pattern[str]
    turned: re.Pattern[str]
    dialogs: Sequence[Dialog]
    busy_title: re.Pattern[str] = _NEVER
    leave: str = "/exit"
    interrupt: Sequence[str] = ("Escape",)
    clear: str = "C-c"
    shell: str | None = None
    apart: re.Pattern[str] = re.compile(r"!")
    queues: bool = True
    busy_foot: re.Pattern[str] = _NEVER
    sure: bool = False
    failed: Callable[[Sequence[str]], str] | None = None
    retrying: re.Pattern[str] = _NEVER
    notice: re.Pattern[str] = _NEVER
    asks_title: re.Pattern[str] = _NEVER

    def read(self, text: str, title: str | None = None) -> ScreenReading | None:
        """What the screen says; None when that is not certain."""
        lines = [line.rstrip()[:_WIDEST] for line in text.rstrip().split("\n")][-_BOTTOM:]
        box, busy = self.box(lines), bool(self.busy_title.match(title or ""))
        if (asks := self._dialog(lines, box)) is not None:
            return asks
        if box is None and self.asks_title.match(title or ""):
            return ScreenReading(Sign.WAITING, "an answer")
        if box is None:
            works = busy or self.busy_foot.search(lines[-1])
            return ScreenReading(Sign.WORKING, error=self._retried(lines, len(lines))) if works else None
        typed = bool(box.typed) and not self.placeholder.match(box.typed)
        if busy or any(self.busy.search(line) for line in lines[max(0, box.start - _ABOVE) :]):
            retried = self._retried(lines, box.start)
            return ScreenReading(Sign.WORKING, typed=typed, error=retried, takes=self.queues, line=box.typed)
        error = _told(self.failed(lines[: box.start])) if self.failed else ""
        turned = bool(error) or any(self.turned.search(line) for line in lines)
        return ScreenReading(Sign.PROMPT, turned=turned, typed=typed, error=error, takes=True, line=box.typed)

    def _retried(self, lines: Sequence[str], start: int) -> str:
        above = [line for line in lines[:start] if line][-_ABOVE:]
        found = self.retrying.search("\n".join((*above, *lines[start:])))
        return _told(found["error"]) if found else ""

    def _dialog(self, lines: Sequence[str], box: Box | None) -> ScreenReading | None:
        lines = _above_notices(lines, self.notice)
        for dialog in self.dialogs:
            if (box is None or not (self.sure or dialog.alone)) and (what := dialog.read(lines)) is not None:
                return ScreenReading(Sign.WAITING, what, leaves=dialog.leaves)
        return None

    def as_said(self, text: str) -> str:
        """The text with what keeps the agent from taking it for more than a request: a blank before or after it."""
        before = " " if self.apart.match(text) else ""
        after = " " if _OPENS_LIST.search(text) or text.endswith("\\") else ""  # a backslash before Enter is a new line
        return f"{before}{text}{after}"


def fenced(
    lines: Sequence[str],
    top: re.Pattern[str],
    mark: re.Pattern[str],
    foot: re.Pattern[str],
    beneath: re.Pattern[str] = _OWN,
    below: int = 16,
) -> Box | None:
    """An input line between two fences, at the end of the screen but for `below` lines, each of which begins as `beneath` says:
    none of them is the agent's words."""
    end = next(
        (place for place in range(len(lines) - 1, max(0, len(lines) - below) - 1, -1) if foot.match(lines[place])), 0
    )
    begin = next((place for place in range(end - 1, -1, -1) if top.match(lines[place])), end)
    marked = mark.match(lines[begin + 1]) if begin + 1 < end else None
    if marked is None or not all(beneath.match(line) for line in lines[end + 1 :]):
        return None
    rest = [lines[begin + 1][marked.end() :], *lines[begin + 2 : end]]
    return Box(begin, " ".join(rest).strip())


def from_line(lines: Sequence[str], place: int, begins: re.Pattern[str]) -> str:
    """What begins below a place with a line like this, without that beginning, up to an empty line or a fence."""
    for number in range(place + 1, len(lines)):
        if (found := begins.match(lines[number])) is not None:
            rest = lines[number + 1 :]
            end = next((count for count, line in enumerate(rest) if not _LETTERS.search(line)), len(rest))
            return " ".join((lines[number][found.end() :], *rest[:end]))
    return ""


def last_said(begins: re.Pattern[str], else_said: re.Pattern[str]) -> Callable[[Sequence[str]], str]:
    """Finds an error that stands last of all that was said, from where it begins up to an empty line."""

    def find(lines: Sequence[str]) -> str:
        end = len(lines)
        while end:
            begin = next((place for place in range(end - 1, -1, -1) if not lines[place]), -1) + 1
            block = lines[begin:end]
            starts = (number for number, line in enumerate(block) if begins.match(line))
            if (first := next(starts, None)) is not None:
                return begins.sub(r"\g<error>", " ".join(block[first:]), count=1)
            if any(else_said.match(line) for line in block):
                return ""
            end = max(begin - 1, 0)
        return ""

    return find


def _above_notices(lines: Sequence[str], notice: re.Pattern[str]) -> Sequence[str]:
    """Without the paragraphs at the end that begin as a notice does."""
    end = len(lines)
    while end:
        begin = next((place for place in range(end - 1, -1, -1) if not lines[place]), -1) + 1
        if begin < end and not notice.match(lines[begin]):
            break
        end = begin if begin < end else end - 1
    return lines[:end] or lines


def _told(what: str) -> str:
    said = _BLANKS.sub(" ", _FRAME.sub(" ", what)).strip()
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"
