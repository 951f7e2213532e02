"""What is kept as lines of JSON, and lines back into what they say. Knows no file and no store.

The same things make the same lines, byte for byte, so that two exports can be compared and kept in a repository.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, cast

from lamplighter import lazy_re as re
from lamplighter.domain.memory.handoff import Handoff
from lamplighter.domain.memory.record import CATEGORIES, LONGEST, Record
from lamplighter.domain.text.redaction import redact
from lamplighter.domain.text.search_text import storable
from lamplighter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_ID = re.compile(r"[rh][0-9a-z]{10}")
_LATEST = 253_402_300_799.0  # the last second of the year 9999: what is later is no date
_MOST = 1 << 53


@dataclass(frozen=True)
class KnownProject:
    """A project, and the name that it was last known by."""

    id: str
    name: str
    seen_at: float


Thing = KnownProject | Handoff | Record
_KINDS: dict[str, type[Any]] = {"project": KnownProject, "handoff": Handoff, "record": Record}


@dataclass(frozen=True)
class Read:
    """What a line says, and what was taken out of it."""

    thing: Thing
    secrets: int
    private: int


class NoSuchThingError(ValueError):
    """Why a line is none of these."""


def line_of(thing: Thing) -> str:
    """In ASCII: no encoding on the way can change it."""
    if isinstance(thing, Handoff):
        return json.dumps({"kind": "handoff", **thing.document()})
    if isinstance(thing, Record):
        found = {each.name: getattr(thing, each.name) for each in fields(thing)}
        return json.dumps({"kind": "record", **found, "evidence": thing.evidence.document()})
    return json.dumps({"kind": "project", "id": thing.id, "name": thing.name, "seen_at": thing.seen_at})


def read_line(line: str) -> Read:
    """What it says, without secrets; or NoSuchThingError with what is wrong."""
    document, thing = _parsed(line)
    _check(thing, document)
    read = _cleaned(thing, document)
    if isinstance(read.thing, Record) and not 0 < len(read.thing.content.strip()) <= LONGEST:
        raise NoSuchThingError(f"its content is empty or longer than {LONGEST:,} characters")
    return read


def parse_line(line: str) -> Thing:
    """What it says, as it is; or NoSuchThingError."""
    return _parsed(line)[1]


def _parsed(line: str) -> tuple[dict[str, Any], Thing]:
    try:
        found: Any = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise NoSuchThingError("it is no JSON") from None
    document = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    kind = _KINDS.get(str(document.pop("kind", "")))
    if kind is None:
        raise NoSuchThingError("it is no project, hand-off or record")
    known = {each.name for each in fields(kind)}
    if kind is Handoff:
        known -= {"evidence"}  # each is a line of its own
    if wrong := sorted(known ^ set(document)):
        raise NoSuchThingError(f"{wrong[0][:40]!a} {'is missing' if wrong[0] in known else 'is unknown'}")
    from pydantic import (
        ValidationError,  # not at the top: few daemons ever import a record, and all of them are waited for
    )

    try:
        return document, _adapter(kind).validate_json(json.dumps(document), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise NoSuchThingError(f"{where[:80]}: {first['msg'][:160]}") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _check(thing: Thing, document: dict[str, Any]) -> None:
    if _is_out_of_range(document):
        raise NoSuchThingError("a time or a number in it is none that can be kept")
    if isinstance(thing, KnownProject):
        if not thing.id or not thing.name or len(thing.id) > 4096 or len(thing.name) > 1000:
            raise NoSuchThingError("its id or its name is empty or too long")
        return
    if not _ID.fullmatch(thing.id) or thing.id[0] != ("h" if isinstance(thing, Handoff) else "r"):
        raise NoSuchThingError(f"its id is none of ours: {thing.id[:40]!a}")
    if isinstance(thing, Record) and (not 1 <= thing.importance <= 10 or thing.category not in CATEGORIES):
        raise NoSuchThingError("its importance or category is none that there is")


def _is_out_of_range(value: Any) -> bool:
    """Every float is a moment, every whole number a count."""
    if isinstance(value, float):
        return not 0.0 <= value <= _LATEST
    if isinstance(value, int):
        return not 0 <= value <= _MOST
    if isinstance(value, dict):
        return any(map(_is_out_of_range, cast("dict[str, Any]", value).values()))
    return isinstance(value, list) and any(map(_is_out_of_range, cast("list[Any]", value)))


def _cleaned(thing: Thing, document: dict[str, Any]) -> Read:
    """Every text as it may be stored, whatever field it is in. What was exported from here comes through unchanged."""
    together = "\n".join(_texts(document))
    if storable(together) == together and redact(together).text == together:
        return Read(thing, 0, 0)
    counts = [0, 0]
    cleaned = _clean(json.loads(line_of(thing)), counts)
    return Read(parse_line(json.dumps(cleaned)), *counts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        inner = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        for each in inner:
            yield from _texts(each)


def _clean(value: Any, counts: list[int]) -> Any:
    if isinstance(value, str):
        found = redact(storable(value))
        counts[0] += found.secrets
        counts[1] += found.private
        return found.text
    if isinstance(value, dict):
        return {name: _clean(each, counts) for name, each in cast("dict[str, Any]", value).items()}
    return [_clean(each, counts) for each in cast("list[Any]", value)] if isinstance(value, list) else value
