"""A JSON text with something put in or taken out is the same everywhere else, to the byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lamplighter.frontends.cli.installer import json_text

COMMENTED = """\
// of mine
{
\t"a": [1, 2,], // behind
\t/* above b */
\t"b": {"c": "//no comment", "d": "\\"}"},
}
"""


@pytest.mark.parametrize(
    "text",
    ["{}", "{ }\n", '{"a":1}', '{\n    "a": 1\n}\n', '{\r\n  "a": {"x": []}\r\n}\r\n', '{"a": {\n\n}}', "{ // note\n}"],
    ids=repr,
)
def test_what_is_put_in_is_there_and_taken_out_nothing_else_is_gone(text: str) -> None:
    before = value(text)
    put = json_text.with_item(json_text.with_value(text, ("new", "deep"), {"x": [1]}), ("list",), "item")
    assert value(put) == {**before, "new": {"deep": {"x": [1]}}, "list": ["item"]}
    for name in ("list", "new"):
        whole = json_text.parse(put)
        put = json_text.without(put, whole, next(child for child in whole.children if child.name == name))
    assert value(put) == before
    assert "".join(put.split()) == "".join(text.split())


def test_comments_and_order_stay() -> None:
    put = json_text.with_value(COMMENTED, ("mine",), True)
    assert put == COMMENTED.replace('"\\"}"},\n', '"\\"}"},\n\t"mine": true,\n')
    put = json_text.with_item(COMMENTED, ("a",), 3)
    assert put == COMMENTED.replace("[1, 2,]", "[1, 2, 3,]")
    node = json_text.parse(COMMENTED)
    assert json_text.without(COMMENTED, node, node.children[1]) == COMMENTED.replace(
        '\n\t"b": {"c": "//no comment", "d": "\\"}"},', ""
    )


def test_a_comment_behind_the_last_one_stays_with_it() -> None:
    text = '{\n  "a": 1 // one\n}'
    assert json_text.with_value(text, ("b",), 2) == '{\n  "a": 1, // one\n  "b": 2\n}'


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "{",
        '{"a" 1}',
        '{"a": 1} x',
        '{"a": 1 "b": 2}',
        "{'a': 1}",
        '{"a": tru}',
        "[" * 1000,
        '{"a": "\n"}',
        "{,}",
        "/*",
    ],
)
def test_what_is_broken_is_refused(broken: str) -> None:
    with pytest.raises(json_text.JsonTextError):
        json_text.parse(broken)


@pytest.mark.parametrize("keys", [("a", "b"), ("a",)])
def test_a_shape_that_is_not_expected_is_refused(keys: tuple[str, ...]) -> None:
    with pytest.raises(json_text.JsonTextError):
        json_text.with_item('{"a": 1}', keys, 2)
    with pytest.raises(json_text.JsonTextError):
        json_text.with_value("[]", keys, 2)


def value(text: str) -> Any:
    found = json_text.value_of(text, json_text.parse(text))
    if "//" not in text:
        assert found == json.loads(text)
    return found
