"""Numbers of things as people say them: 1 session, 3 sessions. The one place for it, but for the page's own script."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """1 process, 3 processes."""
    return f"{count} {noun if count == 1 else plural or plural_of(noun)}"


def plural_of(noun: str) -> str:
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"
