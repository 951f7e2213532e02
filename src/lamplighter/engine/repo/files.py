"""Files inside a folder, as they are now: whether one is there, and a fingerprint of what is in it.

Only regular files, and only what is inside the folder once every link is followed; a device or a FIFO is never opened, so nothing
here waits for anybody. Knows nothing of why somebody asks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat

LARGEST = 1 << 20
LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def inside(folder: str, path: str) -> str | None:
    """The path as seen from the folder; None when it leads out of it by its words alone, or is no path."""
    if not path or not path.isprintable():
        return None
    root = os.path.abspath(folder)
    relative = os.path.relpath(os.path.join(root, path), root)
    if relative.startswith("../") and os.path.isabs(path):  # the folder may be known by a link
        relative = os.path.relpath(path, os.path.realpath(root))
    return None if relative in (".", "..") or relative.startswith("../") else relative


def fingerprint(folder: str, path: str) -> str | None:
    """The SHA-256 of a file up to 1 MB, `size:…` of a larger one; None when no such file is there. Blocks for the disk alone."""
    try:
        root = os.path.realpath(folder)
        real = os.path.realpath(os.path.join(root, path))
        if os.path.commonpath([root, real]) != root or root == real:
            return None
        return _told(_walked(root, os.path.relpath(real, root)))
    except (OSError, ValueError):
        return None


def _walked(root: str, path: str) -> int:
    """The file, reached step by step: a link that somebody puts in the way meanwhile is not followed."""
    place = os.open(root, LOOK | os.O_DIRECTORY)
    for step in path.split("/"):
        try:
            following = os.open(step, LOOK, dir_fd=place)
        finally:
            os.close(place)
        place = following
    return place


def _told(place: int) -> str | None:
    """Of the very file that was looked at: it is opened only once it is known to be a regular one."""
    try:
        found = os.fstat(place)
        if not stat.S_ISREG(found.st_mode):
            return None
        if found.st_size > LARGEST:
            return f"size:{found.st_size}"
        with contextlib.closing(os.fdopen(os.open(f"/proc/self/fd/{place}", READ), "rb")) as file:
            data = file.read(LARGEST + 1)
        return hashlib.sha256(data).hexdigest() if len(data) <= LARGEST else f"size:{len(data)}"
    finally:
        os.close(place)
