"""The environment of kiro-cli-mcp: what is taken from it, and what is no number."""

from __future__ import annotations

import pytest

from lamplighter.compat.kiro.settings import KiroSettings, kiro_settings
from lamplighter.errors import LampError


def test_nothing_set_is_as_usual() -> None:
    assert (
        kiro_settings({}) == kiro_settings({"KIRO_MCP_MAX_SESSIONS": " ", "KIRO_MCP_POOL_SIZE": "x"}) == KiroSettings()
    )


def test_what_is_set_counts() -> None:
    said = {
        "MAX_SESSIONS": "0",
        "COMMAND_TIMEOUT": "30.5",
        "SESSION_TIMEOUT": "5",
        "MAX_ASYNC_TASKS": "3",
        "CLI_PATH": "k",
    }
    found = kiro_settings({f"KIRO_MCP_{name}": value for name, value in said.items()})
    assert found == KiroSettings(
        cli_path="k", max_sessions=0, command_timeout=30.5, session_timeout=5.0, max_async_tasks=3
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_SESSIONS", "ten"),
        ("MAX_SESSIONS", "-1"),
        ("SESSION_TIMEOUT", "0"),
        ("COMMAND_TIMEOUT", "nan"),
        ("MAX_ASYNC_TASKS", "0"),
    ],
)
def test_what_is_no_number_is_named(name: str, value: str) -> None:
    with pytest.raises(LampError, match=f"KIRO_MCP_{name}"):
        kiro_settings({f"KIRO_MCP_{name}": value})
