"""The end of a session, written down by its shim: the last output, the certificate, the exit file. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import time

from lamplighter.holder.files import write_reserved
from lamplighter.holder.pane import part
from lamplighter.holder.repair import make_room
from lamplighter.holder.segments import EXIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lamplighter.holder.shim import Shim


def bury(shim: Shim) -> bool:
    """True once it is on disk, so that no end is lost to a full one; False when it has to be tried again."""
    if not part(shim):
        return False
    shim.read_all()
    if _more_to_read(shim):
        return False
    document: dict[str, Any] = {
        "session": shim.spec["session"],
        "ended_at": time.time(),
        "exit": shim.exit,
        "why": _why(shim),
        "ladder": shim.dying.ladder,
        "certificate": shim.tree.certificate(shim.guarantee()),
        "offset": shim.log.offset,
        "usage": _usage(),
    }
    if not shim.dying.written:
        shim.log.append(EXIT, 0, json.dumps({"exit": shim.exit}).encode(), document["ended_at"])
        shim.dying.written = True
    if not _write(shim, document) and not shim.recorded:
        if shim.unwritten is None:
            # What cannot be written can still be said: whoever hears it writes it down, and tells us.
            shim.unwritten = document
            shim.announce({"event": "unwritten", "document": document})
        shim.dying.try_later()
        return False
    shim.log.close()
    if shim.memory is not None:
        shim.memory.remove()
    if shim.tree.cgroup is not None:
        shim.tree.cgroup.remove()
    shim.listener.close()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(shim.spec["socket"])
    ended: dict[str, Any] = {"event": "ended", "exit": shim.exit, "certificate": document["certificate"]}
    shim.announce(ended)
    shim.subscribers.tell(ended)
    shim.subscribers.linger()
    return True


def _write(shim: Shim, document: dict[str, Any]) -> bool:
    """Also when somebody took the folder away meanwhile."""
    file, data = f"{shim.spec['folder']}/exit.json", json.dumps(document).encode()
    if write_reserved(file, data):
        return True
    make_room(shim.spec["folder"])
    return write_reserved(file, data)


def _usage() -> dict[str, Any]:
    """What all that it reaped has used: seconds of CPU, and the bytes of the largest of them. One that took over from a lost
    shim knows only of what it saw itself."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"cpu": round(used.ru_utime + used.ru_stime, 3), "memory": used.ru_maxrss * 1024}


def _why(shim: Shim) -> str | None:
    """What ended it without anybody's asking, where that is known."""
    if shim.dying.why is None and shim.memory is not None and shim.memory.kills():
        return shim.memory.why
    return shim.dying.why


def _more_to_read(shim: Shim) -> bool:
    """Whether a stream has data right now; a pipe that some outsider holds open is not waited for."""
    poll = select.poll()
    for descriptor in shim.streams.outputs:
        poll.register(descriptor, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll(0))
