"""The shape of a log on disk: segments of frames, and how to tell a frame from what is none.

Knows names, headers and offsets. Opens files to read them; writes nothing, follows nothing.
"""

from __future__ import annotations

import json
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

OUTPUT, INPUT, RESIZE, GAP, EXIT = 1, 2, 3, 4, 5
NO_STREAM, STDOUT, STDERR = 0, 1, 2

HEADER = struct.Struct("<BBHIQd")
SIZE = struct.Struct("<HH")
MAX_PAYLOAD = 1 << 20
BLOCK = 256 << 10

_HEADER_SIZE = HEADER.size

if TYPE_CHECKING:
    Entry = tuple[
        int, int, int, float, int, int
    ]  # kind, stream, offset, time, begin and end of the payload in its block


class Segment:
    """One file of the log; their order is the order of the output."""

    __slots__ = ("generation", "start")

    def __init__(self, start: int, generation: int) -> None:
        self.start = start
        self.generation = generation

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Segment) and (self.start, self.generation) == (other.start, other.generation)

    def __lt__(self, other: Segment) -> bool:
        return (self.start, self.generation) < (other.start, other.generation)

    def __hash__(self) -> int:
        return hash((self.start, self.generation))

    def __repr__(self) -> str:
        return f"Segment({self.start}, {self.generation})"

    @property
    def name(self) -> str:
        return f"log-{self.start:020d}-{self.generation:04d}"


def segments(folder: str) -> list[Segment]:
    """The segments in `folder`, in order; none when there is no such folder (a log that was pruned)."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    parts = [name.split("-") for name in names if name.startswith("log-")]
    return sorted(Segment(int(p[1]), int(p[2])) for p in parts if len(p) == 3 and p[1].isdigit() and p[2].isdigit())


def gap_payload(lost: int, why: str, records: int = 0) -> bytes:
    said: dict[str, Any] = {"lost": lost, "why": why}
    if records:
        said["records"] = records
    return json.dumps(said).encode()


def gap_said(payload: bytes) -> tuple[int, str]:
    """How many bytes a gap frame says were lost, and why; ValueError when it is not one."""
    fields: dict[str, Any] = json.loads(payload)
    if type(fields) is not dict:
        raise ValueError("a gap's payload is an object")
    lost = fields.get("lost")
    if not isinstance(lost, int) or lost < 0:
        raise ValueError("a gap says how much was lost")
    return lost, str(fields.get("why", "unknown"))


def parse(block: bytes, offset: int) -> tuple[list[Entry], int, int, int]:
    """The whole frames at the start of `block`: entries, bytes consumed, next offset, and what the next frame needs.

    The need is -1 when what follows is no frame. Every frame repeats the offset it is at, so garbage is told from a
    frame by that; a kind from a later version is passed over by whoever does not know it.
    """
    entries: list[Entry] = []
    unpack, add = HEADER.unpack_from, entries.append
    position, size, need = 0, len(block), _HEADER_SIZE
    while position + _HEADER_SIZE <= size:
        kind, stream, _, length, at, time = unpack(block, position)
        if at != offset or not kind or length > MAX_PAYLOAD:
            return entries, position, offset, -1
        begin = position + _HEADER_SIZE
        end = begin + length
        if end > size:
            need = end - position
            break
        if kind == OUTPUT:
            offset += length
        elif kind == GAP:
            try:
                offset += gap_said(block[begin:end])[0]
            except ValueError:
                return entries, position, offset, -1
        add((kind, stream, at, time, begin, end))
        position = end
    return entries, position, offset, need


def blocks(folder: str, segment: Segment) -> Iterator[tuple[bytes, list[Entry], int]]:
    """Every block of one segment with its entries and the offset after it, up to its torn tail or garbage."""
    position, offset, want = 0, segment.start, BLOCK
    fd = os.open(os.path.join(folder, segment.name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        while True:
            block = os.pread(fd, want, position)
            entries, consumed, offset, need = parse(block, offset)
            if entries:
                position += consumed
                want = BLOCK
                yield block, entries, offset
            elif need > len(block) == want:
                want = need
            else:
                return
    finally:
        os.close(fd)
