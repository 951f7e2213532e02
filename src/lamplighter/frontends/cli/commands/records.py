"""`lamp records`: the records there are."""

from __future__ import annotations

from lamplighter.frontends.cli.caller_context import with_folder
from lamplighter.frontends.cli.command import Command, Document
from lamplighter.frontends.cli.views.records import listed


class RecordsCommand(Command):
    name = "records"
    spelt = {"everywhere": "--global", "types": "--type"}
    view = staticmethod(listed)
    examples = (
        "lamp records",
        "lamp records --type open_loop --after 7d",
        "lamp records --global --state all --json",
    )

    def complete(self, request: Document) -> Document:
        return with_folder(request)
