"""Finds a Python that the project runs on, and goes on in it.

Knows version numbers and where Pythons usually are; knows nothing of the environment. It is itself run by whatever
`python3` happens to be, so it keeps to what Python 3.6 reads: no annotations import, no new syntax.
"""

import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)
NEWEST = (3, 14)
CANDIDATES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")

# ensurepip is asked for too: Debian's python3 comes without it, and then no environment can be made.
_PROBE = "import sys, venv, ensurepip; print(sys.version_info[0], sys.version_info[1], sys.executable)"


def require() -> None:
    """Return if this Python will do; else start the script again in one that does, or exit and say what to do."""
    if _probe(sys.executable):
        return
    for name in CANDIDATES:
        path = shutil.which(name)
        found = _probe(path) if path else ""
        if found:
            sys.stdout.flush()
            os.execv(found, [found, *sys.argv])
    sys.exit(
        "Lamplighter needs Python {}.{} to {}.{} with its venv module, and none was found.\n"
        "On Debian or Ubuntu: sudo apt-get install -y python3 python3-venv".format(*OLDEST, *NEWEST)
    )


def _probe(path: str) -> str:
    """The interpreter's own name for itself when it is one that we can use, else an empty string."""
    try:
        answer = subprocess.check_output([path, "-c", _PROBE], stderr=subprocess.DEVNULL, universal_newlines=True)
    except (OSError, subprocess.CalledProcessError):
        return ""  # a version manager's placeholder for a Python that is not there, or one without venv: try the next
    major, minor, executable = answer.strip().split(" ", 2)
    return executable if OLDEST <= (int(major), int(minor)) <= NEWEST else ""
