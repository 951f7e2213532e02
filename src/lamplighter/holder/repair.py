"""Making again what somebody took away from under a living holder: its folder, its files, its socket. Standard library only."""

from __future__ import annotations

import contextlib
import os

from lamplighter.holder import identity, places
from lamplighter.holder.files import write_file
from lamplighter.holder.meter import Meter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lamplighter.holder.shim import Shim


def remake_records(run: str, daemon: int | None) -> list[str]:
    """The folder of the sockets, and who keeper and daemon are, for shims that go by that. What was made again."""
    missing = not os.path.isdir(run)
    with contextlib.suppress(OSError):  # a folder that cannot be made again is done without
        for folder in (run, f"{run}/s", f"{run}/p"):
            places.make_folder(folder)
        identity.record(run, "keeper", os.getpid())
        if daemon is not None:
            identity.record(run, "daemon", daemon)
    return [run] if missing and os.path.isdir(run) else []


def make_room(folder: str) -> bool:
    """Have the session's folder be there, and be writable; what is in its place is moved aside. Whether it had to be made."""
    try:
        if not os.path.isdir(folder):
            if os.path.lexists(folder):
                os.rename(folder, f"{folder}.{os.getpid()}.aside")
            places.make_folder(os.path.dirname(folder))
            places.make_folder(folder)
            return True
        places.make_folder(folder)
    except OSError:
        return False
    return False


def repair(shim: Shim) -> list[str]:
    """What was made again of a session's folder and socket."""
    folder, remade = shim.spec["folder"], list[str]()
    if make_room(folder):
        remade.append(folder)
    if not os.path.exists(f"{folder}/birth.json") and write_file(f"{folder}/birth.json", shim.birth()):
        remade.append(f"{folder}/birth.json")
    with contextlib.suppress(OSError):
        if not os.path.exists(f"{folder}/meter"):
            shim.meter = _meter_like(shim.meter, f"{folder}/meter")
            remade.append(f"{folder}/meter")
    if shim.log.begin_again():
        remade.append(f"{folder}/log")
    if shim.inode is None or places.inode(shim.spec["socket"]) != shim.inode:
        with contextlib.suppress(OSError):
            _listen_again(shim)
            remade.append(shim.spec["socket"])
    return remade


def _listen_again(shim: Shim) -> None:
    spec = shim.spec
    listener, path = places.listen_in(spec["run"], spec["state"], f"s/{spec['session']}.sock")
    listener.setblocking(False)
    shim.listener.close()
    shim.listener, shim.inode, spec["socket"] = listener, places.inode(path), path


def _meter_like(old: Meter, path: str) -> Meter:
    new = Meter(path)
    for name in ("attached", "offset", "last_output", "last_input", "rows", "cols", "closed", "heard", "typed"):
        setattr(new, name, getattr(old, name))
    new.write()
    return new
