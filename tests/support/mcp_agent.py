"""An agent inside a session, as far as MCP sees one: it starts a bridge for each connection to its socket. For tests only.

    python mcp_agent.py SOCKET COMMAND...

Standard library only. The test is the model: what it writes to the socket goes to a bridge that is this process's child.
"""

from __future__ import annotations

import socket
import subprocess
import sys


def main() -> None:
    path, *command = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        children: list[subprocess.Popen[bytes]] = []
        while True:
            client, _ = listener.accept()
            with client:
                children.append(subprocess.Popen(command, stdin=client.fileno(), stdout=client.fileno()))
            children = [child for child in children if child.poll() is None]


if __name__ == "__main__":
    main()
