"""`lamp remember`: store a record."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.frontends.cli.caller_context import own_folder, text_or_input
from lamplighter.frontends.cli.command import Command, Document, Field, option, place
from lamplighter.frontends.cli.views.records import remembered


class RememberCommand(Command):
    name = "remember"
    operation = "store_records"
    own_places = ("content",)
    group = "memory"
    spelt = {"everywhere": "--global"}
    view = staticmethod(remembered)
    examples = (
        "lamp remember 'dates stay strings, because zones are not given' --type decision --file src/dates.py",
        "lamp remember --global --type preference short commit messages",
        "git log -1 | lamp remember -",
    )
    notes = "Several words of TEXT are joined by spaces; - reads standard input; after --, TEXT may begin with a dash."

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        store = {field["name"]: field for field in self.fields_of(operations, self.operation)}
        search = {field["name"]: field for field in self.fields_of(operations, "search_records")}
        categories, types = search["category"]["choices"], search["types"]["choices"]
        return [
            place("content", "text to store, in a sentence or two", words=True),
            option("type", "--type", "type of the record", choices=types, default="note"),
            store["project"],
            store["everywhere"],
            option("category", "--category", "category (default: that of the type)", choices=categories),
            option("importance", "--importance", "1 to 10 (default: that of the type)", type="integer"),
            option("files", "--file", "file that it rests on; repeatable", list=True, default=[]),
            option("commits", "--commit", "commit that it rests on; repeatable", list=True, default=[]),
        ]

    def complete(self, request: Document) -> Document:
        given = {**request, "content": text_or_input(request["content"])}
        record = {name: value for name, value in given.items() if name not in _OF_THE_PLACE}
        where = {name: value for name, value in given.items() if name in _OF_THE_PLACE}
        return {"records": [record], "folder": own_folder(), **where}


_OF_THE_PLACE = ("project", "everywhere")
