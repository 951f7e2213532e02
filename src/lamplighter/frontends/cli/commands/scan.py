"""`lamp scan`: what agents left behind on this machine."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.views.scan import scanned


class ScanCommand(Command):
    name = "scan"
    view = staticmethod(scanned)
    examples = (
        "lamp scan",
        "lamp scan 4711",
        "lamp scan --json",
    )
