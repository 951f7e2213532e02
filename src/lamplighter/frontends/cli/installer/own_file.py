"""A file of ours among the user's own: put there, kept apart from what was there before, taken away again.

Each file has a line with a checksum of the rest, so that one that was edited by hand is known, also by a later version.
Knows files and their marks; knows nothing of what they are for.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from lamplighter.frontends.cli.installer.ledger import checksum, replace_file

_MARK = re.compile(r"^# lamp install wrote this \(([0-9a-f]{16})\).*\n", re.MULTILINE)
_LONGEST = 1 << 20
# A closing ~ keeps zsh from reading a file that stands among its completions.
BEFORE = ".before-lamp~"
EDITED = ".edited~"


class FileChange(NamedTuple):
    """One change: `write` (text), `move` (to another path) or `remove`."""

    act: str
    path: str
    to: str = ""
    text: str = ""


def marked(text: str, undo: str) -> str:
    """The text with the line that says whose it is, at its end so that a first line can mean something."""
    text = text.rstrip("\n") + "\n"
    return f"{text}# lamp install wrote this ({_checksum(text)}); {undo} takes it away, and an edited one is kept.\n"


def standing(path: str) -> str:
    """What is there: absent, ours, edited (ours, changed by hand) or foreign."""
    if not os.path.lexists(path):
        return "absent"
    text = read(path)
    found = _MARK.search(text)
    if found is None:
        return "foreign"
    return "ours" if found[1] == _checksum(_MARK.sub("", text)) else "edited"


def put(path: str, text: str) -> list[FileChange]:
    """What it takes for this text to be there, with nothing of the user's lost."""
    found = standing(path)
    if found == "ours" and read(path) == text:
        return []
    steps: list[FileChange] = []
    if found == "edited":
        steps.append(FileChange("move", path, to=_free(path + EDITED)))
    if found == "foreign":
        if os.path.lexists(path + BEFORE):
            steps.append(FileChange("move", path + BEFORE, to=_free(path + BEFORE)))
        steps.append(FileChange("move", path, to=path + BEFORE))
    return [*steps, FileChange("write", path, text=text)]


def take(path: str) -> list[FileChange]:
    """What it takes for what was there before to be there again."""
    found = standing(path)
    if found == "foreign":
        return []
    steps = {"ours": [FileChange("remove", path)], "edited": [FileChange("move", path, to=_free(path + EDITED))]}.get(
        found, []
    )
    if os.path.lexists(path + BEFORE):
        steps.append(FileChange("move", path + BEFORE, to=path))
    return steps


def perform(step: FileChange) -> None:
    """Do it. Each step is whole or not done, and what is left after a crash is what the next call begins with."""
    if step.act == "write":
        replace_file(step.path, step.text.encode("utf-8", "surrogateescape"), 0o644)
    elif step.act == "move":
        # Not a rename, which would replace what another install has put there meanwhile.
        os.link(step.path, step.to, follow_symlinks=False)
        os.unlink(step.path)
    else:
        os.unlink(step.path)


def read(path: str) -> str:
    """The file's text; nothing when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(_LONGEST)
    except OSError:
        return ""


def xdg_folder(name: str, usual: str) -> str:
    """A folder of the user's, by its variable, or where it usually is at home."""
    return os.path.abspath(os.environ.get(name) or os.path.join(os.path.expanduser("~"), usual))


def _checksum(text: str) -> str:
    return checksum(text.encode("utf-8", "surrogateescape"))[:16]


def _free(path: str) -> str:
    """A name that nothing has: with a number before the closing ~ when need be."""
    number, candidate = 1, path
    while os.path.lexists(candidate):
        number += 1
        candidate = f"{path.removesuffix('~')}-{number}~"
    return candidate
