"""An MCP server that does not go: deaf to TERM, HUP and INT, and to the end of its input. For tests only.

    python stubborn_server.py NAME

Standard library only. Offers one tool, `poke`. NAME is there to be seen in its command line. Ends by itself after ten
minutes, so that a failed test leaves nothing for ever.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

_LIFETIME = 600
_TOOL: dict[str, Any] = {"name": "poke", "description": "Poke it.", "inputSchema": {"type": "object", "properties": {}}}


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.alarm(_LIFETIME)
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        if "id" in message and "method" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": _result(message)}), flush=True)
    while True:
        signal.pause()


def _result(message: dict[str, Any]) -> dict[str, Any]:
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stubborn", "version": "1"},
        }
    if message["method"] == "tools/list":
        return {"tools": [_TOOL]}
    if message["method"] == "tools/call":
        return {"content": [{"type": "text", "text": "ouch"}]}
    return {}


if __name__ == "__main__":
    main()
