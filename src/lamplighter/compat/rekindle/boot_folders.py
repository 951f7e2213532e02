"""Reading inside the folders that the operator allows and in the caller's own project, and nowhere else.

A path is judged by its words before anything is looked at, so what lies outside is refused the same whether it is there or not.
Inside, each step is opened without following links; a link is followed only by judging the words of where it leads in the same
way. Nothing between looking and opening can be exchanged, because what was looked at is what is opened. Everything here blocks
and is for a thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import NamedTuple

from lamplighter import lazy_re as re
from lamplighter.agents.formats import transcript
from lamplighter.agents.formats.transcript import Transcript
from lamplighter.engine.memory.projects import top_of
from lamplighter.engine.repo.files import LOOK, READ
from lamplighter.errors import Code, ForbiddenError, InputError, LampError, MissingError
from lamplighter.lazy_dataclass import dataclass

_MOST_LINKS = 40
_MOST_ENTRIES = 10_000
_TRIED = 5
_ENDINGS = (".jsonl", ".json")
_SECRET = re.compile(
    r"\.env(\..*)?|\.(git|ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|pgpass|git-credentials)|id_(rsa|dsa|ecdsa|ed25519)"
    r"|.*\.(pem|key|p12|pfx|kdbx|jks|keystore)|\.?(credentials?|secrets?|tokens?|passwords?)(\..*)?",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\.(example|sample|template|pub)$", re.IGNORECASE)


class Excerpt(NamedTuple):
    """The beginning of a file, and how many bytes the whole has."""

    text: str
    size: int


@dataclass(frozen=True)
class BootFolders:
    """`folders` are those allowed, `base` is where a path that is not given in full begins. `own` is the caller's project: what
    is in it may be read too, but for what usually holds secrets."""

    folders: Sequence[str]
    base: str | None = None
    own: str | None = None

    def read_file(self, path: str, most: int) -> Excerpt:
        """How a regular file begins."""
        with self._reached(path) as found:
            about = os.fstat(found)
            if not stat.S_ISREG(about.st_mode):
                raise _missing("file", path)
            with _opened(f"/proc/self/fd/{found}", path) as file:
                return Excerpt(_begin(file, most).decode("utf-8", "replace"), about.st_size)

    def newest_transcript(self, path: str) -> tuple[str, Transcript] | None:
        """The newest of a folder's files that is a transcript, with its name; None when there is none."""
        with self._reached(path) as found:
            if not stat.S_ISDIR(os.fstat(found).st_mode):
                raise _missing("folder", path)
            with _opened(f"/proc/self/fd/{found}", path, os.O_DIRECTORY) as folder:
                names = _newest(folder)
                told = ((name, _transcript(folder, name)) for name in names)
                return next(((name, said) for name, said in told if said is not None), None)

    @contextmanager
    def _reached(self, path: str) -> Generator[int]:
        """A descriptor of what the path leads to, which nothing can be read from yet."""
        words = self._in_full(path)
        for _ in range(_MOST_LINKS):
            place = self._inside(words)
            if place is None:
                raise refused(path)
            try:
                found = _walk(*place)
            except (OSError, ValueError):  # not there, not to be looked at, a NUL in it
                raise _missing("file or folder", path) from None
            if isinstance(found, int):
                try:
                    yield found
                finally:
                    os.close(found)
                return
            words = found
        raise _missing("file or folder", path)

    def _in_full(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = os.path.expanduser("~") + path[1:]
        if not os.path.isabs(path) and self.base is None:
            raise InputError(
                Code.BAD_INPUT, f"where {path[:200]!a} begins is not known", "give the path in full, from / on"
            )
        return _plain(os.path.join(self.base or "/", path))

    def _inside(self, path: str) -> tuple[str, list[str]] | None:
        """The allowed folder's real place, and the steps from there; None for what is in none of them."""
        for folder in self.folders:
            if place := _below(folder, path):
                return place
        place = _below(self.own, path) if self.own else None
        return place if place and not any(_is_secret(step) for step in place[1]) else None


def _below(folder: str, path: str) -> tuple[str, list[str]] | None:
    real = os.path.realpath(folder)
    for named in (_plain(folder), real):
        if path == named or path.startswith(named.rstrip("/") + "/"):
            return real, [step for step in path[len(named) :].split("/") if step]
    return None


def _is_secret(step: str) -> bool:
    """By its name: what keys, passwords and tokens are kept in, and folders that hold such files."""
    return _SECRET.fullmatch(step) is not None and _EXAMPLE.search(step) is None


def own_project(folder: str | None) -> str | None:
    """The project around the folder that a caller is in; none when that is a home, or above one: all that is there is no
    project."""
    if folder is None or not os.path.isabs(folder):
        return None
    top, home = top_of(folder), os.path.realpath(os.path.expanduser("~"))
    return None if home == top or home.startswith(top.rstrip("/") + "/") else top


def refused(path: str) -> LampError:
    return ForbiddenError(
        Code.FORBIDDEN,
        f"{path[:200]!a} is in none of the folders that may be read at boot, or leads out of them",
        "keep it in your project, under a name that is not that of a secret, or ask the operator to name its folder in "
        'config.toml: boot_folders = ["/a/folder"]',
    )


def _missing(what: str, path: str) -> LampError:
    return MissingError(
        Code.NOT_FOUND, f"there is no {what} that can be read at {path[:200]!a}", "name one that is there"
    )


def _plain(path: str) -> str:
    """By its words alone: no look at what is there."""
    return "/" + os.path.normpath(path).lstrip("/")


def _walk(root: str, steps: list[str]) -> int | str:
    """What is at the end of these steps, or, at the first link, the path with the link's words in its place."""
    current = os.open(root, LOOK | os.O_DIRECTORY)
    try:
        for number, step in enumerate(steps):
            following = os.open(step, LOOK, dir_fd=current)
            os.close(current)
            current = following
            if stat.S_ISLNK(os.fstat(current).st_mode):
                target = os.readlink("", dir_fd=current)
                return _plain(os.path.join(root, *steps[:number], target, *steps[number + 1 :]))
        found, current = current, -1
        return found
    finally:
        if current >= 0:
            os.close(current)


@contextmanager
def _opened(place: str, path: str, more: int = 0) -> Generator[int]:
    try:
        descriptor = os.open(place, READ | more)
    except OSError:
        raise _missing("file or folder", path) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _begin(file: int, most: int) -> bytes:
    data = b""
    while len(data) < most and (piece := os.read(file, most - len(data))):
        data += piece
    return data


def _newest(folder: int) -> list[str]:
    found: list[tuple[float, str]] = []
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_ENTRIES):
            with suppress(OSError):
                if entry.name.endswith(_ENDINGS) and entry.is_file(follow_symlinks=False):
                    found.append((entry.stat(follow_symlinks=False).st_mtime, entry.name))
    return [name for _, name in sorted(found, reverse=True)[:_TRIED]]


def _transcript(folder: int, name: str) -> Transcript | None:
    try:
        descriptor = os.open(name, LOOK, dir_fd=folder)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return transcript.read(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
