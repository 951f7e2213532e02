"""A cgroup for each session, where the machine allows it: freeze, kill and the kernel's word that it is empty.

Standard library only. Knows cgroup v2's files, also where a hybrid system mounts them; knows nothing of sessions.
"""

from __future__ import annotations

import contextlib
import os
import select
import time

_FREEZE_SECONDS = 5.0


def find_mount() -> str | None:
    """Where cgroup v2 is mounted."""
    try:
        with open("/proc/self/mountinfo") as file:
            for line in file:
                fields, _, rest = line.partition(" - ")
                if rest.startswith("cgroup2 "):
                    return fields.split()[4]
    except OSError:
        return None
    return None


def own_path(pid: int | str = "self") -> str | None:
    """The process's path in cgroup v2."""
    try:
        with open(f"/proc/{pid}/cgroup") as file:
            for line in file:
                if line.startswith("0::"):
                    return line[3:].strip()
    except OSError:
        return None
    return None


def make_base(name: str) -> str | None:
    """A folder of ours under the cgroup that this process is in, or None where that cannot be: no v2, not ours, too old.

    The way out of it is kept: a process can be moved only within a part of the tree that is ours, so that is tried too.
    """
    mount, path = find_mount(), own_path()
    if mount is None or path is None:
        return None
    here = mount + path.rstrip("/")
    base = f"{here}/{name}"
    probe = f"{base}/probe"
    try:
        os.makedirs(probe, exist_ok=True)
        usable = os.access(f"{probe}/cgroup.kill", os.W_OK) and os.access(f"{probe}/cgroup.freeze", os.W_OK)
        usable = usable and os.access(f"{here}/cgroup.procs", os.W_OK)
        os.rmdir(probe)
    except OSError:
        return None
    return base if usable else None


class Cgroup:
    """One session's cgroup."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @staticmethod
    def make(folder: str) -> Cgroup | None:
        try:
            os.mkdir(folder)
        except FileExistsError:
            pass
        except OSError:
            return None
        return Cgroup(folder)

    def open(self) -> int:
        """A descriptor of its folder, into which a process can be born."""
        return os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def pids(self) -> list[int]:
        """Who is in it, in cgroups below it too."""
        found: list[int] = []
        for folder, _, _ in os.walk(self.folder):
            with contextlib.suppress(OSError), open(f"{folder}/cgroup.procs") as file:
                found.extend(int(line) for line in file if line.strip() != "0")
        return found

    def freeze(self) -> None:
        """Stop everything in it, and wait a while until the kernel says so."""
        if self._write("cgroup.freeze", "1"):
            self._wait_until_frozen()

    def thaw(self) -> None:
        self._write("cgroup.freeze", "0")

    def kill(self) -> None:
        self._write("cgroup.kill", "1")

    def is_empty(self) -> bool:
        """True when the kernel says so, or when it is gone."""
        try:
            with open(f"{self.folder}/cgroup.events") as file:
                return "populated 0" in file.read()
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def move_beside(self, name: str, pids: list[int]) -> bool:
        """Move processes into a cgroup of this name beside it; one that is gone meanwhile needs no moving."""
        folder = f"{os.path.dirname(self.folder)}/{name}"
        try:
            os.makedirs(folder, exist_ok=True)
            for pid in pids:
                with contextlib.suppress(ProcessLookupError), open(f"{folder}/cgroup.procs", "w") as file:
                    file.write(str(pid))
        except OSError:
            return False
        return True

    def remove(self) -> None:
        """Take it away, with cgroups that were made below it. One that is not empty stays."""
        for folder, _, _ in os.walk(self.folder, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def _write(self, name: str, value: str) -> bool:
        try:
            with open(f"{self.folder}/{name}", "w") as file:
                file.write(value)
        except OSError:
            return False
        return True

    def _wait_until_frozen(self) -> None:
        deadline = time.monotonic() + _FREEZE_SECONDS
        with contextlib.suppress(OSError), open(f"{self.folder}/cgroup.events") as file:
            poll = select.poll()
            poll.register(file, select.POLLPRI)
            while "frozen 1" not in file.read() and (left := deadline - time.monotonic()) > 0:
                poll.poll(left * 1000)
                file.seek(0)
