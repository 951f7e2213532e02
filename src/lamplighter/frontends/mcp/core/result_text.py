"""A structured result as text, for a client that gives its model nothing else: every fact once, in few bytes.

A field is a line, a list of rows a table whose columns are named once, a part of the result is indented. What is null is left
out. A text that could be taken for more than one value is quoted as JSON does. Knows JSON values; knows no tool.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

_BETWEEN = " | "
_NONE = "none"


def outlined(result: dict[str, Any]) -> str:
    return "\n".join(_fields(result))


def _fields(part: dict[str, Any]) -> Iterator[str]:
    for name, value in part.items():
        if value is None:
            continue
        if isinstance(value, list) and _are_rows(cast("list[Any]", value)):
            yield f"{name}:"
            yield from (f"  {line}" for line in _table(cast("list[dict[str, Any]]", value)))
        elif isinstance(value, dict) and value:
            yield f"{name}:"
            yield from (f"  {line}" for line in _fields(cast("dict[str, Any]", value)))
        else:
            yield f"{name}: {_NONE if value in ([], {}) else _cell(value)}"


def _are_rows(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, dict) and bool(cast("dict[str, Any]", value)) for value in values)


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Without a column that is null in each row."""
    columns = list(dict.fromkeys(name for row in rows for name, value in row.items() if value is not None))
    yield _BETWEEN.join(columns)
    for row in rows:
        yield _BETWEEN.join("" if row.get(name) is None else _cell(row[name]) for name in columns).rstrip()


def _cell(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(_without_null(value), ensure_ascii=False, separators=(",", ":"))
    plain = value.isprintable() and value == value.strip() and "|" not in value and value[:1] not in ("", '"', "[", "{")
    return value if plain else json.dumps(value, ensure_ascii=False)


def _without_null(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_null(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _without_null(item) for name, item in cast("dict[str, Any]", value).items() if item is not None}
    return value
