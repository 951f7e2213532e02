"""Small files that are there whole or not at all. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os

ROOM = 8192  # for what some forty processes' certificate takes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def write_file(path: str, data: bytes) -> bool:
    """Write beside it, then rename over it; the user's alone. False, with nothing left behind, when there is no room.

    Not forced onto the disk: what is lost with a power failure belongs to a boot that is over.
    """
    draft = f"{path}.{os.getpid()}"
    try:
        _write(draft, os.O_TRUNC, data)
        os.rename(draft, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        return False
    return True


def create_file(path: str, data: bytes) -> None:
    """Write one that nobody looks for yet, so that it need not appear in one step. OSError when it is there, or no room is."""
    _write(path, os.O_EXCL, data)


def _write(path: str, how: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def reserve_file(path: str) -> None:
    """Room for a file that must be written also when there is none: `write_reserved` writes into it in place."""
    write_file(f"{path}.room", bytes(ROOM))


def write_reserved(path: str, data: bytes) -> bool:
    """As `write_file`; without room on the disk, into what was reserved for it."""
    room = f"{path}.room"
    if not write_file(path, data) and not _write_in_place(room, path, data):
        return False
    with contextlib.suppress(OSError):
        os.unlink(room)
    return True


def _write_in_place(room: str, path: str, data: bytes) -> bool:
    try:
        descriptor = os.open(room, os.O_WRONLY | os.O_CLOEXEC)
        try:
            if len(data) > os.fstat(descriptor).st_size or os.pwrite(descriptor, data, 0) != len(data):
                return False
            os.ftruncate(descriptor, len(data))
        finally:
            os.close(descriptor)
        os.rename(room, path)
    except OSError:
        return False
    return True


def read_json(path: str) -> dict[str, Any] | None:
    """The document, or None when there is none or it is none."""
    try:
        with open(path, "rb") as file:
            found: dict[str, Any] = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return found if type(found) is dict else None
