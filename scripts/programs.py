"""The system programs that the tests need, and how to get them.

Knows Debian's package names and apt; installs only as root or with a sudo that asks for nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PACKAGES = {
    "chromium": "chromium",
    "git": "git",
    "setpriv": "util-linux",
    "tmux": "tmux",
}

WELCOME = {
    "fish": "fish",
    "zsh": "zsh",
}
"""Shells whose completion is tested where they are; without them those tests are skipped."""


def ready() -> None:
    """Install what is missing, or exit and say what to run. What is merely welcome is installed where that asks nobody."""
    welcome = sorted(package for program, package in WELCOME.items() if shutil.which(program) is None)
    prefix = _privilege()
    if welcome and prefix is not None:
        print(f"Installing {', '.join(welcome)} …", flush=True)
        _apt(prefix, ["apt-get", "install", "-y", "--no-install-recommends", *welcome])
    require(PACKAGES)


def require(programs: dict[str, str]) -> None:
    """Install those of these programs that are missing, each by its package; or exit and say what to run."""
    packages = _missing(programs)
    if not packages:
        return
    prefix = _privilege()
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if prefix is None:
        sys.exit(f"Programs that are needed are missing here. Run: sudo {' '.join(install)}")
    print(f"Installing {', '.join(packages)} …", flush=True)
    if not _apt(prefix, install):
        # Most often the package lists are missing or old, as in a fresh container.
        _apt(prefix, ["apt-get", "update"])
        _apt(prefix, install)
    if left := _missing(programs):
        sys.exit(f"Could not install: {', '.join(left)}. Run: sudo apt-get update && sudo {' '.join(install)}")


def _missing(programs: dict[str, str]) -> list[str]:
    return sorted({package for program, package in programs.items() if shutil.which(program) is None})


def _privilege() -> list[str] | None:
    """What to put before apt-get; None when there is no apt or no right to use it."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and _silently(["sudo", "-n", "true"]):
        return ["sudo", "-n"]
    return None


def _silently(command: list[str]) -> bool:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def _apt(prefix: list[str], command: list[str]) -> bool:
    quiet = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", *command, "-qq"]
    return subprocess.run(quiet, stdin=subprocess.DEVNULL, check=False).returncode == 0
