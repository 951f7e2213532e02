"""What was installed into files of others: each as it was before, and what it became, so that it can be as it was again.

In a folder of the state, a record and the file's former bytes for each; written before the file is changed. Knows files; knows
nothing of what was put into them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import tempfile
from dataclasses import asdict, field

from lamplighter.lazy_dataclass import dataclass

LONGEST = 64 << 20


@dataclass(frozen=True)
class LedgerFile:
    """`after`: what the file became, by its checksum. `existed`: there was a file before. `folders`: those made for it. `pieces`:
    what was changed in it, each as it was and as it is since."""

    agent: str
    path: str
    after: str
    existed: bool
    folders: list[str] = field(default_factory=list[str])
    pieces: list[list[str]] = field(default_factory=list[list[str]])


class Ledger:
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def lock(self) -> int:
        """One install at a time, until the descriptor is closed, or this process ends."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        descriptor = os.open(f"{self.folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor

    def find(self, path: str) -> LedgerFile | None:
        try:
            with open(f"{self._at(path)}.json", encoding="utf-8") as file:
                return LedgerFile(**json.load(file))
        except (OSError, ValueError, TypeError):
            return None

    def before(self, kept: LedgerFile) -> bytes | None:
        """The file as it was; None when there was none."""
        return read(self.backup_of(kept.path)) if kept.existed else None

    def backup_of(self, path: str) -> str:
        return f"{self._at(path)}.before"

    def keep(self, kept: LedgerFile, before: bytes | None) -> None:
        if before is not None:
            write(self.backup_of(kept.path), before, 0o600)
        write(f"{self._at(kept.path)}.json", json.dumps(asdict(kept), indent=1).encode(), 0o600)

    def forget(self, path: str) -> None:
        for name in (f"{self._at(path)}.json", self.backup_of(path)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)

    def _at(self, path: str) -> str:
        name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
        return f"{self.folder}/{os.path.basename(path).lstrip('.')}-{name}"


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read(path: str) -> bytes | None:
    """The file's bytes; None when there is none. ValueError for what is no regular file, or enormous."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no regular file")
        if found.st_size > LONGEST:
            raise ValueError(f"it has more than {LONGEST >> 20} MiB")
        return file.read()


def missing_folders(path: str) -> list[str]:
    """Those that have to be made for a file, the innermost first."""
    found: list[str] = []
    folder = os.path.dirname(os.path.realpath(path))
    while folder and not os.path.isdir(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def write(path: str, data: bytes, new_mode: int) -> None:
    """Whole or not at all. A link stays a link, and a file that is there keeps its mode and its owner."""
    real, mode, owner = os.path.realpath(path), new_mode, None
    with contextlib.suppress(FileNotFoundError):
        found = os.stat(real)
        mode = stat.S_IMODE(found.st_mode)
        owner = found.st_uid, found.st_gid
    replace_file(real, data, mode, owner)


def replace_file(path: str, data: bytes, mode: int, owner: tuple[int, int] | None = None) -> None:
    """Whole or not at all."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".lamp-", suffix="~", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if owner is not None and owner != (os.getuid(), os.getgid()):
            with contextlib.suppress(PermissionError):
                os.chown(temporary, *owner)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
