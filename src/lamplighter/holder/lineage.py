"""Who descends from a process, by the kernel's own lists of children: a look at the tree costs what the tree is large, whatever
else runs on the machine.

A list can miss somebody while they fork and exit, as every look at what moves can; of processes that stand still it is right.
Not every kernel keeps such lists. Knows nothing of sessions. Standard library only.
"""

from __future__ import annotations

import os

from lamplighter.holder import proc

_MOST_PASSES = 10
_FLAGS = os.O_RDONLY | os.O_CLOEXEC
_CHUNK = 1 << 14


def is_kept() -> bool:
    """Whether this kernel keeps lists of children."""
    return os.path.exists("/proc/thread-self/children")


def descendants(root: int, but: set[int]) -> dict[int, proc.Stat]:
    """What descends from the root, without it; nothing at or below `but`. Looked at again until nobody new is there."""
    found: dict[int, proc.Stat] = {}
    for _ in range(_MOST_PASSES):
        known = len(found)
        _descend(root, but, found)
        if len(found) == known:
            break
    return found


def children_of(pid: int) -> list[int]:
    """The pids of its children, the latest to come last; none when it is gone."""
    try:
        folder = os.open(f"/proc/{pid}", _FLAGS | os.O_DIRECTORY)
    except OSError:
        return []
    try:
        return _children(folder)
    finally:
        os.close(folder)


def _descend(root: int, but: set[int], found: dict[int, proc.Stat]) -> None:
    todo = children_of(root)
    seen = {root, *but}
    while todo:
        pid = todo.pop()  # the latest first: what hops from pid to pid is the latest
        if pid in seen:
            continue
        seen.add(pid)
        looked = _look(pid)
        # Its parent may have gone meanwhile, and then it has another one of the tree. With one from outside it is a stranger,
        # who was given the pid of one that has gone.
        if looked is not None and (looked[0].parent == root or looked[0].parent in found):
            found[pid] = looked[0]
            todo += looked[1]


def _look(pid: int) -> tuple[proc.Stat, list[int]] | None:
    """The process and its children, of one and the same process: its open folder is never that of another with its pid."""
    try:
        folder = os.open(f"/proc/{pid}", _FLAGS | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        stat = proc.read_stat(pid, folder)
        return (stat, _children(folder)) if stat is not None else None
    finally:
        os.close(folder)


def _children(folder: int) -> list[int]:
    """Each thread has a list of its own."""
    found: list[int] = []
    try:
        tasks = os.open("task", _FLAGS | os.O_DIRECTORY, dir_fd=folder)
    except OSError:
        return found
    try:
        for thread in os.listdir(tasks):
            found += _listed(tasks, f"{thread}/children")
    except OSError:  # it went while it was looked at, and left its children to others
        pass
    finally:
        os.close(tasks)
    return found


def _listed(tasks: int, path: str) -> list[int]:
    try:
        file = os.open(path, _FLAGS, dir_fd=tasks)
    except OSError:
        return []
    try:
        data = b""
        while chunk := os.read(file, _CHUNK):
            data += chunk
        return [int(pid) for pid in data.split()]
    except ProcessLookupError:
        return []
    finally:
        os.close(file)
