"""Who descends from a process, by the kernel's own lists of children: a look at the tree costs what the tree is large, whatever
else runs on the machine.

A list can miss somebody while they fork and exit, as every look at what moves can; of processes that stand still it is right.
Not every kernel keeps such lists. Knows nothing of sessions. Standard library only.
"""

from __future__ import annotations

import os

from lamplighter.holder import proc

_MOST_PASSES = 10
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
    """The pids of its children, those of each thread in the order in which they came; none when it is gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [child for thread in threads for child in _listed(pid, thread)]


def _descend(root: int, but: set[int], found: dict[int, proc.Stat]) -> None:
    """One pass. Those that were found before are only asked for their children."""
    todo = children_of(root)
    seen = {root, *but}
    while todo:
        pid = todo.pop()  # the latest first: what hops from pid to pid is the latest
        if pid in seen:
            continue
        seen.add(pid)
        stat = found.get(pid) or proc.read_stat(pid)
        # Its parent may have gone meanwhile, and then it has another one of the tree. With one from outside it is a stranger,
        # who was given the pid of one that has gone.
        if stat is not None and (stat.parent == root or stat.parent in found or pid in found):
            found[pid] = stat
            todo += _children(stat, seen)


def _children(stat: proc.Stat, seen: set[int]) -> list[int]:
    """Its children that were not seen yet."""
    listed = children_of(stat.pid) if stat.threads > 1 else _listed(stat.pid, stat.pid)
    fresh = [pid for pid in listed if pid not in seen]
    # Asked afterwards: as it is still there, it is whose children these are, and not another with its pid.
    return fresh if fresh and proc.start_of(stat.pid) == stat.start else []


def _listed(pid: int, thread: int | str) -> list[int]:
    """Each thread has a list of its own."""
    try:
        file = os.open(f"/proc/{pid}/task/{thread}/children", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        data = b""
        while chunk := os.read(file, _CHUNK):
            data += chunk
    except ProcessLookupError:  # it went just now, and left its children to others
        return []
    finally:
        os.close(file)
    return [int(pid) for pid in data.split()]
