"""How this very `lamp` is called from elsewhere: by a service manager, by a shell."""

from __future__ import annotations

import os
import sys


def own_command() -> list[str]:
    """The words that start this lamp from anywhere: its absolute path, or its Python with the module.

    A link that pipx or uv made is kept as it is, since it stays when what it leads to is upgraded.
    """
    called = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.basename(called) == "lamp" and os.access(called, os.X_OK) and os.path.isfile(called):
        return [called]
    beside = os.path.join(os.path.dirname(sys.executable), "lamp")
    if os.access(beside, os.X_OK):
        return [beside]
    return [sys.executable, "-m", "lamplighter.frontends.cli.main"]
