"""`lamp mcp --print-config`: what it prints is what each client takes, and starts a bridge."""

from __future__ import annotations

import json
import subprocess
import tomllib
from typing import Any

import pytest

from lamplighter.agents import names_with
from lamplighter.frontends.cli.installer.agent_config import setup_of
from lamplighter.slices import slice_names
from tests.support.engine import Engine

pytestmark = pytest.mark.shared


def servers(client: str, text: str) -> dict[str, Any]:
    if client == "codex":
        return tomllib.loads(text)["mcp_servers"]
    return json.loads(text)[{"vscode": "servers", "opencode": "mcp"}.get(client, "mcpServers")]


@pytest.mark.parametrize("client", names_with("setup"))
@pytest.mark.parametrize("tools", ["core", *slice_names()[-1:]])
def test_what_it_prints_starts_a_bridge(lit: Engine, client: str, tools: str) -> None:
    printed = lit.cli("mcp", "--tools", tools, "--print-config", client)
    assert (printed.returncode, printed.stderr) == (0, f"goes into {setup_of(client).place}\n"), (
        "and what is to be pasted stands alone"
    )
    ((name, server),) = servers(client, printed.stdout).items()
    assert name == ("lamplighter" if tools == "core" else f"lamplighter-{tools}")
    assert server["environment" if client == "opencode" else "env"] == {"LAMPLIGHTER_HOME": str(lit.folder)}
    asked = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    command = server["command"] if client == "opencode" else [server["command"], *server["args"]]
    ran = subprocess.run(
        command, input=asked, env=lit.environment, capture_output=True, text=True, timeout=200, check=True
    )
    assert json.loads(ran.stdout)["id"] == 1


@pytest.mark.alone
def test_a_client_that_is_not_known(lit: Engine) -> None:
    ran = lit.cli("mcp", "--print-config", "emacs")
    assert ran.returncode == 2
    assert "claude" in ran.stderr
