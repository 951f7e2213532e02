"""`lamp recall`: find records by their words."""

from __future__ import annotations

from lamplighter.frontends.cli.caller_context import with_folder
from lamplighter.frontends.cli.command import Command, Document
from lamplighter.frontends.cli.views.records import recalled


class RecallCommand(Command):
    name = "recall"
    spelt = {"everywhere": "--global", "types": "--type"}
    words = ("query",)
    view = staticmethod(recalled)
    examples = (
        "lamp recall how do we store dates",
        "lamp recall --all --type constraint vendored",
        "lamp recall parseDate",
    )
    notes = "Several words of QUERY are joined by spaces; after --, it may begin with a dash."

    def complete(self, request: Document) -> Document:
        return with_folder(request)
