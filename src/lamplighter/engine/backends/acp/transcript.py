"""The conversation of a session that speaks ACP, as a file beside its log: a line for each thing that was said or done.

What is said comes in pieces, as they arrive; once a message is whole, it follows as one. The file counts as far as the
exchange says: what a crash left behind that is taken back, and comes again. Knows files; knows no protocol.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from lamplighter.domain.text.plural import counted

NAME = "conversation.jsonl"
_LONGEST_WHOLE = 1 << 20
_BLOCK = 1 << 20
_TAIL = 4 << 20
_ANSWERED = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal"})


class AcpPage(NamedTuple):
    text: str
    cursor: int
    more: bool


class AcpTranscript:
    def __init__(self, folder: str) -> None:
        self.path = f"{folder}/{NAME}"

    def size(self) -> int:
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0

    def cut(self, size: int) -> None:
        """Only this much of it counts."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(descriptor).st_size > size:
                os.ftruncate(descriptor, size)
        finally:
            os.close(descriptor)

    def add(self, size: int, entries: list[dict[str, Any]], last: dict[str, Any]) -> int:
        """Write them behind what counts; the size after them. `last` is the message that is being said: where it begins is
        noted in it, as only here it is known."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            for number, entry in enumerate(entries):
                if entry["kind"] == "whole":
                    entry = _whole(descriptor, entry, size)
                elif entry.get("first"):
                    _note_beginning(entries[number + 1 :], last, size)
                data = json.dumps(entry, ensure_ascii=False).encode(errors="surrogatepass") + b"\n"
                size += _write(descriptor, data, size)
            os.ftruncate(descriptor, size)
        finally:
            os.close(descriptor)
        return size

    def page(self, since: int, limit: int) -> AcpPage:
        """What was said from a cursor on, as text; whole lines of the file, so that the next page begins with one."""
        try:
            with open(self.path, "rb") as file:
                end = os.fstat(file.fileno()).st_size
                file.seek(min(since, end))
                data = file.read(min(max(limit, _BLOCK), max(0, end - since)))
        except FileNotFoundError:
            return AcpPage("", since, False)
        whole = data[: data.rfind(b"\n") + 1]
        if not whole and len(data) < end - since:  # one line that is longer than a page
            return self.page(since, 2 * max(limit, _BLOCK))
        text = "".join(render(json.loads(line)) for line in whole.splitlines())
        return AcpPage(text, since + len(whole), since + len(whole) < end)

    def last_answer(self, size: int) -> tuple[str, str | None]:
        """What the agent said last, up to a cursor, and how the turn ended; None when it has not."""
        answer: str = ""
        reason: str | None = None
        with suppress(FileNotFoundError), open(self.path, "rb") as file:
            for line in file.read(size).splitlines():
                entry = json.loads(line)
                if entry["kind"] == "whole" and entry["of"] == "agent":
                    answer = entry["text"]
                elif entry["kind"] == "whole" and entry["of"] == "user":  # another was asked
                    answer, reason = "", None
                elif entry["kind"] == "stop":
                    reason = entry["reason"]
        return answer, reason


class Spoken(NamedTuple):
    """What an agent said, in pieces, when each came, and how its last turn ended: "" when it has not, or did as it should."""

    chunks: tuple[str, ...]
    times: tuple[float, ...]
    stopped: bool
    failure: str


def whole(folder: str) -> Iterator[dict[str, Any]]:
    """Every line that is all there. Blocks; for a thread."""
    with suppress(FileNotFoundError), open(f"{folder}/{NAME}", "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


def spoken(folder: str) -> Spoken:
    """Of a session that is there for one prompt. Blocks; for a thread."""
    chunks: list[str] = []
    times: list[float] = []
    stopped, failure = False, ""
    for entry in whole(folder):
        if entry["kind"] == "agent":
            chunks.append(entry["text"])
            times.append(entry["at"])
        elif entry["kind"] == "user":  # what comes before it was loaded, and is told of already
            chunks, times, stopped, failure = [], [], False, ""
        elif entry["kind"] == "stop":
            stopped = True
            failure = "" if entry["reason"] in _ANSWERED else f"{entry['reason']}: {entry.get('said', '')}"
        elif entry["kind"] == "refused":
            stopped, failure = True, entry["why"]
    return Spoken(tuple(chunks), tuple(times), stopped, failure)


def tail(folder: str, lines: int) -> str:
    """The last lines of what was said."""
    journal = AcpTranscript(folder)
    since, size = 0, journal.size()
    if size > _TAIL:
        with open(journal.path, "rb") as file:
            file.seek(size - _TAIL)
            since = size - _TAIL + file.read(_TAIL).find(b"\n") + 1
    page = journal.page(since, _TAIL)
    return "".join(page.text.splitlines(keepends=True)[-lines:])


def _whole(descriptor: int, entry: dict[str, Any], size: int) -> dict[str, Any]:
    begin = entry["from"]
    pieces = os.pread(descriptor, size - begin, begin).splitlines() if begin is not None else []
    said = [json.loads(piece) for piece in pieces]
    text = "".join(str(piece["text"]) for piece in said if piece["kind"] == entry["of"])
    return {
        **{name: entry[name] for name in ("acp", "kind", "of")},
        "at": entry["at"],
        "text": text[:_LONGEST_WHOLE],
    }


def _note_beginning(following: list[dict[str, Any]], last: dict[str, Any], size: int) -> None:
    """A message begins at this place of the file: said to the entry that will end it, or kept until that comes."""
    ending = next((entry for entry in following if entry["kind"] == "whole"), None)
    if ending is not None:
        ending["from"] = size
    else:
        last["from"] = size


def _write(descriptor: int, data: bytes, offset: int) -> int:
    written = 0
    while written < len(data):
        written += os.pwrite(descriptor, data[written:], offset + written)
    return written


def render(entry: dict[str, Any]) -> str:
    """A line of the conversation as a person reads it; "" for what is only for programs."""
    shown = _shown(entry)
    return f"\n{shown}" if shown and entry.get("nl") else shown


def _shown(entry: dict[str, Any]) -> str:
    match entry["kind"]:
        case "user":
            text = str(entry["text"]).replace("\n", "\n> ")
            return f"> {text}" if entry.get("first") else text
        case "agent":
            return str(entry["text"])
        case "tool":
            return f"[{entry.get('title', 'tool')}{_status(entry)}]\n" if "title" in entry else ""
        case "asks":
            return f"[asks for permission: {entry['title']}]\n"
        case "decision":
            return f"[{entry['decision']}: {entry['title']}]\n"
        case "stop":
            said = f": {entry['said']}" if "said" in entry else ""
            return "" if entry["reason"] == "end_turn" else f"[the turn is over: {entry['reason']}{said}]\n"
        case "refused":
            return f"[the agent does not begin: {entry['why']}]\n"
        case "lost":
            return f"[lost of what it said: {counted(entry['bytes'], 'byte')}]\n"
        case _:
            return ""


def _status(entry: dict[str, Any]) -> str:
    status = entry.get("status")
    return f": {status}" if status in ("completed", "failed") else ""
