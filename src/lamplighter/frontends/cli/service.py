"""Whether there is a daemon, and whether there may be sessions without one. Starts nothing."""

from __future__ import annotations

import os

from lamplighter.home import Home


def is_running(home: Home) -> bool:
    from lamplighter.holder.boot import connect_any

    found = connect_any(home.run, home.state)
    if found is not None:
        found.close()
    return found is not None


def may_have_sessions(home: Home) -> bool:
    """Without a daemon, `down --all` must not look as if it had ended what runs: then one is started to end it."""
    from lamplighter.holder.places import runs

    for run in runs(home.run, home.state):
        try:
            if os.listdir(f"{run}/s"):
                return True
        except OSError:
            continue
    return _has_shims(home)


def _has_shims(home: Home) -> bool:
    """Whether a shim of this home lives, whose socket was taken away."""
    from lamplighter.holder import proc

    found = (stat for stat in proc.scan().values() if stat.name == b"lamp-shim")
    return any(home.state in proc.words_of(stat.pid) for stat in found)
