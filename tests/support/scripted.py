"""A scripted agent: its task says what it does. For tests only.

    python scripted.py [TASK]        without one the task is the first line of standard input

Words of a task: `leave` children behind that hide from their parent, `fail`, `hang`, `stay` and answer each line. A word that
begins with mark- is in the command line of all that it starts. Standard library only, and nothing of ours until it configures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.engine import Engine

LEAVE = (
    """setsid bash -c 'exec -a "$0" sleep 300' "$0" & nohup bash -c 'exec -a "$0" sleep 300' "$0" >/dev/null 2>&1 &"""
)
"""For bash, with the mark as its $0: two children, one in a session of its own, one that no hangup reaches."""


def configure(engine: Engine, **settings: str) -> None:
    """Tell the settings of two agents: `scripted` takes its task as a word, `piped` on its standard input."""
    words = json.dumps([sys.executable, __file__])
    told = json.dumps([sys.executable, __file__, "{task}"])
    lines = [f"{name} = {value}" for name, value in settings.items()]
    lines += [
        "[agents.scripted]",
        f"command = {told}",
        'model = ["-X", "{model}"]',
        "[agents.piped]",
        f"command = {words}",
    ]
    (engine.folder / "config.toml").write_text("\n".join(lines) + "\n")


def main() -> None:
    task = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.readline().strip()
    print("task:", task, flush=True)
    words = task.split()
    if "leave" in words:
        subprocess.run(["bash", "-c", LEAVE, next(word for word in words if word.startswith("mark-"))], check=True)
    if "fail" in words:
        print("it went wrong", file=sys.stderr, flush=True)
        sys.exit(3)
    if "hang" in words:
        time.sleep(600)
    if "stay" in words:
        for line in sys.stdin:
            print("you said", line.strip(), flush=True)


if __name__ == "__main__":
    main()
