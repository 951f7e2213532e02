"""Which release of the program is installed, and whether the daemon at work still runs it.

An upgrade replaces the files of a daemon that goes on: what that imports later would come from another release. So whoever meets
such a daemon has it make way for one of today. Of another installation nothing is said. Standard library only.
"""

from __future__ import annotations

import os
import sys
import time
import zlib

from lamplighter.holder import places, proc

_FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__init__.py")


def installed() -> list[str | int]:
    """What is there now: the place, its file system (a container has its own), and what differs between releases.
    Not the time of its last change: a link to it or another mode is no release."""
    found = os.stat(_FILE)
    with open(_FILE, "rb") as file:
        return [_FILE, found.st_dev, found.st_mtime_ns, zlib.crc32(file.read())]


RUNNING = installed()
"""The release that this process has begun with."""


def is_outdated(state: str, pid: int) -> bool:
    """Whether the daemon with this pid began with other files than those that are installed here now."""
    found = places.recorded(state, "daemon")
    code: object = found.get("code") if found is not None and found["pid"] == pid else None
    try:
        today = installed()
    except OSError:  # in the middle of being replaced
        return False
    if not isinstance(code, list):
        return _is_before(pid)
    return code[:2] == today[:2] and code != today


def _is_before(pid: int) -> bool:
    """For a daemon that has not (yet) said what it began with: one of this interpreter, started before the files were written."""
    stat = proc.read_stat(pid)
    words = proc.words_of(pid)
    if stat is None or not words or os.path.dirname(words[0]) != os.path.dirname(sys.executable):
        return False
    written = os.stat(_FILE).st_ctime - (time.time() - time.clock_gettime(time.CLOCK_BOOTTIME))
    return not proc.started_since(stat, written)
