"""Two calls of prctl(2). Standard library only."""

from __future__ import annotations

import ctypes

_SET_NAME = 15
_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper(name: str) -> None:
    """From now on orphans below this process become its children; and the name that ps shows."""
    for option, value in ((_SET_CHILD_SUBREAPER, 1), (_SET_NAME, name.encode())):
        if _libc.prctl(option, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
