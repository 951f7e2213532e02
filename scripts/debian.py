"""A tree of Debian's next release in a folder, with the newest Python and tmux that we support, and the engine's cases run in it.

Made once, by debootstrap, and kept in the user's cache for every work tree; the environment in it is made again when the lock
changes. What runs there has this machine's /proc, /dev, /sys and /tmp, in a mount namespace that goes with it. Needs root.
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

from scripts import environment, programs

SUITE, PYTHON = "forky", "3.14"
MIRROR = "http://deb.debian.org/debian"
PACKAGES = "python3,python3-venv,tmux,git,procps,util-linux,ca-certificates,zsh,fish,gcc,libc6-dev"
# What needs a browser, Node, or agent programs is tried on the Python that ./test runs on.
LEFT_OUT = ("real_agents", "bench", "browser", "docs", "frontends/web", "outside", "packaging")
_NEEDED = {"debootstrap": "debootstrap", "unshare": "util-linux", "pivot_root": "util-linux"}
# How this machine reaches the network; the rest of the environment is about this machine's folders.
_KEPT = ("PIP_INDEX_URL", "PIP_CERT", "PIP_DEFAULT_TIMEOUT", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
_ENTER = """
set -e
tree=$1 project=$2; shift 2
mount --bind "$tree" "$tree"
cd "$tree"
mkdir -p lamplighter .outside
for name in proc dev sys tmp; do mount --rbind "/$name" "$name"; done
mount --bind "$project" lamplighter
mount --bind /etc/ssl/certs etc/ssl/certs
cp /etc/resolv.conf /etc/hosts etc/
pivot_root . .outside
umount --lazy .outside
cd /lamplighter
exec "$@"
"""
_MAKE = """
set -e
python3 -m venv --clear /environment
/environment/bin/python -m pip install --quiet --no-input --require-hashes --requirement requirements/dev.lock
echo /lamplighter/src > /environment/lib/python%s/site-packages/lamplighter.pth
"""


def test(arguments: list[str]) -> int:
    """The engine's cases; with arguments, pytest in the tree with them."""
    if os.geteuid() != 0:
        sys.exit("A tree of Debian is made and entered by root: run `sudo make test-python`.")
    if not os.path.isdir("/etc/ssl/certs"):
        sys.exit("There is no /etc/ssl/certs here: install ca-certificates, and run `make test-python` again.")
    programs.require(_NEEDED)
    tree = _place()
    with _alone(tree):
        _make(tree)
        _equip(tree)
    chosen = arguments or ["-n", "2", "--dist", "worksteal", *(f"--ignore=tests/{folder}" for folder in LEFT_OUT)]
    said = _inside(tree, "sh", "-c", "python3 --version; tmux -V").stdout
    print(f"In {tree}: {', '.join(said.split(chr(10))).strip(', ')}", flush=True)
    return _inside(tree, "/environment/bin/pytest", "-p", "no:cacheprovider", *chosen, shown=True).returncode


def _place() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "lamplighter-tests" / SUITE


def _make(tree: Path) -> None:
    """Anew when it was begun and never finished."""
    wanted = f"{SUITE} {PACKAGES}\n"
    stamp = tree / "lamplighter-tree"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"Making a tree of Debian {SUITE} in {tree} …", flush=True)
    shutil.rmtree(tree, ignore_errors=True)
    # Named, as an older debootstrap does not know the suite; all suites of today are made in the same way.
    script = "/usr/share/debootstrap/scripts/sid"
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(tree), MIRROR, script]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\nCould not make the tree: `{' '.join(command)}` ended with {done.returncode}.")
    stamp.write_text(wanted)


def _equip(tree: Path) -> None:
    """An environment from our lock, inside."""
    wanted = f"{hashlib.sha256(environment.DEV_LOCK.read_bytes()).hexdigest()}\n"
    stamp = tree / "environment" / "lamplighter-stamp"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"Making its environment from {environment.DEV_LOCK.relative_to(environment.ROOT)} …", flush=True)
    done = _inside(tree, "sh", "-c", _MAKE % PYTHON, shown=True)
    if done.returncode:
        sys.exit(f"Could not make the environment in {tree}; delete that folder to have all of it made again.")
    stamp.write_text(wanted)


def _inside(tree: Path, *command: str, shown: bool = False) -> subprocess.CompletedProcess[str]:
    """Run there, in this folder's work tree, as root and with a home of its own."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    path = "/environment/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    enter = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        _ENTER,
        "sh",
        str(tree),
        str(environment.ROOT),
    ]
    return subprocess.run(
        [*enter, *command],
        env={"LANG": "C.UTF-8", **kept, "HOME": "/root", "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=None if shown else subprocess.PIPE,
        text=True,
        check=False,
    )


@contextmanager
def _alone(tree: Path) -> Generator[None]:
    """One maker at a time."""
    tree.parent.mkdir(parents=True, exist_ok=True)
    with tree.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
