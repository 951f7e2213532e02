"""Whether a session was born, as its birth file says: whoever gives birth has it locked until it is written.

Knows the file and its lock; the other end is `holder.nursery`.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os

from lamplighter.lifecycle.stop import kill_traced

_LOCK_SECONDS = 0.01


def is_born(folder: str) -> bool:
    return os.path.exists(_file(folder))


async def was_born(folder: str, session: str) -> bool:
    """Once a birth under way has come to its end. A file that nobody writes any more is of one that came to nothing."""
    try:
        file = os.open(_file(folder), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        while not _try_lock(file):
            await asyncio.sleep(_LOCK_SECONDS)
        if os.fstat(file).st_size:
            return True
        await asyncio.to_thread(kill_traced, session, set[tuple[int, int]](), None)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_file(folder))
        return False
    finally:
        os.close(file)


def _file(folder: str) -> str:
    return f"{folder}/birth.json"


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
