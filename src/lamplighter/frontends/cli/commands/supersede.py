"""`lamp supersede`: a record in the place of another."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.frontends.cli.caller_context import own_folder, text_or_input
from lamplighter.frontends.cli.command import Command, Document, Field, place
from lamplighter.frontends.cli.views.records import superseded


class SupersedeCommand(Command):
    name = "supersede"
    operation = "update_record"
    group = "memory"
    summary = "Replace a record with a new one; the old one stays, and each names the other."
    details = (
        "To confirm an inferred note, for example as a constraint, supersede it with another --type. Several words "
        "of TEXT are joined by spaces; - reads standard input."
    )
    own_places = ("record", "content")
    view = staticmethod(superseded)
    examples = (
        "lamp supersede r0k2m4x9ab 'dates carry their zone now'",
        "lamp supersede r0k2m4x9ab --type constraint never touch the lexer",
    )

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        known = {field["name"]: field for field in self.fields_of(operations, self.operation)}
        return [
            place("record", "id, or a unique prefix of it"),
            place("content", "text of the new record", words=True),
            {**known["type"], "description": "type of the new record (default: that of the old one)"},
        ]

    def complete(self, request: Document) -> Document:
        given = dict(request)
        changes = {"records": [given.pop("record")], "content": text_or_input(given.pop("content"))}
        return {"action": "supersede", "folder": own_folder(), **changes, **given}
