"""What a host is called: `[a-z0-9-]`, at most 32 of them, made from what its kernel calls it."""

from __future__ import annotations

from lamplighter import lazy_re as re

_LONGEST = 32
_UNFIT = re.compile(r"[^a-z0-9]+")


def host_name(node: str) -> str:
    """Of a full name the first part."""
    return _UNFIT.sub("-", node.lower().partition(".")[0]).strip("-")[:_LONGEST].strip("-") or "localhost"
