"""`lamp tree`: who started whom."""

from __future__ import annotations

from lamplighter.frontends.cli.commands.ls import LsCommand
from lamplighter.frontends.cli.views.sessions import tree


class TreeCommand(LsCommand):
    name = "tree"
    operation = "list_sessions"
    group = "sessions"
    summary = "Draw sessions as a tree: who started whom."
    details = "With --all, ended sessions too. For a flat list: ls."
    view = staticmethod(tree)
    examples = (
        "lamp tree",
        "lamp tree mine",
    )
