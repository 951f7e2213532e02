"""What a text cites: files and commits, as they are now."""

from __future__ import annotations

from lamplighter.domain.record import NO_EVIDENCE, Evidence


def cite(folder: str, text: str) -> Evidence:
    """The files in the folder and the commits that the text names. Blocks; for a thread."""
    return NO_EVIDENCE


def stale_all(found: list[Evidence]) -> list[list[str]]:
    """What has changed since of what each cites, in phrases. Blocks; for a thread."""
    return [[] for _ in found]
