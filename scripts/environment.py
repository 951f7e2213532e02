"""Makes `.venv`: exactly what the lock names, hash by hash, and the project itself on top.

Knows the lock and the stamp that says from what the environment was made; knows nothing of what is run in it.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements" / "dev.lock"
PROJECT = ROOT / "pyproject.toml"
STAMP = VENV / "lamplighter-stamp"


def ready() -> None:
    """Make the environment if it is missing or was made from another lock or Python. Cheap when nothing is to do."""
    base, project = f"python {_version()} lock {_digest(LOCK)}", f"project {_digest(PROJECT)}"
    if _stamp() == [base, project]:
        return
    with _alone():
        stamp = _stamp()  # again: somebody else may have made it while we waited
        if stamp[:1] != [base]:
            _make()
        if stamp != [base, project]:
            _install("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
            STAMP.write_text(f"{base}\n{project}\n")


def tool(name: str) -> str:
    """The path of a program of the environment, relative to the root."""
    return str((VENV / "bin" / name).relative_to(ROOT))


def _make() -> None:
    print(f"Making .venv with Python {_version()} from requirements/dev.lock …", flush=True)
    STAMP.unlink(missing_ok=True)
    _run(_interpreter(), "-m", "venv", "--clear", str(VENV))
    _install("--require-hashes", "--requirement", str(LOCK))


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


def _stamp() -> list[str]:
    """The stamp's lines; none when there is no environment, it was never finished, or its Python is gone."""
    if not (VENV / "bin" / "python").exists() or not STAMP.exists():
        return []
    return STAMP.read_text().splitlines()


@contextmanager
def _alone() -> Generator[None]:
    """One maker at a time: ./run and ./test may be started together. The kernel drops this lock with the process."""
    with LOCK.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
