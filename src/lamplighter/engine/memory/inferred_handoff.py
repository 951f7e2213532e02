"""What can be said of a session that handed nothing over: from its transcript, its last screen, git, and how it ended.

Pure composition; knows nothing of where any of it was found. Whatever the texts say, they become notes and nothing stronger.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lamplighter.agents.formats.transcript import Transcript
from lamplighter.domain.ending import Ending, How
from lamplighter.domain.memory.handoff import Draft
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.session import Session
from lamplighter.domain.text.terminal_text import overwritten, without_escapes
from lamplighter.engine.repo.repository import Changes

MOST_LINES = 15
_LONGEST_LINE = 200
_LONGEST_TEXT = 1500
_MOST_TODOS = 20
_MOST_FILES = 20
_MOST_COMMITS = 10
_DEED = {How.ASKED: "ended", How.TERMINATED: "terminated", How.KILLED: "killed"}


class Inferred(NamedTuple):
    """`basis` says what it rests on, each in a few words."""

    draft: Draft
    basis: tuple[str, ...]


def infer(
    session: Session,
    ending: Ending,
    transcript: Transcript | None = None,
    changes: Changes | None = None,
    screen: Sequence[str] = (),
) -> Inferred:
    """The hand-off that a session did not leave. `screen` is the last of what it showed, by lines."""
    lines = last_lines(screen)
    notes = [f"How it ended: {why(session, ending)}."]
    basis = ["exit status"] if ending.exit else ["ending"]
    if transcript is not None:
        notes += _of_transcript(transcript)
        basis.append(f"transcript {transcript.path} ({transcript.agent})")
    files = _files(transcript, changes)
    if files:
        notes.append(files)
    if changes is not None:
        notes += _of_git(changes)
        basis.append("git, cut short" if changes.cut else "git")
    if lines:
        notes.append("Last screen:\n" + "\n".join(lines))
        basis.append("last screen")
    path = transcript.path if transcript else None
    return Inferred(Draft(notes=tuple(notes), transcript_path=path, reason=ending.reason), tuple(basis))


def why(session: Session, ending: Ending) -> str:
    """How it came to its end: by whom, for what reason, with which exit."""
    status = f" ({ending.exit.words})" if ending.exit else ""
    reason = f": {plain(ending.reason, 500)}" if ending.reason else ""
    if ending.how is How.LOST:
        return f"lost{reason or ': nobody saw its end'}{status}"
    if ending.how is How.EXITED:
        if ending.exit and ending.exit.signal:
            return f"crashed, or was killed by somebody else{status}{reason}"
        return f"exited by itself{status}{reason}"
    by = "Lamplighter" if ending.by == DAEMON.name else "itself" if ending.by in ("itself", session.id) else ending.by
    return f"{_DEED[ending.how]} by {by}{reason}{status}"


def last_lines(screen: Iterable[str], most: int = MOST_LINES) -> list[str]:
    """The last ones that are not empty, without escape sequences."""
    found = [line for text in screen for part in _split(text) if (line := _line(part))]
    return found[-most:]


def plain(text: str, most: int = _LONGEST_TEXT) -> str:
    """Text as it can be stored and shown: no longer than this, without what moves a cursor or turns the direction of writing.
    The middle is left out, and that is said: how a text begins and how it ends say most."""
    lines = [_clean(line) for line in _split(text)]
    shown = "\n".join(lines).strip()
    if len(shown) <= most:
        return shown
    gone = f"\n[… {len(shown) - most} characters …]\n"
    half = (most - len(gone)) // 2
    return shown[:half].rstrip() + gone + shown[-half:].lstrip()


def listed(items: Sequence[str], count: int, most: int) -> list[str]:
    """At most so many, and how many more there are."""
    shown = list(items[:most])
    return [*shown, f"and {count - len(shown)} more"] if count > len(shown) else shown


def _of_transcript(transcript: Transcript) -> list[str]:
    notes: list[str] = []
    if transcript.last_request:
        notes.append(f"Last request: {plain(transcript.last_request)}")
    if transcript.last_answer:
        notes.append(f"Last answer: {plain(transcript.last_answer)}")
    if transcript.running:
        notes.append(f"At work when it stopped: {plain(transcript.running, 300)}")
    if transcript.todos:
        todos = [plain(todo, 300) for todo in transcript.todos]
        notes.append("Open to-dos:\n" + "\n".join(f"- {todo}" for todo in listed(todos, len(todos), _MOST_TODOS)))
    return notes


def _files(transcript: Transcript | None, changes: Changes | None) -> str:
    """Those that git says, and those that the agent edited elsewhere."""
    seen = list(changes.files) if changes else []
    edited = [path for path in (transcript.files if transcript else ()) if not _among(path, seen)]
    names = [plain(path, 300) for path in (*edited, *seen)]
    count = len(edited) + (changes.file_count if changes else 0)
    if not names:
        return ""
    head = f"Files touched ({count}{', at least' if changes and changes.cut else ''}):"
    return "\n".join([head, *(f"- {name}" for name in listed(names, count, _MOST_FILES))])


def _among(path: str, names: list[str]) -> bool:
    return any(path == name or path.endswith(f"/{name}") for name in names)


def _of_git(changes: Changes) -> list[str]:
    if not changes.commit_count:
        return []
    shown = [f"{commit.sha[:12]} {commit.subject}" for commit in changes.commits]
    on = f" on {changes.branch}" if changes.branch else ""
    lines = listed(shown, changes.commit_count, _MOST_COMMITS)
    return [f"Commits since the start ({changes.commit_count}{on}):\n" + "\n".join(f"- {line}" for line in lines)]


def _split(text: str) -> list[str]:
    """The lines of a text. What a carriage return went back over is not on the screen any more."""
    return [overwritten(line) for line in without_escapes(text).replace("\r\n", "\n").split("\n")]


def _line(text: str) -> str:
    shown = _clean(text).rstrip()
    return shown if len(shown) <= _LONGEST_LINE else shown[: _LONGEST_LINE - 1] + "…"


def _clean(text: str) -> str:
    """Without controls and formatting characters (what turns the direction, what is not seen); joiners of scripts stay."""
    text = text.replace("\t", "    ")
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        letter
        for letter in text
        if unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or letter in "\u200c\u200d"
    )
