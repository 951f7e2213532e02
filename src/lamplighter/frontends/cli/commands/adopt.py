"""`lamp adopt`: manage what runs already."""

from __future__ import annotations

import os

from lamplighter.frontends.cli.command import Command, Document
from lamplighter.frontends.cli.views.talk import adopted


class AdoptCommand(Command):
    name = "adopt"
    view = staticmethod(adopted)
    examples = (
        "lamp adopt tmux:work",
        "lamp adopt tmux:work --name claude --kind main",
        "lamp adopt 4711",
    )

    def complete(self, request: Document) -> Document:
        """The tmux that is meant is the caller's own."""
        return {**request, "environment": {name: os.environ[name] for name in _OF_TMUX if name in os.environ}}


_OF_TMUX = ("TMUX", "TMUX_TMPDIR")
