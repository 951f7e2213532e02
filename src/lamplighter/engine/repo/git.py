"""git, run so that nothing of a repository can run anything else, and so that it is over in time.

A repository's configuration can name programs in many places (filters, hooks, fsmonitor, textconv, gpg, pagers, remotes), so it
is not overridden but left out: git gets an empty git folder of ours, with the repository's objects, index and work tree, and
the few settings that change how files compare. Knows nothing of sessions or of what is asked.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import shutil
import signal
import stat
import subprocess
import time
from typing import NamedTuple

from lamplighter import lazy_re as re
from lamplighter.lazy_dataclass import dataclass

_READ = 1 << 16
_CPU_SECONDS = 20  # for one that outlives a daemon that was killed: nobody is left to end it
_REAP_SECONDS = 0.2
_INSIDE_SECONDS = 0.5
_MOST_INSIDE = 1 << 20
# What decides whether two files are the same; nothing among it names a program.
_TAKEN_OVER = frozenset(
    f"core.{name}"
    for name in ("autocrlf", "eol", "filemode", "symlinks", "ignorecase", "trustctime", "checkstat", "excludesfile")
)
_OWN_SETTINGS = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null", "core.bigFileThreshold": "16m"}
_FORMAT = re.compile(r"sha1|sha256")


@dataclass(frozen=True)
class RepositoryLocation:
    """Where a repository is: its work tree, its git folder, and the one that all of its work trees share."""

    top: str
    folder: str
    common: str


class Printed(NamedTuple):
    """What git printed. `whole`: it printed all that it had to say, and did not fail."""

    data: bytes
    whole: bool


class Git:
    """The command in one repository, until a moment of the monotonic clock. Blocks; for a thread."""

    def __init__(self, place: RepositoryLocation, scratch: str, until: float) -> None:
        self.place = place
        self.until = until
        self._scratch = scratch
        self._own: dict[str, str] | None = None

    def run(self, *arguments: str, most: int) -> Printed:
        """At most so many bytes of what it prints about the repository's objects and files."""
        if self._own is None:
            self._own = self._environment(self.settings())
        return self._run(arguments, self._own, most, self.until)

    def run_inside(self, *arguments: str) -> Printed:
        """With the repository's own git folder, and so with its configuration: for what starts no program whatever that says."""
        environment = {**_clean(), "GIT_DIR": self.place.folder}
        # It may include a file that never ends: that must not take the time of all the rest.
        until = min(self.until, time.monotonic() + _INSIDE_SECONDS)
        return self._run(arguments, environment, _MOST_INSIDE, until)

    def settings(self) -> dict[str, str]:
        """What the configuration says, of the user and of the repository, by lower-case names; the later one counts."""
        printed = self.run_inside("config", "-z", "--list")
        pairs = [entry.partition("\n") for entry in printed.data.decode(errors="surrogateescape").split("\0")]
        return {name: value if parted else "true" for name, parted, value in pairs if name}

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        chosen = {name: value for name, value in settings.items() if name in _TAKEN_OVER} | _OWN_SETTINGS
        environment = {
            **_clean(),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_DIR": _empty_folder(self._scratch, settings.get("extensions.objectformat", "sha1").lower()),
            "GIT_WORK_TREE": self.place.top,
            "GIT_OBJECT_DIRECTORY": f"{self.place.common}/objects",
            "GIT_INDEX_FILE": f"{self.place.folder}/index",
            "GIT_CONFIG_COUNT": str(len(chosen)),
        }
        if is_file(f"{self.place.common}/shallow"):
            environment["GIT_SHALLOW_FILE"] = f"{self.place.common}/shallow"
        for number, (name, value) in enumerate(chosen.items()):
            environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return environment

    def _run(self, arguments: tuple[str, ...], environment: dict[str, str], most: int, until: float) -> Printed:
        program = shutil.which("git")
        if program is None or time.monotonic() >= until:
            return Printed(b"", False)
        try:
            # In /, so that a folder that hangs is waited for by git, which can be killed, and not by us.
            process = subprocess.Popen(
                [program, "--no-pager", "--no-replace-objects", "--literal-pathspecs", *arguments],
                cwd="/",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError):  # a path with a NUL, no memory, no program
            return Printed(b"", False)
        return _collect(process, most, until)


def _collect(process: subprocess.Popen[bytes], most: int, until: float) -> Printed:
    assert process.stdout is not None
    over = False
    with contextlib.suppress(OSError):
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    try:
        data, over = _read(process.stdout.fileno(), most, until)
    finally:
        if not over:
            _kill(process)
        process.stdout.close()
        status = _reap(process, until if over else 0.0)
    return Printed(data, over and status == 0)


def _read(descriptor: int, most: int, until: float) -> tuple[bytes, bool]:
    """What comes until the end of it, and whether the end came."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    data = bytearray()
    while len(data) < most:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return bytes(data), False
        piece = os.read(descriptor, _READ)
        if not piece:
            return bytes(data), True
        data += piece
    return bytes(data[:most]), False


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it started. It is not reaped yet, so its number is nobody else's, nor its group's."""
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(process.pid)
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _reap(process: subprocess.Popen[bytes], until: float) -> int | None:
    """One that the kernel does not let go (a file system that hangs) is left to it; the module reaps it later."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(max(_REAP_SECONDS, until - time.monotonic()))
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(_REAP_SECONDS)
    return None


def _clean() -> dict[str, str]:
    """Nothing of what the environment could tell git, and nobody asked for anything."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in os.environ}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
    }


def _empty_folder(scratch: str, format: str) -> str:
    """A git folder with nothing in it but how long its hashes are. Safe to make again and by several at once."""
    known = format if _FORMAT.fullmatch(format) else "sha1"
    folder = f"{scratch}/{known}"
    for needed in ("objects", "refs"):
        os.makedirs(f"{folder}/{needed}", mode=0o700, exist_ok=True)
    extension = f"\n[extensions]\n\tobjectFormat = {known}" if known != "sha1" else ""
    _put(f"{folder}/config", f"[core]\n\trepositoryFormatVersion = {1 if extension else 0}{extension}\n")
    _put(f"{folder}/HEAD", "ref: refs/heads/none\n")
    return folder


def _put(path: str, text: str) -> None:
    """Whole or not at all, for whoever reads it meanwhile."""
    if not os.path.exists(path):
        part = f"{path}.{os.getpid()}.{time.monotonic_ns()}"
        with open(part, "w") as file:
            file.write(text)
        os.replace(part, path)


def is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
