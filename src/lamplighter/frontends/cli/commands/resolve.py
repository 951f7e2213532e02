"""`lamp resolve`: close records that are done."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.frontends.cli.command import Command, Document, Field
from lamplighter.frontends.cli.views.records import closed


class ResolveCommand(Command):
    name = "resolve"
    operation = "update_record"
    group = "memory"
    summary = "Close records that are done, above all open loops."
    details = (
        "Closes all of them or none. A record that is resolved already stays as it is. An agent cannot close what "
        "the operator stored."
    )
    own_places = ("records",)
    view = staticmethod(closed)
    examples = (
        "lamp resolve r0k2m4x9ab",
        "lamp resolve r0k2m4x9ab r0k2m7 --why 'done in 4f2a91c'",
    )

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        known = {field["name"]: field for field in self.fields_of(operations, self.operation)}
        return [
            {**known["records"], "description": "ids, or unique prefixes of ids"},
            {**known["why"], "description": "how it was done, or why it is no longer open"},
        ]

    def complete(self, request: Document) -> Document:
        return {"action": "resolve", **request}
