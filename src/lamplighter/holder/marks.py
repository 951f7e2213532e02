"""The marks of a session: variables that everything it starts is given, and by which it is found wherever it hangs.

An id is of one home: two homes give the same one to sessions that start in the same millisecond. So a mark counts only together
with the home that it is of. Standard library only.
"""

from __future__ import annotations

import os

from lamplighter.holder import proc

MARK = "LAMPLIGHTER_SESSION"
HOME_MARK = "LAMPLIGHTER_STATE"  # which home it is of: with the shims gone nothing else says so
_HOLDER = "/lamplighter/holder/start.py"


def bears_mark(pid: int, session: str, state: str) -> bool:
    """Whether it is marked as this session's, of this home. One below another home's holder is that one's, whatever it bears."""
    said = proc.variables_of(pid, (MARK, HOME_MARK))
    return (
        said.get(MARK) == session and _is_same(said.get(HOME_MARK, state), state) and not _is_held_elsewhere(pid, state)
    )


def nearest_holder(pid: int) -> proc.Stat | None:
    """The nearest keeper or shim above it, of whichever home."""
    above = proc.ancestors(pid)
    return next((stat for stat in above if any(word.endswith(_HOLDER) for word in proc.words_of(stat.pid))), None)


def _is_held_elsewhere(pid: int, state: str) -> bool:
    holder = nearest_holder(pid)
    return holder is not None and not any(_is_same(word, state) for word in proc.words_of(holder.pid))


def _is_same(folder: str, state: str) -> bool:
    return folder == state or (folder.startswith("/") and os.path.realpath(folder) == os.path.realpath(state))
