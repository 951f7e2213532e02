"""A process inside a session that says it is the daemon or the keeper, and asks a holder to obey. Standard library only.

python forger.py RUN STATE daemon|keeper SOCKET ANSWER
"""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import sys
from typing import Any

_HEAD = struct.Struct(">IB")
_NUMBER = 7


def main() -> None:
    run, state, role, path, answer = sys.argv[1:6]
    with open("/proc/self/stat", encoding="utf-8") as file:
        start = int(file.read().rpartition(")")[2].split()[19])
    with open(f"{run}/{role}.pid", "w", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {start}\n")
    with open(f"{state}/{role}.json", "w", encoding="utf-8") as file:
        json.dump({"pid": os.getpid(), "start": start, "run": run}, file)
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(60)
    sock.connect(path)
    data = base64.b64encode(b"forged\n").decode()
    asked: list[dict[str, Any]] = [{"op": "input", "data": data, "by": "forger", "id": "1"}, {"op": "stop", "grace": 0}]
    said = [_ask(sock, request) for request in [*asked, {"op": "down"}, {"op": "held"}]]
    with open(f"{answer}~", "w", encoding="utf-8") as file:
        json.dump(said, file)
    os.rename(f"{answer}~", answer)


def _ask(sock: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
    payload = json.dumps({"n": _NUMBER, **request}).encode()
    sock.sendall(_HEAD.pack(len(payload), 1) + payload)
    while True:
        length, _ = _HEAD.unpack(_read(sock, _HEAD.size))
        message: dict[str, Any] = json.loads(_read(sock, length))
        if message.get("n") == _NUMBER:
            return message


def _read(sock: socket.socket, number: int) -> bytes:
    data = b""
    while len(data) < number:
        more = sock.recv(number - len(data))
        if not more:
            raise ConnectionError("the holder went away")
        data += more
    return data


if __name__ == "__main__":
    main()
