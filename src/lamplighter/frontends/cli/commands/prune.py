"""`lamp prune`: delete old logs."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.views.machine import prune


class PruneCommand(Command):
    name = "prune"
    elsewhere = {"--dry-run": "lamp prune alone deletes nothing; lamp prune --apply does"}
    view = staticmethod(prune)
    examples = (
        "lamp prune",
        "lamp prune --apply",
    )
