"""Whether the store's files are still the ones that were opened: nobody deleted, replaced or shortened them."""

from __future__ import annotations

import os

_SUFFIXES = ("", "-wal", "-shm")


class OpenedFiles:
    """Looks with stat alone: to open the file and close it again would take SQLite's locks away."""

    def __init__(self, path: str) -> None:
        self._paths = [f"{path}{suffix}" for suffix in _SUFFIXES]
        self._known: list[tuple[int, int]] = []
        self._main = (0, 0)
        self.touched = False  # at the last look somebody else had written the file in place
        self.log_bytes = 0  # of the log of writes, at the last look

    def note(self) -> None:
        """They are as they are by our own hand: just opened, or written."""
        found = [os.stat(path) for path in self._paths]
        self._known = [(each.st_dev, each.st_ino) for each in found]
        self._main = (found[0].st_size, found[0].st_mtime_ns)

    def forget(self) -> None:
        self._known = []

    def objection(self) -> str | None:
        """What is wrong with them; None when they are as they were."""
        for path, known in zip(self._paths, self._known, strict=False):
            try:
                found = os.stat(path)
            except OSError:
                return f"{path} was deleted"
            if (found.st_dev, found.st_ino) != known:
                return f"{path} was replaced by another file"
            if path is self._paths[0]:
                self.touched = (found.st_size, found.st_mtime_ns) != self._main
            elif path is self._paths[1]:
                self.log_bytes = found.st_size
        return None

    def changed(self) -> str | None:
        """What somebody else did to the file in place; None when nobody did anything."""
        if not self._known:
            return None
        found = os.stat(self._paths[0])
        if found.st_size < self._main[0]:
            return f"{self._paths[0]} was cut from {self._main[0]} to {found.st_size} bytes"
        if found.st_mtime_ns != self._main[1]:
            return f"{self._paths[0]} was written by another process"
        return None
