"""A session's meter: how far its output is, when it last spoke, who is attached. One small file in shared memory.

The shim writes it, the daemon reads it without asking anybody: a thousand sessions are listed without a thousand messages.
Standard library only.
"""

from __future__ import annotations

import mmap
import os
import struct

_FORM = struct.Struct("<IIQddHHIdd")  # the last three came later: 0 where an older shim writes
_SIZE = 64
_VERSION = 1


class MeterReading:
    """What a meter says; at first only what can be told without one. `heard` and `typed` are when it last printed and was last
    typed to, on the clock that neither jumps nor counts a suspended machine's sleep; `closed` that it has closed its output."""

    __slots__ = ("attached", "closed", "cols", "heard", "last_input", "last_output", "offset", "rows", "typed")

    def __init__(self, attached: int = 0, last_output: float = 0.0, last_input: float = 0.0) -> None:
        self.attached = attached
        self.offset = 0
        self.last_output = last_output
        self.last_input = last_input
        self.rows = self.cols = 0
        self.closed = False
        self.heard = self.typed = 0.0


class Meter:
    """The writing end."""

    def __init__(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, _SIZE)
            # Without its blocks reserved, a write into the mapping on a full disk would be a SIGBUS.
            os.posix_fallocate(descriptor, 0, _SIZE)
            self._map = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        # A shim that takes over goes on from what the lost one wrote; only its people are gone.
        found = unpack_reading(self._map) or MeterReading()
        self.attached = 0
        self.offset = found.offset
        self.last_output = found.last_output
        self.last_input = found.last_input
        self.rows = found.rows
        self.cols = found.cols
        self.closed = False
        self.heard = found.heard
        self.typed = found.typed

    def write(self) -> None:
        """In one copy: packed in place it would be nothing but zeros for a moment, and nobody attached."""
        self._map[: _FORM.size] = _FORM.pack(
            _VERSION,
            self.attached,
            self.offset,
            self.last_output,
            self.last_input,
            self.rows,
            self.cols,
            self.closed,
            self.heard,
            self.typed,
        )


def read_meter(path: str) -> MeterReading | None:
    """What the meter says, or None when there is none."""
    try:
        with open(path, "rb") as file:
            raw = file.read(_SIZE)
    except OSError:
        return None
    return unpack_reading(raw)


def unpack_reading(raw: bytes | mmap.mmap) -> MeterReading | None:
    if len(raw) < _FORM.size:
        return None
    found = MeterReading()
    (
        version,
        found.attached,
        found.offset,
        found.last_output,
        found.last_input,
        found.rows,
        found.cols,
        closed,
        found.heard,
        found.typed,
    ) = _FORM.unpack_from(raw)
    found.closed = bool(closed)
    return found if version == _VERSION else None
