"""`lamp lineage`: who went on from whom."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.views.handoffs import lineage


class LineageCommand(Command):
    name = "lineage"
    view = staticmethod(lineage)
    examples = ("lamp lineage claude",)
