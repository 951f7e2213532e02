"""The keeper plays through a shim's life before it forks any: what Python writes into code and caches when it is first used is
then written once, in memory that all shims share, and not again in each of a thousand. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket

from lamplighter.holder import places, proc
from lamplighter.holder.cgroup import Cgroup
from lamplighter.holder.files import write_file
from lamplighter.holder.shim import Shim
from lamplighter.holder.shim_factory import from_descriptor, open_streams
from lamplighter.holder.tree import Tree
from lamplighter.holder.wire import Channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROUNDS = 12  # after eight calls or so Python has settled how it runs a piece of code


def rehearse(run: str) -> None:
    """Sessions without processes, in a folder of their own, which goes again."""
    folder = f"{run}/rehearsal"
    with contextlib.suppress(OSError):
        _remove(folder)  # of one that was killed meanwhile
    for number in range(_ROUNDS):
        os.makedirs(folder)
        _play(folder, run, "terminal" if number % 2 else "headless")
        _remove(folder)


def _remove(folder: str) -> None:
    """With all that a rehearsal leaves in it. Without `shutil`, which brings what Python knows of compression into every shim."""
    for place, _, files in os.walk(folder, topdown=False):
        for name in files:
            os.unlink(f"{place}/{name}")
        os.rmdir(place)


def _play(folder: str, run: str, driver: str) -> None:
    spec: dict[str, Any] = {
        "session": "rehearsal", "command": "", "driver": driver, "rows": 24, "cols": 80, "keep_children": False, "bound": False,
        "grace": 1.0, "folder": folder, "socket": f"{folder}/sock", "run": run, "state": folder,
        "log_limit": 1 << 20, "log_segment": 1 << 18,
    }  # fmt: skip
    spec = json.loads(json.dumps(spec))
    ours, theirs = open_streams(spec)
    near, far = socket.socketpair()
    listener = places.listen(spec["socket"])
    cgroup = Cgroup.make(f"{folder}/cgroup")  # a plain folder here: the same calls
    if cgroup is not None:
        os.close(cgroup.open())
        cgroup.remove()
    me = os.getpid()
    shim = Shim(spec, ours, listener, Tree("rehearsal", None), (me, proc.start_of(me) or 0), None)
    daemon = Channel(from_descriptor(near.detach()))
    daemon.send_json({**shim.hello(), "event": "started"})
    shim.controllers.append(daemon)
    for _ in range(3):
        os.write(theirs[1], b"a line of output\n")
        shim.rehearse()
    write_file(f"{folder}/birth.json", b"{}")
    shim.log.close()
    for descriptor in {signal.set_wakeup_fd(-1), shim.wake, *shim.streams.open.values(), *theirs}:
        os.close(descriptor)
    for sock in (daemon.sock, far, listener):
        sock.close()
