"""The MCP Inspector's command line: schemas that every client can use, over `lamp mcp` and over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lamplighter.frontends.mcp.toolsets import TOOLSETS, load

if TYPE_CHECKING:
    from conftest import Reach


def inspect(reach: Reach, way: str, tools: str, era: str, *arguments: str) -> tuple[dict[str, Any], str]:
    """What it found, and what it remarked on."""
    options = ("--protocol-era", era, "--format", "json", *arguments)
    if way == "stdio":
        given = [word for name, value in reach.passed_on.items() for word in ("-e", f"{name}={value}")]
        done = reach.node("mcp-inspector", "--cli", *given, *options, "--", *reach.command(tools))
    else:
        header = f"Authorization: Bearer {reach.token}"
        done = reach.node(
            "mcp-inspector", "--cli", reach.url(tools), "--transport", "http", *options, "--header", header
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout), done.stderr


# A process each, so the core goes both ways and the others one; the SDK's client takes all of them everywhere.
LISTED = [("core", "stdio", "legacy"), *((tools, "http", "modern") for tools in TOOLSETS)]


@pytest.mark.parametrize(("tools", "way", "era"), LISTED)
def test_every_schema_is_portable(reach: Reach, tools: str, way: str, era: str) -> None:
    listed, remarks = inspect(reach, way, tools, era, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in found_in(listed)["tools"]] == [tool.name for tool in load(tools).tools]
    assert not remarks.strip()


@pytest.mark.parametrize(("way", "era"), [("stdio", "modern"), ("http", "legacy")])
def test_a_tool_is_called(reach: Reach, way: str, era: str) -> None:
    call = ("--method", "tools/call", "--tool-name", "list_sessions", "--tool-arg", "selection=state:running")
    result = found_in(inspect(reach, way, "core", era, *call)[0])
    assert result["structuredContent"]["sessions"] == []


def found_in(document: dict[str, Any]) -> dict[str, Any]:
    return document.get("result", document)
