"""`lamp kill`: end a session without asking it."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.views.endings import ended


class KillCommand(Command):
    name = "kill"
    ends_one = True
    elsewhere = {"-9": "lamp kill ID --grace 0 sends KILL at once"}
    view = staticmethod(ended)
    examples = (
        "lamp kill nightly",
        "lamp kill claude --force --grace 0",
    )
