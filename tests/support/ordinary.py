"""An engine whose keeper, daemon, sessions and callers belong to an ordinary user, for tests that run as root.

    python -m tests.support.ordinary < REQUEST

is the caller's side, run as that user: one call, read as JSON from standard input, answered on standard output. Knows how
to become somebody else, and to give them a cgroup of their own; nothing of what is tested. For tests only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lamplighter
from lamplighter.errors import LampError
from lamplighter.holder import boot, cgroup
from lamplighter.home import find_home
from tests.support.engine import Engine, answer, send
from tests.support.places import ROOT

UID = 65534
_DELEGATED = ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads")
# The last exec is the shell's: setpriv's own still has root's rights, and would start what the user cannot reach.
_BECOME = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "sh", "-c", 'exec "$@"', "sh"]
_TRIES = 20
_OURS = [str(Path(lamplighter.__path__[0]).parent), str(ROOT)]
_PATH = os.pathsep.join([*(path for path in sys.path if path.endswith("-packages")), *_OURS])


class OrdinaryEngine(Engine):
    """`delegated` is a cgroup folder of the user's in which everything is started."""

    def __init__(self, python: str, delegated: str | None = None, **environment: str) -> None:
        super().__init__(PYTHONPATH=_PATH, TMPDIR="/tmp", **environment)
        self.environment["HOME"] = str(self.folder)
        self.python = python
        enter = ["sh", "-c", 'echo 0 > "$0/cgroup.procs" && exec "$@"', delegated] if delegated else []
        self.prefix = [*enter, *_BECOME]
        for made in (self.folder, *self.folder.rglob("*")):
            os.chown(made, UID, UID)

    def call(self, operation: str, *, key: str | None = None, **arguments: Any) -> dict[str, Any]:
        request = {"operation": operation, "key": key or uuid.uuid4().hex, "arguments": arguments}
        done = subprocess.run(
            [*self.prefix, self.python, "-m", __name__],
            check=True,
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            env=self.environment,
            cwd="/",
            timeout=200,
        )
        answered = json.loads(done.stdout)
        if "error" in answered:
            raise LampError.from_document(answered["error"])
        return answered["result"]


def find_python() -> str | None:
    """An interpreter that the ordinary user can run this package with: this very one, or the system's of the same version."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    check = f"import sys, lamplighter.daemon; assert '%d.%d' % sys.version_info[:2] == '{version}'"
    for candidate in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        tried = subprocess.run(
            [*_BECOME, candidate, "-c", check],
            check=False,
            capture_output=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": _PATH},
            cwd="/",
        )
        if tried.returncode == 0:
            return candidate
    return None


@contextmanager
def delegated_cgroup() -> Generator[str]:
    """A cgroup below this process's own that the ordinary user may do with as they like."""
    mount, path = cgroup.find_mount(), cgroup.own_path()
    assert mount is not None
    assert path is not None
    folder = f"{mount}{path.rstrip('/')}/ordinary-{uuid.uuid4().hex}"
    os.mkdir(folder)
    try:
        for owned in (folder, *(f"{folder}/{name}" for name in _DELEGATED)):
            os.chown(owned, UID, UID)
        yield folder
    finally:
        for below, _, _ in os.walk(folder, topdown=False):
            os.rmdir(below)


def main() -> None:
    request = json.load(sys.stdin)
    home = find_home()
    for _ in range(_TRIES):  # as every client does: the same key again, when the daemon goes away meanwhile
        try:
            with boot.connect_daemon(home.run, home.state) as sock:
                send(sock, request["operation"], request["key"], request["arguments"])
                json.dump({"result": answer(sock)}, sys.stdout)
        except ConnectionError:
            continue
        except LampError as error:
            json.dump({"error": error.document()}, sys.stdout)
        return
    raise ConnectionError("the daemon went away again and again")


if __name__ == "__main__":
    main()
