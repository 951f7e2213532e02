"""`lamp handoffs`: the hand-offs there are."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.views.handoffs import listed


class HandoffsCommand(Command):
    name = "handoffs"
    view = staticmethod(listed)
    examples = (
        "lamp handoffs",
        "lamp handoffs --waiting",
    )
