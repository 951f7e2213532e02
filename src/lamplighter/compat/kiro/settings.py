"""The settings of kiro-cli-mcp, read from the environment of the client as that server reads its own.

Knows their names and what they mean here; those that are about its pool and its log have nothing to set and are not read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from lamplighter.compat.kiro.model import IDLE_SECONDS, MOST_SESSIONS, MOST_TASKS
from lamplighter.errors import Code, InputError
from lamplighter.lazy_dataclass import dataclass

PREFIX = "KIRO_MCP_"


@dataclass(frozen=True)
class KiroSettings:
    """Without a model or an agent Kiro takes its own. 0 sessions: as many as are wanted; 0 seconds for a command: no limit."""

    cli_path: str = "kiro-cli"
    default_model: str | None = None
    default_agent: str | None = None
    working_directory: str | None = None
    max_sessions: int = MOST_SESSIONS
    max_async_tasks: int = MOST_TASKS
    session_timeout: float = IDLE_SECONDS
    command_timeout: float = 0.0


def kiro_settings(environment: Mapping[str, str]) -> KiroSettings:
    """BAD_INPUT names a variable that is no number: another value in its place would be a guess. An empty one is not set."""
    usual = KiroSettings()

    def text(name: str) -> str | None:
        return environment.get(f"{PREFIX}{name}", "").strip() or None

    def number(name: str, otherwise: float, least: float) -> float:
        said = text(name)
        if said is None:
            return otherwise
        try:
            value = float(said)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < least:
            raise _unfit(name, said)
        return value

    timeout = number("SESSION_TIMEOUT", usual.session_timeout, 0.0)
    if timeout == 0.0:
        raise _unfit("SESSION_TIMEOUT", "0")
    return KiroSettings(
        cli_path=text("CLI_PATH") or usual.cli_path,
        default_model=text("DEFAULT_MODEL"),
        default_agent=text("DEFAULT_AGENT"),
        working_directory=text("WORKING_DIRECTORY"),
        max_sessions=int(number("MAX_SESSIONS", usual.max_sessions, 0.0)),
        max_async_tasks=int(number("MAX_ASYNC_TASKS", usual.max_async_tasks, 1.0)),
        session_timeout=timeout,
        command_timeout=number("COMMAND_TIMEOUT", usual.command_timeout, 0.0),
    )


def _unfit(name: str, said: str) -> InputError:
    return InputError(
        Code.BAD_INPUT,
        f"{PREFIX}{name} is {said[:40]!a}, which is no number that it can be",
        "set it to a number, or unset it, where the client starts this server; nothing was done",
    )
