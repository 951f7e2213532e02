"""What the caller's surroundings add to a request: folder, environment, size of the terminal, standard input; and how this very
`lamp` is called from elsewhere.

Knows this process; knows nothing of the daemon or of commands.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from lamplighter.errors import Code, InputError

_ROWS, _COLS, _MOST = 24, 80, 1000


def with_folder(request: dict[str, Any]) -> dict[str, Any]:
    """Which project is meant, where nothing else says so, is that of the folder."""
    return {**request, "folder": folder(None)}


def folder(given: str | None) -> str:
    if given is not None and os.path.isabs(given):
        return given
    if given == "":
        raise InputError(Code.NO_SUCH_FOLDER, "the folder's name is empty", "leave --cwd out to start in this folder")
    try:
        return os.path.abspath(given or os.curdir)
    except OSError:
        raise InputError(
            Code.NO_SUCH_FOLDER, "this folder does not exist any more", "go to one that does, or name one with --cwd"
        ) from None


def own_environment() -> dict[str, str]:
    """The caller's environment, without what says which session the caller itself is in."""
    kept = ("LAMPLIGHTER_HOME",)
    return {name: value for name, value in os.environ.items() if name in kept or not name.startswith("LAMPLIGHTER_")}


def terminal_size() -> dict[str, int]:
    """Rows and columns of the terminal; nothing when standard output is none, or it does not say."""
    try:
        found = os.get_terminal_size(1)
    except OSError:
        return {}
    if not found.lines or not found.columns or not os.isatty(1):
        return {}
    return {"rows": min(found.lines, _MOST), "cols": min(found.columns, _MOST)}


def screen_size() -> tuple[int, int]:
    """The same for what must have a size: that of a usual terminal where there is none."""
    found = terminal_size()
    return found.get("rows", _ROWS), found.get("cols", _COLS)


def text_or_input(given: str) -> str:
    """What was typed; standard input for a dash."""
    if given != "-":
        return given
    data = sys.stdin.buffer.read() if sys.stdin is not None else b""
    return data.decode("utf-8", "replace")


def own_folder() -> str | None:
    """The caller's folder, while there is one."""
    try:
        return os.getcwd()
    except OSError:
        return None


def own_command() -> list[str]:
    """The words that start this lamp from anywhere: its absolute path, or its Python with the module.

    A link that pipx or uv made is kept as it is, since it stays when what it leads to is upgraded.
    """
    called = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.basename(called) == "lamp" and os.access(called, os.X_OK) and os.path.isfile(called):
        return [called]
    beside = os.path.join(os.path.dirname(sys.executable), "lamp")
    if os.access(beside, os.X_OK):
        return [beside]
    return [sys.executable, "-m", "lamplighter.frontends.cli.main"]
