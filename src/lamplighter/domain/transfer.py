"""What is kept as lines of JSON, and lines back into what they say. Knows no file and no store.

The same things make the same lines, byte for byte, so that two exports can be compared and kept in a repository.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, NoReturn, cast

from pydantic import TypeAdapter, ValidationError

from lamplighter.domain.handoff import Handoff
from lamplighter.domain.record import CATEGORIES, LONGEST, Record
from lamplighter.domain.redaction import redact
from lamplighter.domain.wording import storable

_ID = re.compile(r"[rh][0-9a-z]{10}")


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A project, and the name that it was last known by."""

    id: str
    name: str
    seen_at: float


Thing = KnownProject | Handoff | Record
_KINDS: dict[str, type[Any]] = {"project": KnownProject, "handoff": Handoff, "record": Record}


@dataclass(frozen=True, slots=True)
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
    return _checked(parse_line(line))


def parse_line(line: str) -> Thing:
    """What it says, as it is; or NoSuchThingError."""
    try:
        found: Any = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise NoSuchThingError("it is no JSON") from None
    document = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    kind = _KINDS.get(str(document.pop("kind", "")))
    if kind is None:
        raise NoSuchThingError("it is no project, hand-off or record")
    known = {each.name for each in fields(kind)}
    if wrong := sorted(known ^ set(document)):
        raise NoSuchThingError(f"{wrong[0][:40]!a} {'is missing' if wrong[0] in known else 'is unknown'}")
    try:
        return _adapter(kind).validate_json(json.dumps(document), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise NoSuchThingError(f"{where[:80]}: {first['msg'][:160]}") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _checked(thing: Thing) -> Read:
    if isinstance(thing, KnownProject):
        if not thing.id or not thing.name or len(thing.id) > 4096 or len(thing.name) > 1000:
            raise NoSuchThingError("its id or its name is empty or too long")
        return Read(replace(thing, id=storable(thing.id), name=storable(thing.name)), 0, 0)
    if not _ID.fullmatch(thing.id) or thing.id[0] != ("h" if isinstance(thing, Handoff) else "r"):
        raise NoSuchThingError(f"its id is none of ours: {thing.id[:40]!a}")
    return (
        _clean(thing, ("summary", "reason", "epitaph", "transcript_path"))
        if isinstance(thing, Handoff)
        else _record(thing)
    )


def _record(record: Record) -> Read:
    if not 1 <= record.importance <= 10 or record.category not in CATEGORIES or record.carried < 0:
        raise NoSuchThingError("its importance, category or count is none that there is")
    if not math.isfinite(record.created_at) or not math.isfinite(record.closed_at or 0.0):
        raise NoSuchThingError("its time is none")
    read = _clean(record, ("content", "closed_why"))
    content = cast("Record", read.thing).content
    if not content.strip() or len(content) > LONGEST:
        raise NoSuchThingError(f"its content is empty or longer than {LONGEST:,} characters")
    return read


def _clean(thing: Any, names: tuple[str, ...]) -> Read:
    """Texts as they may be stored. What was exported from here comes through unchanged."""
    secrets = private = 0
    changes: dict[str, str] = {}
    for name in names:
        text: str | None = getattr(thing, name)
        if text is not None:
            cleaned = redact(storable(text))
            changes[name] = cleaned.text
            secrets, private = secrets + cleaned.secrets, private + cleaned.private
    return Read(replace(thing, **changes), secrets, private)
