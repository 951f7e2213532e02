"""A port for an engine that must have one of its own, and the same one again after a restart. For tests only."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_LOWEST = 10_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """One that nobody has, from below those that the kernel gives to connections: one of these may be somebody's a moment
    later, as while a daemon is killed and comes back."""
    above = int(_RANGE.read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(_LOWEST, max(above, _LOWEST + 1000))
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:  # it has one already
            continue
        return port
