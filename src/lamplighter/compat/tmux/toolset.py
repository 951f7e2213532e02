"""The tmux toolset: seven tools on the user's own tmux server, its sessions called by the names that tmux has for them."""

from __future__ import annotations

from lamplighter.compat.tmux.act import KILL_SESSION, NEW_SESSION, SEND_KEYS
from lamplighter.compat.tmux.failure import failure
from lamplighter.compat.tmux.see import CAPTURE_PANE, HAS_SESSION, LIST_SESSIONS, LIST_WINDOWS
from lamplighter.frontends.mcp.toolset import Toolset

TOOLSET = Toolset(
    name="tmux",
    title="Lamplighter: tmux sessions",
    instructions=(
        "Sessions of the user's own tmux: tmux ls shows them, tmux attach enters them, and those made by hand are here too. "
        "Looking is free. You may type into and kill what you started here; anything else needs the operator's word "
        "(lamp approve), and the error says how to get it. A kill is proven: nothing that the session started is left."
    ),
    tools=(LIST_SESSIONS, HAS_SESSION, LIST_WINDOWS, CAPTURE_PANE, NEW_SESSION, SEND_KEYS, KILL_SESSION),
    failure=failure,
    implicit_approval=True,
)
