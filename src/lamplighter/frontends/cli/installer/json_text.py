"""A JSON file of somebody else's, changed in one place: everything else in it stays as it is, to the byte.

Comments and trailing commas are understood, because many programs take them in their settings, and are kept. Knows text; knows
nothing of whose file it is or of what is put into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from lamplighter.lazy_dataclass import dataclass

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INDENT = re.compile(r"\n([ \t]+)\S")
_DEEPEST = 200


class JsonTextError(ValueError):
    """It is no JSON, or not of the shape that was expected; the message says where."""


@dataclass
class Node:
    """A value and its place in the text. Of an object `children` have names, of a list none."""

    kind: str
    start: int
    end: int
    children: list[Child] = field(default_factory=list["Child"])

    def get(self, name: str) -> Node | None:
        """As readers do it, the last of several with the same name."""
        return next((child.node for child in reversed(self.children) if child.name == name), None)


@dataclass
class Child:
    """`start` is where its name begins, or itself; `comma` is where the comma after it stands, if there is one."""

    name: str | None
    start: int
    node: Node
    comma: int | None = None


def parse(text: str) -> Node:
    """The whole text as one value."""
    node = _value(text, _skip(text, 0), 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise _error(text, end, "there is more after the end")
    return node


def value_of(text: str, node: Node) -> Any:
    """What it says."""
    if node.kind == "object":
        return {child.name: value_of(text, child.node) for child in node.children}
    if node.kind == "list":
        return [value_of(text, child.node) for child in node.children]
    return json.loads(text[node.start : node.end])


def find(text: str, keys: Sequence[str]) -> Node | None:
    """What is at these keys. TextError where something on the way is no object."""
    node: Node | None = parse(text)
    for place, key in enumerate(keys):
        if node is None:
            return None
        if node.kind != "object":
            raise JsonTextError(f"{'.'.join(keys[:place]) or 'the whole'} is no object")
        node = node.get(key)
    return node


def with_value(text: str, keys: Sequence[str], value: Any) -> str:
    """The text with this value at these keys; objects on the way are made."""
    found = find(text, keys)
    if found is not None:
        return text[: found.start] + _worded(text, value, _indent_at(text, found.start)) + text[found.end :]
    parent, missing = keys[:-1], value
    while parent and find(text, parent) is None:
        missing, parent = {keys[len(parent)]: missing}, parent[:-1]
    node = find(text, parent)
    assert node is not None, "the whole is there"
    if node.kind != "object":
        raise JsonTextError(f"{'.'.join(parent) or 'the whole'} is no object")
    return _added(text, node, json.dumps(keys[len(parent)], ensure_ascii=False) + ": ", missing)


def with_item(text: str, keys: Sequence[str], value: Any) -> str:
    """The text with one more item in the list at these keys; the list is made when there is none."""
    node = find(text, keys)
    if node is None:
        return with_value(text, keys, [value])
    if node.kind != "list":
        raise JsonTextError(f"{'.'.join(keys)} is no list")
    return _added(text, node, "", value)


def without(text: str, parent: Node, child: Child) -> str:
    """The text without one member of an object, or one item of a list."""
    place = parent.children.index(child)
    before = re.search(r"[ \t]*\Z", text[: child.start])
    start = before.start() if before else child.start
    if start and text[start - 1] == "\n":
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
    if child.comma is not None:
        return text[:start] + text[child.comma + 1 :]
    end = child.node.end
    if place == 0:
        around = text[parent.start + 1 : start] + text[end : parent.end - 1]
        end = parent.end - 1 if not around.strip() else end  # a comment before it may reach to the end of its line
        return text[:start] + text[end:]
    comma = parent.children[place - 1].comma
    assert comma is not None, "two children have a comma between them"
    return text[:comma] + text[comma + 1 : start] + text[end:]


# -- reading


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _error(text, at, "it is nested too deeply")
    if text.startswith(("{", "["), at):
        return _container(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise _error(text, at, "a value is missing")
    return Node("scalar", at, found.end())


def _container(text: str, at: int, depth: int) -> Node:
    kind, closing = ("object", "}") if text[at] == "{" else ("list", "]")
    node, here = Node(kind, at, at), _skip(text, at + 1)
    while not text.startswith(closing, here):
        if node.children and node.children[-1].comma is None:
            raise _error(text, here, "a comma is missing")
        child = _child(text, here, kind, depth)
        node.children.append(child)
        here = _skip(text, child.node.end)
        if text.startswith(",", here):
            child.comma = here
            here = _skip(text, here + 1)
    node.end = here + 1
    return node


def _child(text: str, at: int, kind: str, depth: int) -> Child:
    if kind == "list":
        return Child(None, at, _value(text, at, depth + 1))
    name = _STRING.match(text, at)
    if name is None:
        raise _error(text, at, "a name is missing")
    colon = _skip(text, name.end())
    if not text.startswith(":", colon):
        raise _error(text, colon, "a colon is missing")
    return Child(json.loads(name[0]), at, _value(text, _skip(text, colon + 1), depth + 1))


def _error(text: str, at: int, what: str) -> JsonTextError:
    line = text.count("\n", 0, at) + 1
    return JsonTextError(f"{what} in line {line}, column {at - text.rfind(chr(10), 0, at)}")


# -- writing


def _added(text: str, node: Node, name: str, value: Any) -> str:
    """One more child, after the others, in the way that they stand."""
    last = node.children[-1] if node.children else None
    if last is not None and "\n" not in text[node.start : node.end]:
        added = name + json.dumps(value, ensure_ascii=False)
        if last.comma is not None:
            return f"{text[: last.comma + 1]} {added},{text[last.comma + 1 :]}"
        return f"{text[: last.node.end]}, {added}{text[last.node.end :]}"
    own = _indent_at(text, node.start)
    indent = _indent_at(text, last.start) if last else own + _unit(text)
    added = _newline(text) + indent + name + _worded(text, value, indent)
    if last is None:
        inner = text[node.start + 1 : node.end - 1]
        kept = inner.rstrip() if inner.strip() else ""
        return text[: node.start + 1] + kept + added + _newline(text) + own + text[node.end - 1 :]
    # What stands behind the last one in its line, a comment, stays with it.
    after = (last.comma + 1) if last.comma is not None else last.node.end
    line = re.compile(r"[ \t]*(?://[^\n\r]*|/\*[^\n]*?\*/)?").match(text, after)
    behind = line.end() if line else after
    comma = "" if last.comma is not None else ","
    closing = "," if last.comma is not None else ""
    return text[:after] + comma + text[after:behind] + added + closing + text[behind:]


def _worded(text: str, value: Any, indent: str) -> str:
    written = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return written.replace("\n", _newline(text) + indent)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_at(text: str, at: int) -> str:
    """What the line of this place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
