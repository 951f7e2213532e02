"""Looks at other people's files that come to an end: a disk that never answers costs a thread, and nobody's time.

For work that is in a thread already and may wait a little. Knows nothing of what is looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
_hanging: set[str] = set()  # a fact about the machine, whoever asks


def answered(place: str, work: Callable[[], T], seconds: float) -> T:
    """What the work finds; TimeoutError when it takes longer. Where something hangs already, nothing else is begun.

    In a thread of its own that keeps no process from leaving: the threads that everybody shares are few, and one that waits
    for such a disk never comes back.
    """
    if place in _hanging:
        raise TimeoutError(f"{place} does not answer")
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
        finally:
            _hanging.discard(place)

    threading.Thread(target=run, name=f"look at {place}", daemon=True).start()
    try:
        return future.result(max(0.0, seconds))
    except TimeoutError:
        _hanging.add(place)
        if future.done():  # just now, and before that was written down
            _hanging.discard(place)
        raise TimeoutError(f"{place} does not answer") from None
