"""The peer of the MCP measurements: the SDK's own server with one trivial tool. `python -m bench.mcp_echo [PORT [json]]`.

Over standard input and output, or over HTTP on the port: with event streams, or with plain bodies.
"""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("echo", log_level="ERROR")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]), json_response="json" in sys.argv)
    else:
        server.run("stdio")
