"""One frozen Settings: environment before file before default. Read once, at start; nothing else reads the environment."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lamplighter.domain.duration import parse_duration
from lamplighter.errors import Code, InputError
from lamplighter.home import Home, find_home


@dataclass(frozen=True, slots=True)
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

    def session_folder(self, session: str) -> Path:
        return Path(self.home.session_folder(session))


_DURATIONS = frozenset({"grace", "ask", "quiet"})


def load_settings(environment: Mapping[str, str] | None = None, home: Home | None = None) -> Settings:
    """Settings from config.toml, with LAMPLIGHTER_<NAME> over it. A wrong value is an error that names it."""
    env = os.environ if environment is None else environment
    home = home or find_home(env)
    chosen: dict[str, Any] = _from_file(home.config)
    for field in fields(Settings):
        value = env.get(f"LAMPLIGHTER_{field.name.upper()}")
        if field.name != "home" and value is not None:
            chosen[field.name] = value
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
    known = {field.name: field.type for field in fields(Settings)}
    if name not in known or name == "home":
        raise InputError(Code.BAD_INPUT, f"there is no setting {name!r}", f"there are {', '.join(sorted(known))}")
    if name in _DURATIONS:
        return parse_duration(value, name)
    if name == "cgroup":
        if value not in ("auto", "off"):
            raise InputError(Code.BAD_INPUT, f"cgroup is {value!r}", "it can be auto or off")
        return value
    try:
        number = float(value) if name == "keep_days" else int(value)
    except (TypeError, ValueError):
        number = -1
    if number < (65536 if name.startswith("log_") else 0):
        raise InputError(
            Code.BAD_INPUT, f"{name} is {value!r}", "give a number: bytes, or days; logs of at least 65536 bytes"
        )
    return number
