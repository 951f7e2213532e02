"""A systemd user manager of a test's own, in a mount namespace with a /run of its own and cgroups of its own.

For tests only. Needs root, systemd's programs and util-linux; says why when it cannot be had.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import uuid
from collections.abc import Callable

from tests.support.processes import wait_until

_SYSTEMD = "/lib/systemd/systemd"
_BEGIN = """
for folder in "$@"; do mkdir -p "$folder" && echo $$ > "$folder/cgroup.procs" || exit 1; done
mount -t tmpfs none /run && mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR" && chmod 700 "$XDG_RUNTIME_DIR" || exit 1
exec {systemd} --user --log-target=null --unit=basic.target
"""


def why_none() -> str:
    """Why there can be no such manager here; nothing when there can."""
    if os.geteuid() != 0:
        return "a systemd user manager of its own needs root"
    missing = [name for name in ("systemctl", "unshare", "nsenter") if shutil.which(name) is None]
    if missing or not os.access(_SYSTEMD, os.X_OK):
        return f"not installed: {', '.join(missing or ['systemd'])}"
    return "" if _mounts() and all(map(_usable, _mounts())) else "no cgroup can be made here"


def _usable(mount: str) -> bool:
    """Without a cgroup of its own a manager would take every process beside it into its own scope."""
    probe = f"{mount}/lamp-test-probe-{os.getpid()}"
    try:
        os.mkdir(probe)
        os.rmdir(probe)
    except OSError:
        return False
    return True


class UserManager:
    """While entered, `prefix` runs a command where it can be reached, with `environment`."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._mark = f"lamp-test-{uuid.uuid4().hex[:12]}"
        self._folders = [f"{mount}/{self._mark}" for mount in _mounts()]
        self.environment = {"XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"}
        self._all = {**environment, **self.environment}
        self._process: subprocess.Popen[bytes] | None = None
        self.prefix: list[str] = []

    def __enter__(self) -> UserManager:
        command = ["unshare", "--mount", "sh", "-c", _BEGIN.format(systemd=_SYSTEMD), "sh", *self._folders]
        self._process = subprocess.Popen(command, env=self._all, start_new_session=True)
        self.prefix = ["nsenter", "--target", str(self._process.pid), "--mount"]
        assert wait_until(lambda: self._run("is-system-running").stdout.strip() == "running"), "no manager"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(200)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for folder in self._folders:
            wait_until(lambda folder=folder: _removed(folder))

    def systemctl(self, *words: str) -> str:
        done = self._run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def state(self) -> str:
        return self._run("is-active", "lamplighter").stdout.strip()

    def main(self) -> int:
        return int(self.systemctl("show", "--property=MainPID", "--value", "lamplighter"))

    def becomes(self, state: str, also: Callable[[], bool] = lambda: True) -> bool:
        return wait_until(lambda: self.state() == state and also())

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*self.prefix, "systemctl", "--user", *words]
        return subprocess.run(command, env=self._all, capture_output=True, text=True, timeout=200, check=False)


def _mounts() -> list[str]:
    """Where systemd keeps its tree: cgroup v2, and on a hybrid system its own v1 tree too."""
    found: list[str] = []
    with open("/proc/self/mountinfo") as file:
        for line in file:
            fields, _, rest = line.partition(" - ")
            if rest.startswith("cgroup2 ") or (rest.startswith("cgroup ") and "name=systemd" in rest):
                found.append(fields.split()[4])
    return found


def _removed(folder: str) -> bool:
    for inner, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(inner)
    return not os.path.exists(folder)
