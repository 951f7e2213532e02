"""Whether whoever runs this command is the operator, for what is done without a daemon: changing how agents are set up.

By what this process can see, its ancestors and its environment; and by the daemon's word where one runs. None is started for it.
"""

from __future__ import annotations

import contextlib
import os

from lamplighter.agents import marks, recognise
from lamplighter.errors import Code, ForbiddenError, LampError
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.holder import proc
from lamplighter.holder.marks import MARK
from lamplighter.home import find_home

_SECONDS = 5.0


def check_operator() -> None:
    """FORBIDDEN for an agent, and for everything that runs in a session."""
    if found := _seen():
        raise ForbiddenError(
            Code.FORBIDDEN,
            f"this runs under {found}, and only the operator may change how agents are set up",
            "ask the operator to run it in a shell outside any session; --dry-run shows what it would change",
        )
    try:
        DaemonClient(find_home(), start=False, patience=0, limit=_SECONDS).call("may_install", {})
    except LampError as error:
        if error.code is Code.FORBIDDEN:
            raise


def _seen() -> str | None:
    known = {MARK: "a session", **{mark: program.name for mark, program in marks().items()}}
    for name, who in known.items():
        if name in os.environ:
            return who
    for stat in proc.ancestors(os.getpid())[1:]:
        program = recognise(_words(stat.pid))
        if program is not None:
            return f"{program.name} (process {stat.pid})"
        for name, who in known.items():
            if proc.environment_of(stat.pid, name) is not None:
                return f"{who} (process {stat.pid})"
    return None


def _words(pid: int) -> list[str]:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read(8192).decode(errors="replace").rstrip("\0").split("\0")
    return []
