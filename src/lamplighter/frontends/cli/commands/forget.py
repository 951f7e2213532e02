"""`lamp forget`: records that are shown no more."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.frontends.cli.command import Command, Document, Field
from lamplighter.frontends.cli.views.records import closed


class ForgetCommand(Command):
    name = "forget"
    operation = "update_record"
    group = "memory"
    summary = "Forget records: they are no longer shown or found."
    details = "Forgets all of them or none. Forgotten records stay in the store, unless --hard is given."
    own_places = ("records",)
    view = staticmethod(closed)
    examples = (
        "lamp forget r0k2m4x9ab",
        "lamp forget r0k2m4x9ab --hard",
    )

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        known = {field["name"]: field for field in self.fields_of(operations, self.operation)}
        return [
            {**known["records"], "description": "ids, or unique prefixes of ids"},
            {**known["why"], "description": "reason"},
            {**known["hard"], "description": _HARD},
        ]

    def complete(self, request: Document) -> Document:
        return {"action": "forget", **request}


_HARD = "delete them and every copy of their text, also from the index and free pages; operator only"
