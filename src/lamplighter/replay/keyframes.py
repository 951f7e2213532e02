"""Keyframes: screens kept beside the log, so that rebuilding one does not need all that was ever written.

Knows the files `key-<offset>` and their header. Knows nothing of terminals: what is in one is bytes to feed to one.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any, NamedTuple, cast

VERSION = 1
KEEP = 16
_PREFIX, _TEMPORARY = "key-", ".key-"


class Keyframe(NamedTuple):
    """The screen at `offset`: write `vt` to a reset terminal of `rows` and `cols` to have it.

    `exact` is false when it was made from a log whose beginning was lost; `headless` when there was no terminal.
    """

    offset: int
    rows: int
    cols: int
    vt: bytes
    exact: bool = True
    headless: bool = False


def write(folder: str, keyframe: Keyframe) -> str:
    """Store a keyframe, whole or not at all; its path. An OSError leaves nothing behind."""
    header = {
        "version": VERSION,
        "rows": keyframe.rows,
        "cols": keyframe.cols,
        "size": len(keyframe.vt),
        "exact": keyframe.exact,
        "headless": keyframe.headless,
    }
    path = _path(folder, keyframe.offset)
    temporary = os.path.join(folder, f"{_TEMPORARY}{keyframe.offset:020d}-{os.getpid()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(json.dumps(header).encode() + b"\n" + keyframe.vt)
        os.rename(temporary, path)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return path


def offsets(folder: str) -> list[int]:
    """The offsets that have a keyframe, in order."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(int(name[4:]) for name in names if name.startswith(_PREFIX) and name[4:].isdigit())


def load(folder: str, offset: int) -> Keyframe | None:
    """The keyframe at `offset`; None when it is not there, damaged, or of a version that we cannot read."""
    try:
        with open(_path(folder, offset), "rb") as file:
            line, vt = file.readline(4096), file.read()
    except FileNotFoundError:
        return None
    try:
        header = json.loads(line)
        if not isinstance(header, dict):
            return None
        fields = cast("dict[str, Any]", header)
        if fields["version"] != VERSION or fields["size"] != len(vt):
            return None
        exact, headless = bool(fields.get("exact", True)), bool(fields.get("headless", False))
        return Keyframe(offset, int(fields["rows"]), int(fields["cols"]), vt, exact, headless)
    except (ValueError, KeyError, TypeError):
        return None


def newest(folder: str, at: int | None = None, oldest: int = 0) -> Keyframe | None:
    """The newest readable keyframe at or before `at`, and not before `oldest`, where the log itself begins."""
    for offset in reversed(offsets(folder)):
        if offset < oldest:
            return None
        if at is not None and offset > at:
            continue
        keyframe = load(folder, offset)
        if keyframe is not None:
            return keyframe
    return None


def first(folder: str, oldest: int) -> Keyframe | None:
    """The first readable keyframe at or after `oldest`."""
    readable = (load(folder, offset) for offset in offsets(folder) if offset >= oldest)
    return next((keyframe for keyframe in readable if keyframe is not None), None)


def prune(folder: str, oldest: int, keep: int = KEEP) -> list[int]:
    """Remove keyframes from before `oldest`, where the log begins, all but the `keep` newest, and unfinished ones.

    Only the one process that writes keyframes may call it. Returns the offsets removed.
    """
    present = offsets(folder)
    surplus = set(present[: max(0, len(present) - keep)])
    removed = [offset for offset in present if offset < oldest or offset in surplus]
    paths = [_path(folder, offset) for offset in removed]
    with contextlib.suppress(FileNotFoundError):
        paths += [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(_TEMPORARY)]
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    return removed


def _path(folder: str, offset: int) -> str:
    return os.path.join(folder, f"{_PREFIX}{offset:020d}")
