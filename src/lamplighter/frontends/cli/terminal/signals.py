"""Signals as something to wait for beside descriptors. Handlers are put back when it is over."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Sequence
from types import FrameType
from typing import Any


class Signals:
    """While entered, these signals only come out of `take`. One that was ignored before stays ignored: nohup holds."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._came: deque[str] = deque()
        self._before: dict[int, Any] = {}
        self._wakeup_before = -1
        self._reader = self._writer = -1

    def __enter__(self) -> Signals:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for name in self._names:
            number = signal.Signals[f"SIG{name}"]
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._reader)
        os.close(self._writer)

    def fileno(self) -> int:
        return self._reader

    def take(self) -> list[str]:
        """The names of those that came, in their order."""
        try:
            while os.read(self._reader, 4096):
                pass
        except BlockingIOError:
            pass  # drained
        found = list(self._came)
        self._came.clear()
        return found

    def _note(self, number: int, _: FrameType | None) -> None:
        self._came.append(signal.Signals(number).name.removeprefix("SIG"))
