"""Puts `lamp` where the shell finds it: a link in a folder of the user's programs, so that what the README shows can be typed.

A link that leads elsewhere, or a file, is somebody else's `lamp` and is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Place(NamedTuple):
    """`word`: what starts it. `first`: what has to be typed once in this shell, if anything."""

    word: str
    first: str


def put(program: Path, environment: Mapping[str, str]) -> Place:
    """Link it into the first folder of the user's programs that is on the PATH; without one into ~/.local/bin."""
    path = [folder for folder in environment.get("PATH", "").split(os.pathsep) if folder]
    home = Path(environment.get("HOME") or os.path.expanduser("~"))
    usual = home / ".local" / "bin"
    folders = [folder for folder in (usual, home / "bin", Path("/usr/local/bin")) if str(folder) in path]
    for folder in folders:
        if _link(folder / "lamp", program):
            return _as_found(folder / "lamp", path)
    if str(usual) not in path and _link(usual / "lamp", program):
        return Place("lamp", f'export PATH="{usual}:$PATH"')
    return Place(str(program), "")


def _as_found(link: Path, path: list[str]) -> Place:
    """By its name where no other `lamp` comes before it."""
    first = next((folder for folder in path if os.access(f"{folder}/lamp", os.X_OK)), "")
    return Place("lamp" if first and Path(first) == link.parent else str(link), "")


def _link(link: Path, program: Path) -> bool:
    """Whether the link is there, and leads to this program."""
    try:
        if os.path.lexists(link):
            return link.resolve() == program.resolve()
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(program)
    except OSError:
        return False
    return True
