"""Makes the ending of some sessions fail inside the daemon: by name, those called `stumble` with an error that a person is
told, those called `fall` with a fault of our own.

Python imports this by its name when the folder is on PYTHONPATH. The daemon itself knows nothing of it.
"""

import sys

if "lamplighter.daemon" in sys.orig_argv:
    from lamplighter.engine.end.ender import Ender
    from lamplighter.errors import Code, UnavailableError

    original = Ender.end

    async def end(self, session, caller, reason, *steps, **options):
        if reason.startswith("cleanup") and session.name == "stumble":
            raise UnavailableError(Code.HOLDER_UNREACHABLE, "it stumbles", "help it up")
        if reason.startswith("cleanup") and session.name == "fall":
            raise RuntimeError("it falls")
        return await original(self, session, caller, reason, *steps, **options)

    Ender.end = end
