"""Whether a session was born, as its birth file says: whoever gives birth has it locked until it is written.

Knows the file and its lock; the other end is `holder.shim_factory`.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time

from lamplighter.holder.tree import Tree

_LOCK_SECONDS = 0.01
_KILL_SECONDS = 5.0
_LOOKS = 3


def is_born(folder: str) -> bool:
    return os.path.exists(_file(folder))


async def was_born(folder: str, session: str, state: str) -> bool:
    """Once a birth under way has come to its end. A file that nobody writes any more is of one that came to nothing."""
    while True:
        try:
            file = os.open(_file(folder), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            while not _try_lock(file):
                await asyncio.sleep(_LOCK_SECONDS)
            if os.fstat(file).st_size:
                return True
            if os.fstat(file).st_nlink:  # else another birth may have begun meanwhile
                await asyncio.to_thread(_kill_marked, session, state)
                if os.fstat(file).st_nlink:
                    os.unlink(_file(folder))
                    return False
        finally:
            os.close(file)


def _kill_marked(session: str, state: str) -> None:
    """A command that was forked before its birth was written down. Blocks; for a thread."""
    tree = Tree(session, None, state=state)
    tree.adopted = True
    deadline = time.monotonic() + _KILL_SECONDS
    looks = 0  # one that is just being executed shows its mark only when it is
    while looks < _LOOKS and time.monotonic() < deadline:
        if tree.members():
            looks = 0
            tree.kill()
        else:
            looks += 1
        time.sleep(_LOCK_SECONDS)  # the kernel's time to take them away; who reaps them is not us


def _file(folder: str) -> str:
    return f"{folder}/birth.json"


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
