"""A scripted agent program under any agent's name: it writes down how it was started, and answers nothing. For tests only.

Its record is a line of JSON in the file that RECORD names: the words, the folder, what it was given on standard input, and which
agents' marks it found. On a terminal it stays, writes down each line that is typed, and leaves at /exit. Standard library only.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

MARKS = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID", "GEMINI_CLI", "OPENCODE_PID")


def install(folder: Path, *names: str) -> str:
    """Put it into a folder under these names; the PATH that finds them there first."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        program = folder / name
        program.write_text(f"#!{sys.executable} -IS\n{Path(__file__).read_text()}")
        program.chmod(0o755)
    return f"{folder}:/usr/local/bin:/usr/bin:/bin"


def main() -> None:
    stays = sys.stdin.isatty()
    _note(
        {
            "program": os.path.basename(sys.argv[0]),
            "words": sys.argv[1:],
            "folder": os.getcwd(),
            "input": None if stays else sys.stdin.buffer.read().decode(),
            "marks": [name for name in MARKS if name in os.environ],
            "handoff": os.environ.get("LAMPLIGHTER_HANDOFF"),
        }
    )
    print("ready", flush=True)
    for line in sys.stdin if stays else ():
        if line.strip() == "/exit":
            return
        _note({"typed": line.rstrip("\n")})


def _note(record: dict[str, object]) -> None:
    data = json.dumps(record).encode() + b"\n"
    descriptor = os.open(os.environ["RECORD"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)


if __name__ == "__main__":
    main()
