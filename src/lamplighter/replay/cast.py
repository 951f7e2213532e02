"""A session's log as a recording that asciinema plays: asciicast v2, which its 2.x and 3.x players both read.

Knows frames and the recording's format. Needs a terminal only to begin in the middle, and knows nothing of sessions.
"""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Iterator

from lamplighter.domain.text.plural import counted
from lamplighter.holder.log_reader import Frame, LogReader
from lamplighter.holder.segments import GAP, NO_STREAM, OUTPUT, RESIZE, SIZE, gap_said
from lamplighter.replay import keyframes
from lamplighter.replay.keyframes import Keyframe
from lamplighter.replay.screen import Screen, log_start

_USUAL_SIZE = 24, 80
_RESET = b"\x1bc"
# What is left of a character in UTF-8 that was cut: at most three of these.
_INSIDE_CHARACTERS = bytes(range(0x80, 0xC0))
_LONGEST_REST = 3


def recording(folder: str, title: str | None = None, since: int = 0) -> Iterator[str]:
    """The lines of the recording, without their newlines: a header, then events in the order they happened.

    With `since` it begins at that offset, and a terminal's with the screen as it stood there. Where the log itself begins
    later, it is the whole recording.
    """
    with LogReader(folder) as reader:
        size, started = _opening(reader)
        frames = _repaired(folder, reader.frames())
        if since > log_start(folder):
            keyframe = _screen_at(folder, since) if size else None
            size = (keyframe.rows, keyframe.cols) if keyframe else None
            started = next((frame.time for frame in reader.frames(since)), started)
            frames = _continued(folder, reader, since, keyframe, started or 0.0)
        rows, cols = size or _USUAL_SIZE
        header = {"version": 2, "width": cols, "height": rows, "timestamp": int(started or 0)}
        yield json.dumps(header | ({"title": title} if title else {}), ensure_ascii=False)
        yield from _Events(started or 0.0, (rows, cols), headless=size is None).of(frames)


def _opening(reader: LogReader) -> tuple[tuple[int, int] | None, float | None]:
    """The first size, if it is known before the first output, and the time of the first frame, if there is one."""
    started = None
    for frame in reader.frames():
        started = frame.time if started is None else started
        if frame.kind == RESIZE and len(frame.payload) == SIZE.size:
            rows, cols = SIZE.unpack(frame.payload)
            return (rows, cols), started
        if frame.kind == OUTPUT:
            break
    return None, started


def _screen_at(folder: str, offset: int) -> Keyframe:
    with Screen(folder) as screen:
        screen.advance_to(offset)
        return screen.keyframe()


def _continued(folder: str, reader: LogReader, since: int, screen: Keyframe | None, time: float) -> Iterator[Frame]:
    """The frames from `since` on, after the screen that stands for all before them."""
    if screen is None:
        return _from_a_character(reader.frames(since))
    frames = reader.frames(since)
    rest = frames if screen.exact else _repaired(folder, frames, keyframes.first(folder, since))
    return itertools.chain([Frame(OUTPUT, NO_STREAM, since, time, _RESET + screen.vt)], rest)


def _from_a_character(frames: Iterator[Frame]) -> Iterator[Frame]:
    """Without what is left of a character that was cut, in either stream."""
    most: dict[int, int] = {}
    for frame in frames:
        left = most.get(frame.stream, _LONGEST_REST) if frame.kind == OUTPUT else 0
        if left:
            begun, after = frame.payload[:left].lstrip(_INSIDE_CHARACTERS), frame.payload[left:]
            most[frame.stream] = 0 if begun or after else left - len(frame.payload)
            frame = frame._replace(payload=begun + after)
        yield frame


def _repaired(folder: str, frames: Iterator[Frame], keyframe: Keyframe | None = None) -> Iterator[Frame]:
    """The frames with a keyframe in its place among them, to set right what came before: this one, or where the beginning of all
    was rotated away the first."""
    for frame in frames:
        if frame.kind == GAP and frame.offset == 0:
            keyframe = keyframes.first(folder, gap_said(frame.payload)[0])
        if keyframe is not None and frame.kind == OUTPUT and frame.offset + len(frame.payload) > keyframe.offset:
            before = max(0, keyframe.offset - frame.offset)
            if before:
                yield frame._replace(payload=frame.payload[:before])
            yield Frame(OUTPUT, NO_STREAM, keyframe.offset, frame.time, _RESET + keyframe.vt)
            frame = frame._replace(offset=frame.offset + before, payload=frame.payload[before:])
            keyframe = None
        yield frame


class _Events:
    """Frames into events. Characters may be cut anywhere, so each stream has a decoder that waits for the rest."""

    def __init__(self, started: float, size: tuple[int, int], headless: bool) -> None:
        self._started = started
        self._time = 0.0
        self._size = size
        self._headless = headless
        self._decoders: dict[int, codecs.IncrementalDecoder] = {}

    def of(self, frames: Iterator[Frame]) -> Iterator[str]:
        for frame in frames:
            # A clock that was set back must not make a recording run backwards.
            self._time = max(self._time, frame.time - self._started)
            if frame.kind == OUTPUT:
                yield from self._output(frame)
            elif frame.kind == RESIZE and len(frame.payload) == SIZE.size:
                yield from self._resize(SIZE.unpack(frame.payload))
            elif frame.kind == GAP:
                yield from self._gap(frame)
        yield from self._rest()

    def _output(self, frame: Frame) -> Iterator[str]:
        if frame.stream == NO_STREAM:
            yield from self._rest()  # a keyframe replaces what was before it, and goes on in the terminal's stream
        stream = frame.stream or 1
        decoder = self._decoders.get(stream)
        if decoder is None:
            decoder = self._decoders[stream] = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(frame.payload)
        if text:
            yield self._event("o", _with_returns(text) if self._headless else text)

    def _resize(self, size: tuple[int, ...]) -> Iterator[str]:
        if size != self._size:
            self._size = size[0], size[1]
            yield self._event("r", f"{size[1]}x{size[0]}")

    def _gap(self, frame: Frame) -> Iterator[str]:
        lost, why = gap_said(frame.payload)
        yield from self._rest()
        if lost:
            yield self._event("m", f"{counted(lost, 'byte')} of output lost: {why}")

    def _rest(self) -> Iterator[str]:
        """What the decoders still wait for will not come."""
        for decoder in self._decoders.values():
            text = decoder.decode(b"", final=True)
            decoder.reset()
            if text:
                yield self._event("o", text)

    def _event(self, code: str, data: str) -> str:
        return json.dumps([round(self._time, 6), code, data], ensure_ascii=False)


def _with_returns(text: str) -> str:
    """Pipes have bare newlines; a terminal needs the return that a terminal driver would have added."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
