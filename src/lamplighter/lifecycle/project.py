"""Which project a folder belongs to: the repository that it is in, by the name of its folder. Knows nothing of sessions."""

from __future__ import annotations

import os

from lamplighter.domain.name import check_name


def project_of(cwd: str, named: str | None = None) -> str | None:
    """The project as it was named; else the repository around the folder; None when it is in none."""
    if named is not None:
        return check_name(named)
    folder = os.path.abspath(cwd)
    while folder != os.path.dirname(folder):
        if os.path.exists(f"{folder}/.git"):  # a file in a work tree of its own
            return os.path.basename(folder)
        folder = os.path.dirname(folder)
    return None
