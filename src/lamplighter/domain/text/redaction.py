"""What must never be stored: secrets of well-known forms, and what was marked private. Knows text alone.

The forms are in credentials.py (tokens that can be told by how they look, the detector's among them), assignments.py (what stands
beside a name such as `password`) and private_keys.py (blocks of several lines). Here they are put together: where two of
them find the same place it is one secret.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from lamplighter import lazy_re as re
from lamplighter.domain.assignments import assigned
from lamplighter.domain.text.credentials import FoundSecret, credentials, lowered
from lamplighter.domain.text.private_keys import private_keys

# Also as HTML and JSON escape it: text is often handed over as it was found.
_OPEN, _CLOSE = r"(?:<|&lt;|\\u003c)", r"(?:>|&gt;|\\u003e)"
_TAG = re.compile(
    rf"{_OPEN}(?P<over>/?)private(?=[\s>/&\\]|\Z)(?:(?!{_OPEN}).)*?(?:{_CLOSE}|(?={_OPEN})|\Z)",
    re.IGNORECASE | re.DOTALL,
)


class Redacted(NamedTuple):
    """`secrets` and `private` count what was taken out."""

    text: str
    secrets: int
    private: int


def redact(text: str) -> Redacted:
    """The text as it may be stored. The first call loads the detector, which takes some tenths of a second."""
    text, private = _published(text)
    found = _joined([*private_keys(text), *credentials(text), *assigned(text, lowered(text))])
    return Redacted(_replaced(text, found), len(found), private)


def redact_document(value: Any) -> Any:
    """Every text in a document, as it may be stored."""
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, dict):
        return {name: redact_document(item) for name, item in cast("dict[str, Any]", value).items()}
    return [redact_document(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _published(text: str) -> tuple[str, int]:
    """Without what is marked private. What is left may be a mark again (`<pri<private>…</private>vate>`), so until none is."""
    count = 0
    while hidden := _hidden(text):
        count += len(hidden)
        ends = [0, *(end for _, end in hidden)]
        starts = [*(start for start, _ in hidden), len(text)]
        text = "".join(text[last:start] for last, start in zip(ends, starts, strict=True))
    return text, count


def _hidden(text: str) -> list[tuple[int, int]]:
    """The private parts. One that is never closed goes on to the end; one that was never opened began before the text did,
    which may have been cut."""
    parts: list[tuple[int, int]] = []
    depth, start = 0, 0
    for tag in _TAG.finditer(text):
        if not tag["over"]:
            start = start if depth else tag.start()
            depth += 1
            continue
        if not depth:
            parts, start, depth = [], 0, 1
        depth -= 1
        if not depth:
            parts.append((start, tag.end()))
    return [*parts, (start, len(text))] if depth else parts


def _joined(found: Iterable[FoundSecret]) -> list[FoundSecret]:
    joined: list[FoundSecret] = []
    for one in sorted(found):
        if joined and one.start < joined[-1].end:
            last = joined[-1]
            joined[-1] = last._replace(end=max(last.end, one.end))
        else:
            joined.append(one)
    return joined


def _replaced(text: str, found: list[FoundSecret]) -> str:
    pieces: list[str] = []
    last = 0
    for one in found:
        pieces += [text[last : one.start], f"[redacted: {one.kind}]"]
        last = one.end
    return "".join([*pieces, text[last:]])
