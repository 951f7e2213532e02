"""`lamp up --foreground`: a process that is there exactly as long as the daemon is wanted, as service managers like it.

The daemon itself cannot be that process: the keeper starts it, also again after a crash, and it is replaced when it is
upgraded. Knows sd_notify's datagram; knows nothing of units.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket

from lamplighter.frontends.cli.daemon_client import DaemonClient, connect, is_running, new_key
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.terminal.signals import Signals
from lamplighter.home import Home

_PATIENCE = 10.0


def stay(home: Home, output: CommandOutput) -> int:
    """Start the daemon if need be, and stay. TERM, INT or HUP stop it; so does whoever says `lamp down`."""
    with Signals(("TERM", "INT", "HUP")) as signals:
        while True:
            with connect(home) as sock:
                notify(f"READY=1\nSTATUS=the daemon answers on {home.daemon_socket}")
                told = _wait(sock, signals)
            if told:
                notify("STOPPING=1")
                _stop(home)
                output.note(f"lamp: stopped the daemon after {told}; sessions go on")
                return 0
            if not is_wanted(home):
                output.note("lamp: the daemon was told to go; sessions go on")
                return 0
            notify("STATUS=the daemon died and is started again")


def _wait(sock: socket.socket, signals: Signals) -> str:
    """The signal that came, or nothing when the daemon is gone. The daemon says nothing unasked, so no byte comes."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    poll.register(signals, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in poll.poll()]
        came = signals.take()
        if came:
            return came[0]
        if sock.fileno() in ready:
            return ""


def _stop(home: Home) -> None:
    if is_running(home):
        DaemonClient(home, start=False, patience=_PATIENCE).call("stop_daemon", {}, new_key())


def is_wanted(home: Home) -> bool:
    """Whether a daemon that is gone is to come back. A keeper says in its first words whether it was told that it is not; one
    that left in good order has taken its record away; one that was killed has not, and that is a crash like any other."""
    from lamplighter.holder.boot import living_keeper
    from lamplighter.holder.places import recorded

    sock = living_keeper(home.run, home.state)
    if sock is None:
        return recorded(home.state, "keeper") is not None or os.path.exists(home.keeper_socket)
    return not _first_words(sock).get("leaving", False)


def _first_words(sock: socket.socket) -> dict[str, object]:
    from lamplighter.holder.wire import JSON, Frames

    frames = Frames()
    with sock, contextlib.suppress(OSError):
        sock.settimeout(_PATIENCE)
        while data := sock.recv(65536):
            for kind, payload in frames.feed(data):
                if kind == JSON:
                    return json.loads(payload)
    return {}


def notify(message: str) -> None:
    """Tell the service manager, where there is one that asked."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock, contextlib.suppress(OSError):
        sock.connect(f"\0{path[1:]}" if path.startswith("@") else path)
        sock.send(message.encode())
