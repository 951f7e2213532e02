"""Which version of an agent a process runs, from the files that it was started from: npm's, Python's, or a folder's name.

Reads files and runs nothing; blocks, for a thread.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from lamplighter import lazy_re as re
from lamplighter.agents.formats.jsonl import mapping, words
from lamplighter.agents.formats.program import Program

_UP = 6
_LONGEST = 1 << 20
_NUMBERS = re.compile(r"\d+(?:\.\d+){1,3}")


def version_of(program: Program, command: list[str], executable: str) -> str | None:
    """Of a process with this command line, whose executable is this file; None when no file says so."""
    length = program.length(command)
    if not length:
        return None
    file = os.path.realpath(executable if length == 1 else command[length - 1])
    return next((version for folder in islice(_above(file), _UP) if (version := _said(program, folder))), None)


def is_newer(version: str, than: str) -> bool:
    return _parts(version) > _parts(than)


def _parts(version: str) -> tuple[int, ...]:
    found = _NUMBERS.match(version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _above(file: str) -> Iterator[str]:
    """The file itself, as one may be called by its version, and the folders that it is in."""
    while file not in ("/", ""):
        yield file
        file = os.path.dirname(file)


def _said(program: Program, place: str) -> str | None:
    if _NUMBERS.fullmatch(os.path.basename(place)):
        return os.path.basename(place)
    with suppress(OSError, ValueError), open(os.path.join(place, "package.json"), "rb") as file:
        document = mapping(json.loads(file.read(_LONGEST)))
        if words(document.get("name")).startswith(program.packages):
            return words(document.get("version")) or None
    return _distributed(program, place)


def _distributed(program: Program, place: str) -> str | None:
    """In a Python environment, beside whose programs the packages are."""
    beginnings = tuple(f"{package.replace('-', '_')}-" for package in program.packages)
    for lib in ("lib", "lib64"):
        with suppress(OSError):
            for python in os.listdir(os.path.join(place, lib)):
                with suppress(OSError):
                    for name in os.listdir(os.path.join(place, lib, python, "site-packages")):
                        if name.startswith(beginnings) and name.endswith(".dist-info"):
                            return name.removesuffix(".dist-info").rpartition("-")[2]
    return None
