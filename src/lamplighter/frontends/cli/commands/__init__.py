"""The commands of `lamp`, a module each: what help says of it, what it takes, what it sends, how its answer is shown."""

from __future__ import annotations

NAMES = (
    *(
        "start",
        "run",
        "ls",
        "show",
        "tree",
        "attach",
        "send",
        "read",
        "replay",
        "wait",
        "end",
        "kill",
        "scan",
        "cleanup",
    ),
    *("approve", "protect", "adopt"),
    *("handoff", "remember", "recall", "records", "resolve", "supersede", "forget"),
    *("up", "open", "status", "doctor", "prune", "down"),
    *(
        "lineage",
        "handoffs",
        "events",
        "export",
        "import",
        "token",
        "install",
        "uninstall",
        "mcp",
        "hook",
        "completion",
    ),
)
"""In the order in which help lists them."""
