"""Room for what must be written though the disk is full: a file whose blocks are there already, written in place.

What it holds are statements, each with a number, that the store could not take. The transaction that takes them keeps the last
number too, so that a crash between that and the clearing of this file repeats nothing. Knows nothing of what a statement means.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import time

from lamplighter.store.connection import Statement

SIZE = 1 << 20
_LENGTH = struct.Struct("<I")
_SMALLEST = 64 << 10


class ReservedSpace:
    """`kept` are the statements that wait, oldest first, with their numbers; also those that found no room in the file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.kept: list[tuple[int, Statement]] = []
        self._file = -1
        self._end = 0
        self._number = 0

    def open(self) -> None:
        """Take what an earlier daemon could not pass on; and see that there is room for more, if the disk lets us."""
        with contextlib.suppress(OSError):
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._read()
        self._number = max(time.time_ns(), *(number for number, _ in self.kept), 0)
        self.make_room()

    def make_room(self) -> None:
        """Its blocks, in full. On a full disk it stays as it is."""
        if self._file < 0 or self.kept:
            return
        with contextlib.suppress(OSError):
            size = os.fstat(self._file).st_size
            if size < SIZE:
                os.pwrite(self._file, bytes(SIZE - size), size)

    def give_up(self) -> bool:
        """Leave most of it to whoever needs room to open the store at all; False when there is nothing to give."""
        if self._file < 0 or os.fstat(self._file).st_size <= max(_SMALLEST, self._end + _LENGTH.size):
            return False
        os.ftruncate(self._file, max(_SMALLEST, self._end + _LENGTH.size))
        return True

    def add(self, statements: list[Statement]) -> bool:
        """Keep these until the store takes them; False when they are in memory alone."""
        for statement in statements:
            self._number += 1
            self.kept.append((self._number, statement))
        return self._write(self.kept[-len(statements) :]) if statements else True

    def clear(self) -> None:
        self.kept.clear()
        if self._file >= 0 and self._end:
            os.pwrite(self._file, bytes(_LENGTH.size), 0)
            self._end = 0

    def wipe(self) -> None:
        """Nothing of what it ever held is left in its blocks."""
        if self._file >= 0 and not self.kept:
            os.pwrite(self._file, bytes(os.fstat(self._file).st_size), 0)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, kept: list[tuple[int, Statement]]) -> bool:
        """The text first and its length last: half of one is none."""
        text = json.dumps(kept).encode()
        size = _LENGTH.size + len(text)
        try:
            if self._file < 0 or self._end + size + _LENGTH.size > os.fstat(self._file).st_size:
                return False
            os.pwrite(self._file, text + bytes(_LENGTH.size), self._end + _LENGTH.size)
            os.pwrite(self._file, _LENGTH.pack(len(text)), self._end)
            os.fdatasync(self._file)
        except OSError:
            return False
        self._end += size
        return True

    def _read(self) -> None:
        with contextlib.suppress(ValueError, struct.error):
            while length := _LENGTH.unpack(os.pread(self._file, _LENGTH.size, self._end))[0]:
                found = json.loads(os.pread(self._file, length, self._end + _LENGTH.size))
                self.kept += [(int(number), (str(sql), list(values))) for number, (sql, values) in found]
                self._end += _LENGTH.size + length
