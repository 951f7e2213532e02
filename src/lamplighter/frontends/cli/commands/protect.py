"""`lamp protect`: keep a session from being ended by others."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.views.talk import protected


class ProtectCommand(Command):
    name = "protect"
    view = staticmethod(protected)
    examples = (
        "lamp protect claude",
        "lamp protect claude --off",
    )
