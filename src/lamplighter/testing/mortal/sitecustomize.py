"""Makes a daemon die by KILL at a chosen step: before or after the n-th write to the store, message to a holder or word to tmux.

Python imports this by its name when the folder is on PYTHONPATH. The number is in the home's file `die-at`, which is taken
away by the death, so that the next daemon lives. The daemon itself knows nothing of it.
"""

import os
import signal
import sys
from typing import Any

if "lamplighter.daemon" in sys.orig_argv:
    from lamplighter.drivers.tmux_server import Server
    from lamplighter.line import Line
    from lamplighter.store.database import Database

    FILE = os.path.join(os.environ["LAMPLIGHTER_HOME"], "die-at")

    def step(what: str) -> None:
        try:
            with open(FILE) as file:
                left = int(file.read())
        except (FileNotFoundError, ValueError):
            return
        if left <= 1:
            os.unlink(FILE)
            print(f"dies at {what}", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        with open(FILE, "w") as file:
            file.write(str(left - 1))

    def mortal(owner: type, name: str) -> None:
        original = getattr(owner, name)

        async def around(self: Any, *args: Any, **kwargs: Any) -> Any:
            step(f"before {name} {args[:1]}")
            result = await original(self, *args, **kwargs)
            step(f"after {name}")
            return result

        setattr(owner, name, around)

    mortal(Database, "write")
    mortal(Line, "ask")
    mortal(Server, "run")
