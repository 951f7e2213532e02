"""JSON schemas of requests and results, as small as they can be: every agent that connects reads all of them.

Knows pydantic's schemas; knows nothing of tools.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel

Schema = dict[str, Any]
_PLAIN_BOUNDS: dict[str, Callable[[Any], bool]] = {
    "maxLength": lambda most: most is not None,
    "maximum": lambda most: most is not None and most >= 1_000_000,
    "minimum": lambda least: least == 0,
    "minItems": lambda least: least == 1,
}
"""Bounds that nobody comes near who means what he says; whoever passes one is told so."""


def input_schema(model: type[BaseModel]) -> Schema:
    """Closed: a misspelt argument is refused by the client already. Hidden fields are not in it, and are refused."""
    schema = _compact(model.model_json_schema(), null_is_left_out=True)
    fields = {name: field for name, field in schema.get("properties", {}).items() if not field.pop("hidden", False)}
    schema["properties"] = fields
    schema["additionalProperties"] = False
    return schema


def output_schema(model: type[BaseModel]) -> Schema:
    """What is in a result. Nothing is required: clients on the TypeScript SDK, Gemini CLI among them, hold what a failed call
    returns against this too, and would show their user a wrong schema where we say what to do next."""
    schema = _compact(model.model_json_schema(mode="serialization"), null_is_left_out=False)
    return cast("Schema", _without_required(schema))


def _without_required(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_required(item) for item in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    node = cast("Schema", part)
    properties: Schema = node.get("properties", {})
    left_out = ("required", "properties", *(["items"] if node.get("items") == {"type": "object"} else []))
    found = {name: _without_required(value) for name, value in node.items() if name not in left_out}
    return (
        {**found, "properties": {name: _without_required(value) for name, value in properties.items()}}
        if properties
        else found
    )


def _compact(schema: Schema, *, null_is_left_out: bool) -> Schema:
    definitions: Schema = schema.pop("$defs", {})
    found = cast("Schema", _shrunk(schema, definitions, null_is_left_out=null_is_left_out))
    found.pop("description", None)  # the tool has one
    return {"type": "object", **found}


def _shrunk(part: Any, definitions: Schema, *, null_is_left_out: bool) -> Any:
    """Without titles and references; of an input also without the null that stands for being left out. A result says null."""

    def shrunk_part(value: Any) -> Any:
        return _shrunk(value, definitions, null_is_left_out=null_is_left_out)

    if isinstance(part, list):
        return [shrunk_part(item) for item in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    node = dict(cast("Schema", part))
    if null_is_left_out:
        node = _without_null(node)  # first: what is left may be a reference
    if "$ref" in node:
        target = dict(definitions[str(node.pop("$ref")).rpartition("/")[2]])
        target.pop("description", None)  # a docstring of ours: what the field is, the field says
        node = {**target, **node}
    if isinstance(node.get("title"), str):
        del node["title"]
    for bound, plain in _PLAIN_BOUNDS.items():
        if plain(node.get(bound)):
            del node[bound]
    if node.get("additionalProperties") is True:  # which is so where nothing is said
        del node["additionalProperties"]
    if node.get("default", 0) in (None, ""):  # which is left out
        del node["default"]
    properties = node.pop("properties", None)
    shrunk = {name: shrunk_part(value) for name, value in node.items()}
    if properties is not None:
        shrunk["properties"] = {name: shrunk_part(value) for name, value in properties.items()}
    return shrunk


def _without_null(node: Schema) -> Schema:
    """`anyOf` of something and null, with null for left out, is that something: a list of types is what some clients cannot
    read."""
    choices = node.get("anyOf")
    if not isinstance(choices, list):
        return node
    kept = [choice for choice in cast("list[Schema]", choices) if choice.get("type") != "null"]
    if len(kept) != 1 or len(kept) == len(cast("list[Schema]", choices)):
        return node
    rest = {name: value for name, value in node.items() if name != "anyOf"}
    return {**kept[0], **rest}
