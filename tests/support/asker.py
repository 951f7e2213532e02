"""A process inside a session that asks the daemon for something, in every disguise. Standard library only; for tests.

    python asker.py RUN_FOLDER ANSWER_FILE DISGUISE OPERATION JSON_ARGUMENTS [KEY]

Disguises: plain; setsid; scrubbed (an empty environment); double-fork; double-fork-scrubbed; waiting (double fork and
scrubbed, and asks only once the file ANSWER_FILE.go is there); gone (dies before it is answered).
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import uuid


def main() -> None:
    run, file, disguise, operation, arguments = sys.argv[1:6]
    key = sys.argv[6] if len(sys.argv) > 6 else uuid.uuid4().hex
    if disguise.startswith("double-fork") or disguise == "waiting":
        _double_fork()
    if disguise == "setsid":
        if os.fork():
            os._exit(0)
        os.setsid()
    if disguise in ("scrubbed", "double-fork-scrubbed", "waiting") and os.environ:
        now = "wait-now" if disguise == "waiting" else "plain"
        os.execve(sys.executable, [sys.executable, __file__, run, file, now, operation, arguments, key], {})
    if disguise == "wait-now":
        deadline = time.monotonic() + 120
        while not os.path.exists(f"{file}.go") and time.monotonic() < deadline:
            time.sleep(0.01)
    ask(run, operation, json.loads(arguments), key, file, gone=disguise == "gone")


def ask(
    run: str, operation: str, arguments: dict[str, object], key: str, file: str | None = None, gone: bool = False
) -> object:
    """The answer is kept before the line is closed: who ends its own session is ended from then on."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(f"{run}/daemon.sock")
        request = {"id": 1, "op": operation, "args": arguments, "key": key}
        sock.sendall(json.dumps(request).encode() + b"\n")
        if gone:
            os._exit(0)
        with sock.makefile("rb") as lines:
            answer = json.loads(lines.readline() or b"null")
        if file is not None:
            with open(f"{file}.draft", "w", encoding="utf-8") as draft:
                json.dump(answer, draft)
            os.rename(f"{file}.draft", file)
        return answer


def _double_fork() -> None:
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


if __name__ == "__main__":
    main()
