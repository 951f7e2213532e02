"""What a command adds to what was typed: the caller's environment and folder for a start, standard input for a send.

Knows what each operation wants from its caller; knows nothing of the daemon.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from lamplighter.errors import Code, InputError

_ROWS, _COLS, _MOST = 24, 80, 1000


def complete(command: str, request: dict[str, Any]) -> dict[str, Any]:
    """The request as the daemon gets it."""
    adjust = _ADJUST.get(command)
    return adjust(request) if adjust else request


def _start(request: dict[str, Any]) -> dict[str, Any]:
    rows, cols = terminal_size(1) or (_ROWS, _COLS)
    return {
        **request,
        "cwd": _folder(request.get("cwd")),
        "environment": own_environment(),
        "umask": _umask(),
        "rows": rows,
        "cols": cols,
    }


def _folder(given: str | None) -> str:
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


def terminal_size(descriptor: int) -> tuple[int, int] | None:
    """Rows and columns of the terminal, or None when it is none or does not say."""
    try:
        found = os.get_terminal_size(descriptor)
    except OSError:
        return None
    if not found.lines or not found.columns or not os.isatty(descriptor):
        return None
    return min(found.lines, _MOST), min(found.columns, _MOST)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _send(request: dict[str, Any]) -> dict[str, Any]:
    if request.get("text") != "-":
        return request
    data = sys.stdin.buffer.read() if sys.stdin is not None else b""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            Code.BAD_INPUT,
            f"standard input is not UTF-8, at byte {error.start}",
            "send text, or pass it as a file that it reads",
        ) from None
    # Enter is pressed after the text, so the newline that ends a last line would press it twice.
    return {**request, "text": text.removesuffix("\n") if request.get("enter", True) else text}


def _read(request: dict[str, Any]) -> dict[str, Any]:
    """Without a mode, a cursor or following means the output; otherwise the daemon knows what the session has."""
    if "mode" not in request and (request.get("follow") or "since" in request):
        return {**request, "mode": "output"}
    return request


def _handoff(request: dict[str, Any]) -> dict[str, Any]:
    """Which project is meant, where nothing else says so, is that of the folder."""
    return {**request, "folder": _folder(None)}


def _adopt(request: dict[str, Any]) -> dict[str, Any]:
    """The tmux that is meant is the caller's own."""
    return {**request, "environment": {name: os.environ[name] for name in _OF_TMUX if name in os.environ}}


_OF_TMUX = ("TMUX", "TMUX_TMPDIR")
_ADJUST = {
    "adopt": _adopt,
    "handoff": _handoff,
    "recall": _handoff,
    "records": _handoff,
    "start": _start,
    "run": _start,
    "send": _send,
    "read": _read,
}
