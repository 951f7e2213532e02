"""What git knows of a folder: the branch and commit it is at, and what has changed since another commit.

Where a repository is at is read from its files, with no process started. Knows nothing of sessions.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import asdict, field, replace
from typing import Any, NamedTuple

from lamplighter import lazy_re as re
from lamplighter.engine.repo.git import Git, RepositoryLocation, is_file
from lamplighter.lazy_dataclass import dataclass

MOST_COMMITS = 20
MOST_FILES = 50
DEADLINE = 2.0
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"ref:\s*(refs/\S.*)")
_BRANCHES = "refs/heads/"
_DEEPEST = 100
_LONGEST_REF = 4096
_LINKS = 5
_SUBJECT = 200
_PATH = 300
_MOST_LOG = 32 << 20
_MOST_NAMES = 4 << 20
_EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


class Head(NamedTuple):
    """The branch (None when none is checked out) and the commit ("" before the first)."""

    branch: str | None
    sha: str


class Commit(NamedTuple):
    sha: str
    subject: str


class Touched(NamedTuple):
    """A file that is not as it was. `changed_at` is None for one that is gone; `lines` are those added and taken away."""

    path: str
    lines: tuple[int, int]
    changed_at: float | None


@dataclass(frozen=True)
class Changes:
    """What has changed. `commits` and `files` are the first of `commit_count` and `file_count`; lines are counted in files
    that git tracks. `cut`: there was no time to learn all, so that there may be more."""

    branch: str | None = None
    head: str = ""
    since: str | None = None
    commits: tuple[Commit, ...] = ()
    commit_count: int = 0
    files: tuple[str, ...] = ()
    file_count: int = 0
    insertions: int = 0
    deletions: int = 0
    cut: bool = False

    def document(self) -> dict[str, Any]:
        commits = [{"sha": commit.sha, "subject": commit.subject} for commit in self.commits]
        return {**asdict(self), "commits": commits, "files": list(self.files)}


@dataclass
class Findings:
    """What a look has found so far; it grows while the look goes on, and whoever cannot wait takes what there is."""

    changes: Changes = field(default_factory=Changes)
    touched: list[Touched] = field(default_factory=list[Touched])
    none: bool = False
    over: bool = False

    def told(self, started_at: float | None) -> Changes | None:
        """As it is now. What has not been touched since `started_at` is somebody else's, whatever git says of it."""
        if self.none:
            return None
        touched = [file for file in list(self.touched) if _since(file, started_at)]
        return replace(
            self.changes,
            files=tuple(file.path for file in touched[:MOST_FILES]),
            file_count=len(touched),
            insertions=sum(file.lines[0] for file in touched),
            deletions=sum(file.lines[1] for file in touched),
            cut=self.changes.cut or not self.over,
        )


def head(folder: str) -> Head | None:
    """Where the repository around a folder is at; None when there is none. Reads a few small files; only where they do not say is
    git asked. Blocks."""
    place = find(folder)
    return None if place is None else _head(place) or _asked(Git(place, "", time.monotonic() + DEADLINE))


def commit_of(folder: str) -> str | None:
    """The commit that the repository around a folder is at ("" before the first), as far as its files say: no process, and so
    little to read that nobody waits."""
    place = find(folder)
    found = _head(place) if place else None
    return found.sha if found else None


def look(findings: Findings, folder: str, since: str | None, scratch: str, until: float) -> None:
    """Find it out, step by step, until a moment of the monotonic clock. Blocks; for a thread."""
    place = find(folder)
    if place is None:
        findings.none, findings.over = True, True
        return
    git = Git(place, scratch, until)
    at = _head(place) or _asked(git)
    if at is None:  # half a repository: there is nothing to be told
        findings.none, findings.over = True, True
        return
    findings.changes = Changes(at.branch, at.sha, since)
    if since is not None and since and not _SHA.fullmatch(since):
        since = None
    complete = _commits(git, findings, since, at.sha)
    complete = _tracked(git, findings, at.sha if since is None else since) and complete
    complete = _untracked(git, findings) and complete
    findings.changes = replace(findings.changes, cut=not complete)
    findings.over = True


def find(folder: str) -> RepositoryLocation | None:
    """The repository that a folder is in."""
    place = os.path.abspath(folder)
    for _ in range(_DEEPEST):
        found = _git_folder(place)
        if found is not None:
            return RepositoryLocation(place, found, _common(found))
        above = os.path.dirname(place)
        if above == place:
            break
        place = above
    return None


def _git_folder(place: str) -> str | None:
    """`.git` itself, or where the file of a work tree or submodule says."""
    path = f"{place}/.git"
    if os.path.isdir(path):
        return path if os.path.isdir(f"{path}/objects") else None
    said = _text(path)
    if said is None or not said.startswith("gitdir:"):
        return None
    target = os.path.normpath(os.path.join(place, said[len("gitdir:") :].strip()))
    return target if os.path.isdir(target) else None


def _common(folder: str) -> str:
    said = _text(f"{folder}/commondir")
    return os.path.normpath(os.path.join(folder, said)) if said else folder


def _head(place: RepositoryLocation) -> Head | None:
    """None when the files do not say: a repository that keeps its references in another form."""
    said = _text(f"{place.folder}/HEAD") or ""
    branch: str | None = None
    for _ in range(_LINKS):
        if _SHA.fullmatch(said):
            return Head(branch, said)
        link = _REF.fullmatch(said)
        if link is None or ".." in link[1].split("/") or link[1] == f"{_BRANCHES}.invalid":
            return None
        name = link[1]
        if branch is None and name.startswith(_BRANCHES):
            branch = _plain(name.removeprefix(_BRANCHES), _PATH)
        said = _text(f"{place.folder}/{name}") or _text(f"{place.common}/{name}") or _packed(place, name)
        if not said:
            return Head(branch, "")
    return None


def _packed(place: RepositoryLocation, name: str) -> str:
    """A reference among those that were put into one file, which may be a large one."""
    wanted = f" {name}\n".encode(errors="surrogateescape")
    descriptor = _open(f"{place.common}/packed-refs")
    if descriptor is None:
        return ""
    with open(descriptor, "rb") as file:
        line = next((line for line in file if line.endswith(wanted)), b"")
    return line.partition(b" ")[0].decode(errors="replace")


def _asked(git: Git) -> Head | None:
    """By git, where files do not say."""
    sha = git.run_inside("rev-parse", "--verify", "--quiet", "HEAD").data.decode(errors="replace").strip()
    branch = git.run_inside("symbolic-ref", "--quiet", "--short", "HEAD").data.decode(errors="replace").strip()
    if not branch and not sha:
        return None
    return Head(_plain(branch, _PATH) or None, sha if _SHA.fullmatch(sha) else "")


def _commits(git: Git, findings: Findings, since: str | None, at: str) -> bool:
    if not at or since is None or since == at:
        return True
    newer = at if not since else f"{since}..{at}"
    printed = git.run("log", "-z", "--format=%H%x09%s", newer, "--", most=_MOST_LOG)
    entries = [entry for entry in printed.data.split(b"\0") if b"\t" in entry]
    first = (entry.decode(errors="replace").partition("\t") for entry in entries[:MOST_COMMITS])
    commits = tuple(Commit(sha, _plain(subject, _SUBJECT)) for sha, _, subject in first if _SHA.fullmatch(sha))
    findings.changes = replace(findings.changes, commits=commits, commit_count=len(entries))
    return printed.whole


def _tracked(git: Git, findings: Findings, since: str) -> bool:
    """Every file that is not as it was, in the index or in the work tree."""
    against = since or _EMPTY_TREES[len(findings.changes.head) or 40]
    # A submodule has a configuration of its own, and git would run another git in it.
    options = (
        "--numstat",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--ignore-submodules=all",
    )
    printed = git.run("diff", *options, against, "--", most=_MOST_NAMES)
    for entry in _entries(printed.data):
        added, _, rest = entry.partition("\t")
        taken, _, path = rest.partition("\t")
        lines = (int(added) if added.isdecimal() else 0, int(taken) if taken.isdecimal() else 0)
        findings.touched.append(_touched(git.place, path, lines))
    return printed.whole


def _untracked(git: Git, findings: Findings) -> bool:
    own = f"{git.place.common}/info/exclude"
    more = (f"--exclude-from={own}",) if os.path.isfile(own) else ()
    printed = git.run("ls-files", "--others", "--exclude-standard", "-z", *more, most=_MOST_NAMES)
    for path in _entries(printed.data):
        if time.monotonic() >= git.until:
            return False
        findings.touched.append(_touched(git.place, path, (0, 0)))
    return printed.whole


def _entries(data: bytes) -> list[str]:
    """The whole ones: what came last may be half of a name."""
    return [entry.decode(errors="surrogateescape") for entry in data.split(b"\0")[:-1] if entry]


def _touched(place: RepositoryLocation, path: str, lines: tuple[int, int]) -> Touched:
    try:
        changed_at = os.lstat(f"{place.top}/{path}").st_ctime
    except (OSError, ValueError):
        changed_at = None
    return Touched(_plain(path, _PATH), lines, changed_at)


def _since(file: Touched, started_at: float | None) -> bool:
    return started_at is None or file.changed_at is None or file.changed_at >= started_at - 0.01


def _plain(text: str, most: int) -> str:
    """As it can be stored and shown: of this length, on one line, without what moves a terminal's cursor."""
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in shown)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _text(path: str) -> str | None:
    """The first line of a small file; None when there is none, or when it is no file at all."""
    descriptor = _open(path)
    if descriptor is None:
        return None
    with open(descriptor, "rb") as file:
        try:
            first = file.read(_LONGEST_REF).split(b"\n")[0]
        except OSError:
            return None
    return first.decode(errors="surrogateescape").strip()


def _open(path: str) -> int | None:
    if not is_file(path):  # opening a device may already do something
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None
