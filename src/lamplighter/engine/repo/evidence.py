"""What a record rests on: the files and commits that a text cites, and whether they are still as they were.

What cannot be learnt (no git, no time) is not spoken of: a record is called stale only when something is known to have changed.
All of it blocks; for a thread. Knows nothing of records.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Sequence

from lamplighter import lazy_re as re
from lamplighter.domain.memory.record import NO_EVIDENCE, CitedFile, RecordEvidence
from lamplighter.engine.core.deadline import answered
from lamplighter.engine.repo.files import fingerprint, inside
from lamplighter.engine.repo.git import Git, RepositoryLocation
from lamplighter.engine.repo.repository import find, head

MOST_FILES = 20
MOST_COMMITS = 20
DEADLINE = 2.0
_LATE_SECONDS = 0.5  # all but a disk that hangs keeps to the deadline by itself
_MOST_LOOKS = 300
_MOST_PRINTED = 4 << 20
_LONGEST_PATH = 300
_PATH = re.compile(r"[\w@%+~./-]{3,}+")
_QUOTED = re.compile(r"[`\"']([^`\"'\n]{1,200} [^`\"'\n]{1,200})[`\"']")  # a name with blanks in it
_EXTENSION = re.compile(r".*[^./]\.\w{1,10}", re.DOTALL)
_COMMIT = re.compile(r"(?<![\w/.-])[0-9a-f]{7,64}(?![\w/-])")


def cite(folder: str, text: str) -> RecordEvidence:
    """The files in the folder and the commits that the text names."""
    return cite_all(folder, [text])[0]


def cite_all(folder: str, texts: Sequence[str]) -> list[RecordEvidence]:
    """Of each text; git is asked once for all of them. In a folder that does not answer nothing is cited."""
    until = time.monotonic() + DEADLINE
    try:
        return answered(folder, lambda: _cited(folder, texts, until), DEADLINE + _LATE_SECONDS)
    except TimeoutError:
        return [NO_EVIDENCE for _ in texts]


def _cited(folder: str, texts: Sequence[str], until: float) -> list[RecordEvidence]:
    if not os.path.isdir(folder):
        return [NO_EVIDENCE for _ in texts]
    named = [_distinct(_COMMIT.findall(text))[:MOST_COMMITS] for text in texts]
    asked = _distinct(commit for commits in named for commit in commits)[:_MOST_LOOKS]
    known = _resolved(folder, set(asked), until) or {}
    seen: dict[str, str | None] = {}
    found: list[RecordEvidence] = []
    for text, commits in zip(texts, named, strict=True):
        files = _files(folder, text, seen, until)
        full = _distinct(known[commit] for commit in commits if commit in known)
        found.append(RecordEvidence(folder, files, full) if files or full else NO_EVIDENCE)
    return found


def stale_all(found: Sequence[RecordEvidence]) -> list[list[str]]:
    """Of each, in phrases; each folder and each file is looked at once."""
    until = time.monotonic() + DEADLINE
    looks: dict[str, _Look] = {}
    for evidence in found:
        if evidence and evidence.folder:
            look = looks.setdefault(evidence.folder, _Look(evidence.folder, until))
            look.commits.update(evidence.commits)
            look.asked.append(evidence)
    said = {folder: look.said() for folder, look in looks.items()}
    return [said[evidence.folder].pop(0) if evidence and evidence.folder else [] for evidence in found]


class _Look:
    """One folder, looked at for all that cite something in it."""

    def __init__(self, folder: str, until: float) -> None:
        self.folder = folder
        self.commits: set[str] = set()
        self.asked: list[RecordEvidence] = []
        self._until = until
        self._files: dict[str, str | None] = {}
        self._said: dict[str, str] | None = None

    def said(self) -> list[list[str]]:
        """Of each that was asked for, in that order; nothing of any in a folder that does not answer."""
        left = self._until + _LATE_SECONDS - time.monotonic()
        try:
            return answered(self.folder, lambda: [self.phrases(evidence) for evidence in self.asked], left)
        except TimeoutError:
            return [[] for _ in self.asked]

    def phrases(self, evidence: RecordEvidence) -> list[str]:
        if not os.path.isdir(self.folder):
            return [f"the folder {self.folder} is gone"]
        said = [self._of_file(cited) for cited in evidence.files]
        if evidence.commits and self._said is None:
            self._said = _astray(self.folder, self.commits, self._until)
        said += [(self._said or {}).get(commit) for commit in evidence.commits]
        return [phrase for phrase in said if phrase]

    def _of_file(self, cited: CitedFile) -> str | None:
        if cited.path not in self._files:
            if time.monotonic() >= self._until:
                return None
            self._files[cited.path] = fingerprint(self.folder, cited.path)
        now = self._files[cited.path]
        if now == cited.digest:
            return None
        if now is None:
            return f"{cited.path} is gone"
        return f"{cited.path} has changed since" if cited.digest else f"{cited.path} is there now"


def _files(folder: str, text: str, seen: dict[str, str | None], until: float) -> tuple[CitedFile, ...]:
    """Those named in the text that are there, the first of them."""
    cited: list[CitedFile] = []
    for path in _paths(folder, text):
        if len(cited) == MOST_FILES or time.monotonic() >= until:
            break
        if path not in seen:
            seen[path] = fingerprint(folder, path)
        digest = seen[path]
        if digest is not None:
            cited.append(CitedFile(path, digest))
    return tuple(cited)


def _paths(folder: str, text: str) -> tuple[str, ...]:
    """What looks like the path of a file inside the folder, in the order of the text."""
    names = [match[0].rstrip(".-/") for match in _PATH.finditer(text)]
    names += [match[1] for match in _QUOTED.finditer(text)]
    likely = (name for name in names if len(name) <= _LONGEST_PATH and ("/" in name or _EXTENSION.fullmatch(name)))
    found = (inside(folder, name) for name in _distinct(likely)[:_MOST_LOOKS])
    return _distinct(path for path in found if path is not None)


def _resolved(folder: str, commits: set[str], until: float) -> dict[str, str] | None:
    """Those that are commits, in full; None when that cannot be learnt."""
    place = find(folder) if commits else None
    if place is None:
        return {}
    printed = _revisions(place, ["--no-walk=unsorted", "--ignore-missing", *sorted(commits)], until)
    if printed is None:
        return None
    return {commit: full for full in printed for commit in commits if full.startswith(commit)}


def _astray(folder: str, commits: set[str], until: float) -> dict[str, str]:
    """The commits that HEAD does not lead back to, with what is to be said of each."""
    place = find(folder)
    if place is None:
        return {commit: f"commit {commit[:7]} is gone, and its repository" for commit in commits}
    at = head(folder)
    if at is None:
        return {}
    beyond = _beyond(place, commits, at.sha, until)
    if beyond is not None:
        return beyond
    # One that is gone makes git refuse all of them; so which are there?
    known = _resolved(folder, commits, until)
    if known is None:
        return {}
    gone = {commit: f"commit {commit[:7]} is not in the repository any more" for commit in commits - known.keys()}
    return gone | (_beyond(place, set(known), at.sha, until) or {})


def _beyond(place: RepositoryLocation, commits: set[str], at: str, until: float) -> dict[str, str] | None:
    printed = _revisions(place, [*sorted(commits), *([f"^{at}"] if at else [])], until) if commits else []
    if printed is None:
        return None
    listed = set(printed)
    return {
        commit: f"commit {commit[:7]} is not in HEAD's history any more"
        for commit in commits
        if commit in listed or (len(commit) < 40 and any(full.startswith(commit) for full in listed))
    }


def _revisions(place: RepositoryLocation, arguments: list[str], until: float) -> list[str] | None:
    """What `git rev-list` prints; None when it failed or had no time."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-git-") as scratch:
        printed = Git(place, scratch, until).run("rev-list", *arguments, "--", most=_MOST_PRINTED)
    return printed.data.decode("ascii", "replace").split() if printed.whole else None


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
