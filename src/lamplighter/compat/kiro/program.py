"""How `kiro-cli` is given a message, and how its conversations are kept apart: one home for each session. Knows no session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, cast

from lamplighter import lazy_re as re

COMMAND = "kiro-cli"
HOME = "KIRO_HOME"
"""Where Kiro keeps what is the user's: agents, settings, and one conversation for each folder under `sessions`."""
_CONVERSATIONS = "sessions"
_HELP_SECONDS = 10.0
_NAMED = re.compile(r"^\s*\*?\s*([A-Za-z0-9][\w.@-]*)(?:\s+|$)")


class Agent(NamedTuple):
    name: str
    description: str
    config_path: str


def chat(agent: str | None, *, resume: bool, model: str | None = None, command: str = COMMAND) -> list[str]:
    """One message, on standard input. Without `resume` a conversation begins; with it the folder's newest goes on."""
    words = [command, "chat", "--no-interactive", "--trust-all-tools", *(["--resume"] if resume else [])]
    return [*words, *(["--model", model] if model else []), *(["--agent", agent] if agent else [])]


def speaks_acp(path: str, environment: Mapping[str, str]) -> bool:
    """Whether the program knows `acp`: older ones do not. Blocks; for a thread."""
    with suppress(OSError, subprocess.SubprocessError):
        asked = subprocess.run(
            [path, "acp", "--help"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_HELP_SECONDS,
            check=False,
        )
        return asked.returncode == 0
    return False


def own_home(environment: Mapping[str, str]) -> str:
    """The user's own."""
    return environment.get(HOME) or os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".kiro")


def make_home(place: str, environment: Mapping[str, str]) -> None:
    """A home that is the user's own in everything but the conversations: so two sessions in one folder share none. Safe to
    repeat; what the user has added since is there too."""
    os.makedirs(f"{place}/{_CONVERSATIONS}", mode=0o700, exist_ok=True)
    own = own_home(environment)
    names = os.listdir(own) if os.path.isdir(own) else []
    for name in names:
        if name != _CONVERSATIONS:
            with suppress(FileExistsError):
                os.symlink(os.path.join(os.path.abspath(own), name), f"{place}/{name}")


def forget_conversation(place: str) -> None:
    shutil.rmtree(f"{place}/{_CONVERSATIONS}", ignore_errors=True)


def session_file(folder: str) -> str:
    """What older programs remember of a folder's conversation in."""
    return os.path.join(folder, ".kiro", "session.json")


def agents(listed: str, folder: str, environment: Mapping[str, str]) -> list[Agent]:
    """Those that `kiro-cli agent list` names, with what their files say of them; a folder's own before the user's."""
    found: dict[str, Agent] = {}
    for place in (os.path.join(own_home(environment), "agents"), os.path.join(folder, ".kiro", "agents")):
        for agent in _configured(place):
            found[agent.name] = agent
    for line in listed.splitlines():
        named = _NAMED.match(line)
        if named and not line.rstrip().endswith(":"):
            found.setdefault(named[1], Agent(named[1], "", ""))
    return sorted(found.values())


def _configured(place: str) -> list[Agent]:
    try:
        names = sorted(name for name in os.listdir(place) if name.endswith(".json"))
    except OSError:
        return []
    paths = [(os.path.join(place, name), name.removesuffix(".json")) for name in names]
    return [_agent(path, name) for path, name in paths if os.path.isfile(path)]  # a pipe would never end


def _agent(path: str, name: str) -> Agent:
    try:
        with open(path, encoding="utf-8") as file:
            read: Any = json.load(file)
    except (OSError, ValueError, RecursionError):
        read = {}
    said = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    return Agent(str(said.get("name") or name), str(said.get("description") or ""), path)
