"""One frozen Settings: environment before file before default. Read once, at start; nothing else reads the environment."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any, cast

from lamplighter.domain.agent_command import AgentCommand, written
from lamplighter.domain.duration import parse_duration
from lamplighter.domain.limits import NO_LIMITS, Limits, choose, positive_duration
from lamplighter.domain.session import Kind
from lamplighter.errors import Code, InputError
from lamplighter.home import Home, find_home
from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Settings:
    """What the operator can choose. Each is documented in docs/settings.md."""

    home: Home
    cgroup: str = "auto"
    log_limit: int = 64 << 20
    log_segment: int = 8 << 20
    keep_days: float = 30.0
    keep_bytes: int = 2_000_000_000
    grace: float = 5.0
    ask: float = 2.0
    quiet: float = 10.0
    stall: float = 1800.0
    spin: float = 600.0
    patrol: float = 10.0
    warning: float = 60.0
    orphan_grace: float | None = None
    lease: float = 86400.0
    sessions_per_owner: int | None = None
    http_port: int | None = 5267
    boot_folders: tuple[str, ...] = ()
    agents_read: str = "all"
    limits: dict[Kind, Limits] = field(default_factory=dict[Kind, Limits])
    agents: dict[str, AgentCommand] = field(default_factory=dict[str, AgentCommand])

    def session_folder(self, session: str) -> Path:
        return Path(self.home.session_folder(session))

    def grace_for(self, asked: str | None) -> float:
        """Seconds from TERM to KILL: what was asked for, or as it is set."""
        return self.grace if asked is None else parse_duration(asked, "grace")

    @property
    def reads_own(self) -> bool:
        """Whether agents read the output of their own sessions alone."""
        return self.agents_read == "own"

    def limits_for(self, kind: Kind) -> Limits:
        return self.limits.get(kind, NO_LIMITS)


def load_settings(environment: Mapping[str, str] | None = None, home: Home | None = None) -> Settings:
    """Settings from config.toml, with LAMPLIGHTER_<NAME> over it. A wrong value is an error that names it."""
    env = os.environ if environment is None else environment
    home = home or find_home(env)
    chosen: dict[str, Any] = _from_file(home.config)
    for name in _READERS:
        value = env.get(f"LAMPLIGHTER_{name.upper()}")
        if name not in _TABLES and value is not None:
            chosen[name] = value
    return Settings(home=home, **{name: _checked(name, value) for name, value in chosen.items()})


def _from_file(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(Code.BAD_INPUT, f"{path} cannot be read: {error}", "mend or move the file") from None


def _checked(name: str, value: Any) -> Any:
    reader = _READERS.get(name)
    if reader is None:
        raise InputError(Code.BAD_INPUT, f"there is no setting {name!r}", f"there are {', '.join(sorted(_READERS))}")
    return reader(name, value)


def _duration(name: str, value: Any) -> float:
    return parse_duration(value, name)


def _choice(*choices: str) -> Callable[[str, Any], str]:
    def read(name: str, value: Any) -> str:
        if value not in choices:
            raise InputError(Code.BAD_INPUT, f"{name} is {value!r}", f"it can be {' or '.join(choices)}")
        return value

    return read


def _number(convert: Callable[[Any], float], least: float) -> Callable[[str, Any], float]:
    def read(name: str, value: Any) -> float:
        try:
            number = convert(value)
        except (TypeError, ValueError):
            number = least - 1
        if number < least:
            raise InputError(Code.BAD_INPUT, f"{name} is {value!r}", f"give a number of at least {least}")
        return number

    return read


def _port(name: str, value: Any) -> int | None:
    """0 for any that is free; None, written off, for no listening at all."""
    text = str(value).strip().lower()
    if text == "off":
        return None
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise InputError(Code.BAD_INPUT, f"{name} is {value!r}", "give a port from 1 to 65535, 0 for any, or off")
    return int(text)


def _folders(name: str, value: Any) -> tuple[str, ...]:
    """A list of folders; in the environment with colons between them."""
    given = [each for each in value.split(":") if each] if isinstance(value, str) else value
    folders = cast("list[Any]", given) if isinstance(given, list) else [None]
    found = [os.path.expanduser(each) if isinstance(each, str) else "" for each in folders]
    if not all(os.path.isabs(each) and "\0" not in each for each in found):
        raise InputError(
            Code.BAD_INPUT, f"{name} is {value!r}", f'give a list of folders, each in full: {name} = ["/home/me/notes"]'
        )
    return tuple(os.path.normpath(each) for each in found)


def _limits(name: str, value: Any) -> dict[Kind, Limits]:
    """A table for each kind: [limits.cron] with idle_limit, max_age and max_memory."""
    kinds = [kind.value for kind in Kind]
    if not isinstance(value, dict) or not all(
        isinstance(table, dict) for table in cast("dict[str, Any]", value).values()
    ):
        raise InputError(
            Code.BAD_INPUT, f"{name} is no table of kinds", 'write [limits.cron] and below it max_age = "2h"'
        )
    found: dict[Kind, Limits] = {}
    for kind, table in cast("dict[str, dict[str, Any]]", value).items():
        unknown = [key for key in table if key not in _LIMITS]
        if kind not in kinds or unknown:
            wrong = f"{kind}.{unknown[0]}" if kind in kinds else kind
            raise InputError(
                Code.BAD_INPUT,
                f"there is no limit {wrong!r}",
                f"kinds are {', '.join(kinds)}, each with {', '.join(_LIMITS)}",
            )
        given = [str(table[key]) if key in table else None for key in _LIMITS]
        found[Kind(kind)] = choose(NO_LIMITS, *given)
    return found


def _agents(name: str, value: Any) -> dict[str, AgentCommand]:
    """A table for each agent: [agents.claude] with command, session and model, each a list of words."""
    hint = 'write [agents.claude] and below it command = ["claude", "-p", "{task}"]'
    if not isinstance(value, dict):
        raise InputError(Code.BAD_INPUT, f"{name} is no table of agents", hint)
    found: dict[str, AgentCommand] = {}
    for agent, table in cast("dict[str, Any]", value).items():
        words = cast("dict[str, Any]", table) if isinstance(table, dict) else {}
        wrong = next((key for key, given in words.items() if key not in _WORDS or not _is_words(given)), None)
        if wrong is not None or not words.get("command"):
            problem = f"{agent}.{wrong} is no list of words" if wrong else f"{agent} has no command"
            raise InputError(
                Code.BAD_INPUT, f"{name}: {problem}", f"each may have {', '.join(_WORDS)}, lists of words; {hint}"
            )
        found[agent] = written(agent, *(tuple(words.get(key, ())) for key in _WORDS))
    return found


def _is_words(given: Any) -> bool:
    words = cast("list[Any]", given) if isinstance(given, list) else []
    return bool(words) and all(isinstance(word, str) for word in words)


_WORDS = ("command", "session", "model")
_TABLES = ("limits", "agents")
_LIMITS = ("idle_limit", "max_age", "max_memory")
_SMALLEST_LOG = 65536
_READERS: dict[str, Callable[[str, Any], Any]] = {
    "cgroup": _choice("auto", "off"),
    "log_limit": _number(int, _SMALLEST_LOG),
    "log_segment": _number(int, _SMALLEST_LOG),
    "keep_days": _number(float, 0),
    "keep_bytes": _number(int, 0),
    "grace": _duration,
    "ask": _duration,
    "quiet": _duration,
    "stall": _duration,
    "spin": _duration,
    "patrol": lambda name, value: positive_duration(value, name),
    "warning": _duration,
    "orphan_grace": _duration,
    "lease": lambda name, value: positive_duration(value, name),
    "sessions_per_owner": _number(int, 1),
    "http_port": _port,
    "boot_folders": _folders,
    "agents_read": _choice("all", "own"),
    "limits": _limits,
    "agents": _agents,
}
assert set(_READERS) == {each.name for each in fields(Settings)} - {"home"}
