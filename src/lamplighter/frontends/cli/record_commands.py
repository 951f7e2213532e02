"""The commands about records: two operations, which take lists and actions, as words that are short to type.

Knows names, options and words of help; runs nothing.
"""

from __future__ import annotations

from typing import Any

_Document = dict[str, Any]


def of_records(operations: dict[str, _Document]) -> list[_Document]:
    """`operations` are those of commands.json, by name."""
    return [
        _remember(operations["store_records"], operations["search_records"]),
        *_updates(operations["update_record"]),
    ]


def _remember(store: _Document, search: _Document) -> _Document:
    categories = _field(search, "category")["choices"]
    types = _field(search, "types")["choices"]
    return {
        **store,
        "command": "remember",
        "positional": ["content"],
        "fields": [
            _place("content", "what is to be known, in a sentence or two", words=True),
            {**_option("type", "--type", "what it is"), "choices": types, "default": "note"},
            _field(store, "project"),
            {**_field(store, "everywhere"), "option": "--global"},
            {**_option("category", "--category", "by default that of its type"), "choices": categories},
            {**_option("importance", "--importance", "1 to 10; by default that of its type"), "type": "integer"},
            {**_option("files", "--file", "a file that it rests on; several may be given"), "list": True, "default": []},
            {**_option("commits", "--commit", "a commit that it rests on; several may be given"), "list": True, "default": []},
        ],
    }  # fmt: skip


def _updates(update: _Document) -> list[_Document]:
    several = {**_field(update, "records"), "description": "ids, or unique beginnings of them"}
    one = _place("record", "its id, or the unique beginning of it")
    text = _place("content", "what holds instead", words=True)
    ids = {**several, "option": None}
    why, kind, hard = _field(update, "why"), _field(update, "type"), _field(update, "hard")
    return [
        {
            **update,
            "command": "resolve",
            "positional": ["records"],
            "fields": [ids, {**why, "description": "how it was done, or why it is no question any more"}],
            "summary": "Close what is done: open loops above all.",
            "details": "All of them or none. What is resolved already stays as it is. An agent cannot close what the operator "
            "stored.",
        },
        {
            **update,
            "command": "supersede",
            "positional": ["record", "content"],
            "fields": [one, text, {**kind, "description": "of another type than before"}],
            "summary": "Replace a record by what holds now; the old one stays, and each names the other.",
            "details": "With another type it confirms what was inferred: a note becomes a constraint only so. TEXT of several "
            "words is joined by spaces; - reads standard input.",
        },
        {
            **update,
            "command": "forget",
            "positional": ["records"],
            "fields": [ids, {**why, "description": "why"}, {**hard, "description": _HARD}],
            "summary": "Never show a record again, nor find it.",
            "details": "All of them or none. What is forgotten stays in the store, unless it is forgotten with --hard.",
        },
    ]  # fmt: skip


_HARD = "really delete it and every copy of its text, from the index and free pages too; the operator's alone"


def _field(document: _Document, name: str) -> _Document:
    return next(field for field in document["fields"] if field["name"] == name)


def _place(name: str, description: str, *, words: bool = False) -> _Document:
    """A word without an option; or, with `words`, all that are left."""
    return {**_option(name, "", description), "option": None, "required": True, "words": words}


def _option(name: str, spelling: str, description: str) -> _Document:
    return {
        "name": name,
        "option": spelling,
        "flags": None,
        "type": "string",
        "required": False,
        "default": None,
        "choices": None,
        "description": description,
        "list": False,
        "dict": False,
        "negated": False,
        "words": False,
    }
