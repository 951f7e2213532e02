"""Makes `.venv`: exactly what a lock names, hash by hash, and the project itself on top. `./run` needs what runs, and no more;
what only the checks and tests need is added by `./test`.

Knows the locks and the stamp that says from what the environment was made; knows nothing of what is run in it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
RUN_LOCK = ROOT / "requirements" / "run.lock"
DEV_LOCK = ROOT / "requirements" / "dev.lock"  # all of the other too, at the same versions
PROJECT = ROOT / "pyproject.toml"
STAMP = VENV / "lamplighter-stamp"
FIRST = ROOT / "src" / "lamplighter" / "__init__.py"


def ready(*, tests: bool = False) -> None:
    """Make the environment if it is missing or was made from another lock or Python; with `tests`, add what they need. Cheap
    when nothing is to do."""
    _fit(tests)
    # As pip does for a wheel. Who sets PYTHONDONTWRITEBYTECODE would wait at each start for four hundred files to be compiled.
    subprocess.run([str(VENV / "bin" / "python"), "-m", "compileall", "-qq", "src"], cwd=ROOT, check=False)


def renew() -> None:
    """Give the package's first file the time of its newest. By that file a daemon is seen to run older ones
    (`holder/release.py`), and an update of a clone seldom changes it."""
    newest = max(path.stat().st_mtime_ns for path in FIRST.parent.rglob("*.py"))
    if newest > FIRST.stat().st_mtime_ns:
        os.utime(FIRST, ns=(newest, newest))


def _fit(tests: bool) -> None:
    wanted = _wanted(tests)
    if _fits(wanted):
        return
    with _alone():
        if _fits(wanted):  # again: somebody else may have made it while we waited
            return
        if not _may_grow(wanted):
            _make()
        if tests:
            print(f"Adding what the tests need, from {DEV_LOCK.relative_to(ROOT)} …", flush=True)
            _install("--require-hashes", "--requirement", str(DEV_LOCK))
        stamp = {**_stamp(), **wanted}
        if _stamp().get("project") != wanted["project"]:
            _install("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
        STAMP.write_text("".join(f"{name} {value}\n" for name, value in stamp.items()))


def tool(name: str) -> str:
    """The path of a program of the environment, relative to the root."""
    return str((VENV / "bin" / name).relative_to(ROOT))


def _wanted(tests: bool) -> dict[str, str]:
    """What the stamp has to say."""
    wanted = {"python": _version(), "run": _digest(RUN_LOCK), "project": _digest(PROJECT)}
    return {**wanted, "tests": _digest(DEV_LOCK)} if tests else wanted


def _fits(wanted: dict[str, str]) -> bool:
    return wanted.items() <= _stamp().items()


def _may_grow(wanted: dict[str, str]) -> bool:
    """Whether all that is there belongs there: then nothing has to be taken away, and what is missing can be added."""
    stamp = _stamp()
    based = all(stamp.get(name) == wanted[name] for name in ("python", "run"))
    return based and stamp.get("tests") in (None, wanted.get("tests", stamp.get("tests")))


def _make() -> None:
    print(f"Making .venv with Python {_version()} from {RUN_LOCK.relative_to(ROOT)} …", flush=True)
    STAMP.unlink(missing_ok=True)
    _run(_interpreter(), "-m", "venv", "--clear", str(VENV))
    _install("--require-hashes", "--requirement", str(RUN_LOCK))


def _install(*arguments: str) -> None:
    _run(str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", *arguments)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, cwd=ROOT, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        sys.exit(f"Could not make the environment: `{' '.join(command)}` ended with {error.returncode}.")


def _interpreter() -> str:
    """The Python below any environment that is active now: `--clear` may be about to delete that one."""
    if sys.prefix == sys.base_prefix:
        return sys.executable
    return shutil.which(f"python{_version()}", path=f"{sys.base_prefix}/bin") or sys.executable


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _stamp() -> dict[str, str]:
    """What the environment was made from; nothing when there is none, it was never finished, or its Python is gone."""
    if not (VENV / "bin" / "python").exists() or not STAMP.exists():
        return {}
    return dict(line.split(maxsplit=1) for line in STAMP.read_text().splitlines())


@contextmanager
def _alone() -> Generator[None]:
    """One maker at a time: ./run and ./test may be started together. The kernel drops this lock with the process."""
    with RUN_LOCK.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
