"""A limit on a session's memory that the kernel keeps, where a cgroup allows it: also what grows between two looks is caught.

Standard library only. Knows the memory controller's files, of cgroup v2 and of v1 beside it on hybrid systems.
"""

from __future__ import annotations

import contextlib
import os
import select

from lamplighter.holder.cgroup import Cgroup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class MemoryLimit:
    """One session's. `folder` is its own cgroup of v1, which its command must enter; None in v2, where it is born inside."""

    def __init__(self, folder: str | None, unified: Cgroup | None, size: int) -> None:
        self.folder = folder
        self.size = size
        self._counts = (
            f"{folder}/memory.oom_control" if folder else f"{unified.folder}/memory.events" if unified else ""
        )
        self._open: list[int] = []

    @staticmethod
    def make(spec: dict[str, Any], cgroup: Cgroup | None, base: str | None) -> MemoryLimit | None:
        """None where there is no limit, or no controller that would keep it: then the daemon's looks have to do."""
        size = spec.get("max_memory")
        if not size or base is None:
            return None
        if cgroup is not None and _limit_unified(cgroup, base, size):
            return MemoryLimit(None, cgroup, size)
        folder = _own_folder(base, spec["session"])
        if folder is None:
            return None
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError:
            return None
        if not _write(f"{folder}/memory.limit_in_bytes", size):
            return None
        _write(f"{folder}/memory.memsw.limit_in_bytes", size)
        return MemoryLimit(folder, None, size)

    @property
    def why(self) -> str:
        return f"memory limit of {self.size / 1e6:,.0f} MB passed: the kernel stopped it there"

    def watch(self) -> int | None:
        """A descriptor that becomes ready when the kernel has ended something for its memory."""
        try:
            counts = os.open(self._counts, os.O_RDONLY | os.O_CLOEXEC)
            self._open.append(counts)
            if self.folder is None:
                return counts
            event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            self._open.append(event)
        except OSError:
            return None
        return event if _write(f"{self.folder}/cgroup.event_control", f"{event} {counts}") else None

    @property
    def events(self) -> int:
        """What to poll that descriptor for."""
        return select.POLLIN if self.folder else select.POLLPRI

    def is_passed(self, descriptor: int) -> bool:
        """What the descriptor became ready for. In v1 the word comes before the deed: nobody is ended and counted yet."""
        with contextlib.suppress(OSError):
            if self.folder:
                return bool(os.read(descriptor, 8))
            os.pread(descriptor, 4096, 0)  # or it stays ready
        return self.kills() > 0

    def kills(self) -> int:
        """How many processes the kernel has ended for it."""
        try:
            with open(self._counts) as file:
                return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
        except (OSError, ValueError, IndexError):
            return 0

    def remove(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)
        self._open = []
        if self.folder is not None:
            with contextlib.suppress(OSError):
                os.rmdir(self.folder)


def remove_base(base: str) -> None:
    """Take away what sessions had in v1, also what one left whose shim was lost. What is not empty stays."""
    folder = _own_folder(base, "")
    for found, _, _ in os.walk(folder, topdown=False) if folder else ():
        with contextlib.suppress(OSError):
            os.rmdir(found)


def _limit_unified(cgroup: Cgroup, base: str, size: int) -> bool:
    if not os.path.exists(f"{cgroup.folder}/memory.max"):
        _write(f"{os.path.dirname(base)}/cgroup.subtree_control", "+memory")
        _write(f"{base}/cgroup.subtree_control", "+memory")
    if not _write(f"{cgroup.folder}/memory.max", size):
        return False
    _write(f"{cgroup.folder}/memory.swap.max", 0)
    _write(f"{cgroup.folder}/memory.oom.group", 1)
    return True


def _own_folder(base: str, session: str) -> str | None:
    """Where this session's cgroup of v1 goes: under the keeper's own."""
    mount, path = _mount(), _path()
    return f"{mount}{path.rstrip('/')}/{os.path.basename(base)}/{session}" if mount and path else None


def _mount() -> str | None:
    with contextlib.suppress(OSError), open("/proc/self/mountinfo") as file:
        for line in file:
            fields, _, rest = line.partition(" - ")
            kind, _, options = rest.partition(" ")
            if kind == "cgroup" and "memory" in options.split()[-1].split(","):
                return fields.split()[4]
    return None


def _path() -> str | None:
    with contextlib.suppress(OSError), open("/proc/self/cgroup") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if "memory" in controllers.split(","):
                return path
    return None


def _write(path: str, value: object) -> bool:
    try:
        with open(path, "w") as file:
            file.write(str(value))
    except OSError:
        return False
    return True
