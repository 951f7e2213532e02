"""Makes a daemon die by KILL at a chosen step: before or after the n-th write to the store, message to a holder or word to tmux;
or, while it opens the store, before or after it moves, makes or removes a file.

Python imports this by its name when the folder is on PYTHONPATH. The number is in the home's file `die-at`, which is taken
away by the death, so that the next daemon lives. The daemon itself knows nothing of it.
"""

import os
import signal
import sys
from typing import Any

if "lamplighter.daemon" in sys.orig_argv:
    from lamplighter.engine.backends.tmux.server import TmuxServer
    from lamplighter.engine.core.holder_client import HolderClient
    from lamplighter.store import files, losses, open_store
    from lamplighter.store.database import Database
    from lamplighter.store.open_store import Opening

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

    class Mortal:
        """A module of which these functions are steps, as long as the store is being opened."""

        opening = False

        def __init__(self, module: Any, *names: str) -> None:
            self.module = module
            self.names = names

        def __getattr__(self, name: str) -> Any:
            original = getattr(self.module, name)
            if name not in self.names or not Mortal.opening:
                return original

            def around(*args: Any, **kwargs: Any) -> Any:
                step(f"before {name} {args[:1]}")
                result = original(*args, **kwargs)
                step(f"after {name}")
                return result

            return around

    def opens(self: Any, make_room: Any, original: Any = Opening.open) -> Any:
        Mortal.opening = True
        try:
            return original(self, make_room)
        finally:
            Mortal.opening = False

    Opening.open = opens
    files.os = Mortal(os, "rename", "makedirs", "rmdir", "fsync", "unlink")
    open_store.losses = Mortal(losses, "begin_epoch", "note")
    mortal(Database, "write")
    mortal(HolderClient, "ask")
    mortal(TmuxServer, "run")
