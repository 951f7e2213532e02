"""Where shims come from: forked with their terminal or pipes, of which the keeper holds a duplicate; and forked again, on that
duplicate, when one is lost. Standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import pty
import signal
import socket
import traceback
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from lamplighter.holder import identity, proc
from lamplighter.holder.birth import BirthError, give_birth, set_size
from lamplighter.holder.cgroup import Cgroup
from lamplighter.holder.files import read_json, write_file
from lamplighter.holder.prctl import become_subreaper
from lamplighter.holder.shim import Shim
from lamplighter.holder.tree import MARK, Tree
from lamplighter.holder.wire import Channel

_MOST_TAKEOVERS = 5
_RECENT = 4096


@dataclass
class Held:
    """A session as the keeper knows it."""

    session: str
    spec: dict[str, Any]
    shim: tuple[int, int]
    streams: dict[str, int]
    main: tuple[int, int] = (0, 0)
    lost: int = 0
    watch: int | None = None  # a pidfd, for a shim that is no child of this keeper
    channel: Channel | None = field(default=None, repr=False)

    def document(self) -> dict[str, Any]:
        return {"shim": list(self.shim), "lost": self.lost}

    def saved(self) -> dict[str, Any]:
        return {
            "spec": self.spec,
            "shim": self.shim,
            "streams": self.streams,
            "main": self.main,
            "lost": self.lost,
            "child": self.watch is None,
            "channel": self.channel.fileno() if self.channel else None,
        }


class Nursery:
    def __init__(self, limit: tuple[int, int], cgroup: str | None) -> None:
        self.limit = limit
        self.cgroup = cgroup
        self.held: dict[str, Held] = {}
        self.recent: OrderedDict[int, int] = OrderedDict()

    # -- a new session

    def spawn(self, spec: dict[str, Any]) -> tuple[Held, socket.socket]:
        """Fork a shim, which forks the command. The socket that comes back speaks to the shim."""
        ours, theirs = open_streams(spec)
        shim_end, daemon_end = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            _in_child(lambda: self._be_shim(spec, ours, theirs, shim_end), [*ours.values(), *theirs, shim_end.fileno()])
        shim_end.close()
        for descriptor in set(theirs):
            os.close(descriptor)
        kept = {name: value for name, value in spec.items() if name not in ("env", "argv")}
        if "stdin" in ours:
            os.close(ours.pop("stdin"))  # the command must see the end of its input when the shim closes it
        held = Held(spec["session"], kept, (pid, proc.start_of(pid) or 0), ours)
        self.held[held.session] = held
        return held, daemon_end

    def _be_shim(
        self, spec: dict[str, Any], ours: dict[str, int], theirs: tuple[int, int, int], sock: socket.socket
    ) -> int:
        channel = Channel(sock)
        birth = f"{spec['folder']}/birth.json"
        me = [os.getpid(), proc.start_of(os.getpid())]
        try:
            # The one place that lets a session be born, and only once, whoever asks and however often.
            descriptor = os.open(birth, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            channel.send_json({"event": "failed", "stage": "birth", "errno": error.errno})
            return 0
        os.write(descriptor, json.dumps({"shim": me, "main": None}).encode())
        os.close(descriptor)
        listener = identity.listen(spec["socket"])
        cgroup = Cgroup.make(f"{self.cgroup}/{spec['session']}") if self.cgroup else None
        try:
            procs = cgroup.open_procs() if cgroup else None
            pid = give_birth(spec, theirs, procs, self.limit)
        except (BirthError, OSError) as error:
            if cgroup is not None:
                cgroup.remove()
            os.unlink(spec["socket"])
            os.unlink(birth)
            stage = error.stage if isinstance(error, BirthError) else "cgroup"
            number = error.number if isinstance(error, BirthError) else error.errno
            channel.send_json({"event": "failed", "stage": stage, "errno": number})
            return 0
        main = (pid, proc.start_of(pid) or 0)
        for descriptor in {*theirs, *([procs] if procs is not None else [])}:
            os.close(descriptor)
        write_file(birth, json.dumps({"shim": me, "main": main}).encode())
        shim = Shim({**spec, "env": {}, "argv": []}, ours, listener, Tree(spec["session"], cgroup), main, None)
        channel.send_json({**shim.hello(), "event": "started"})
        shim.controllers.append(channel)
        shim.run()
        return 0

    # -- a lost shim

    def take_over(self, held: Held, roots: set[tuple[int, int]]) -> None:
        """Fork a new shim on the duplicates. It is nobody's ancestor, so what it proves is less."""
        held.lost += 1
        if held.watch is not None:
            os.close(held.watch)
            held.watch = None
        if held.lost > _MOST_TAKEOVERS:
            return
        birth = read_json(f"{held.spec['folder']}/birth.json") or {}
        held.main = tuple(birth.get("main") or held.main)  # type: ignore[assignment]
        if held.main == (0, 0) and len(roots) == 1:
            held.main = next(iter(roots))
        if held.channel is not None:
            held.channel.close()
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            _in_child(lambda: self._be_substitute(held, roots, theirs), [*held.streams.values(), theirs.fileno()])
        theirs.close()
        held.channel = Channel(ours)
        held.shim = (pid, proc.start_of(pid) or 0)

    def _be_substitute(self, held: Held, roots: set[tuple[int, int]], sock: socket.socket) -> int:
        spec = {**held.spec, "bound": False}
        listener = identity.listen(spec["socket"])
        folder = f"{self.cgroup}/{spec['session']}" if self.cgroup else None
        cgroup = Cgroup(folder) if folder and os.path.isdir(folder) else None
        tree = Tree(spec["session"], cgroup, _terminal_number(held.streams.get("terminal")))
        tree.adopted = True
        tree.roots = set(roots) | ({held.main} if held.main[0] else set())
        write_file(
            f"{spec['folder']}/birth.json",
            json.dumps(
                {"shim": [os.getpid(), proc.start_of(os.getpid())], "main": held.main, "lost": held.lost}
            ).encode(),
        )
        shim = Shim(spec, dict(held.streams), listener, tree, held.main, Channel(sock))
        if held.main[0] in self.recent:
            shim.exit = dict(proc.exit_of(self.recent[held.main[0]]))
        elif not proc.is_alive(*held.main):
            shim.exit = {"code": None}
        shim.run()
        return 0

    def hold(self, spec: dict[str, Any], shim: tuple[int, int], main: tuple[int, int], streams: dict[str, int]) -> None:
        """Hold duplicates for a session whose shim another keeper forked; its loss is seen through a pidfd."""
        self.drop(spec["session"])
        held = Held(spec["session"], spec, shim, streams, main)
        held.watch = os.pidfd_open(shim[0])
        self.held[held.session] = held

    # -- looking after them

    def watched(self) -> list[int]:
        return [held.watch for held in self.held.values() if held.watch is not None]

    def vanished(self, watch: int) -> list[Held]:
        """The shim behind this pidfd is gone: the sessions that it leaves without one."""
        held = next(held for held in self.held.values() if held.watch == watch)
        if os.path.exists(f"{held.spec['folder']}/exit.json"):
            self.drop(held.session)
            return []
        return [held]

    def by_shim(self, pid: int) -> Held | None:
        return next((held for held in self.held.values() if held.shim[0] == pid), None)

    def remember(self, pid: int, status: int) -> None:
        """A status that may turn out to be a session's, once it is known whose child it was."""
        self.recent[pid] = status
        while len(self.recent) > _RECENT:
            self.recent.popitem(last=False)

    def drop(self, session: str) -> None:
        held = self.held.pop(session, None)
        if held is None:
            return
        for descriptor in (*held.streams.values(), *([held.watch] if held.watch is not None else [])):
            os.close(descriptor)
        if held.channel is not None:
            held.channel.close()

    def shim_channels(self) -> list[Channel]:
        return [held.channel for held in self.held.values() if held.channel is not None]

    def forget_channel(self, channel: Channel) -> None:
        for held in self.held.values():
            if held.channel is channel:
                held.channel = None

    def descriptors(self) -> list[int]:
        """What must survive an exec."""
        found = [descriptor for held in self.held.values() for descriptor in held.streams.values()]
        return found + [channel.fileno() for channel in self.shim_channels()]

    def restore(self, saved: dict[str, Any]) -> None:
        """After an exec in place."""
        held = Held(
            saved["spec"]["session"],
            saved["spec"],
            tuple(saved["shim"]),
            saved["streams"],
            tuple(saved["main"]),
            saved["lost"],
        )
        if not saved["child"]:
            held.watch = os.pidfd_open(held.shim[0])
        if saved["channel"] is not None:
            held.channel = Channel(socket.socket(fileno=saved["channel"]))
        self.held[held.session] = held
        for descriptor in (*held.streams.values(), *([saved["channel"]] if saved["channel"] is not None else [])):
            os.set_inheritable(descriptor, False)


def open_streams(spec: dict[str, Any]) -> tuple[dict[str, int], tuple[int, int, int]]:
    """The shim's ends by name, and the command's standard input, output and error."""
    if spec["driver"] == "terminal":
        master, slave = pty.openpty()
        set_size(master, spec["rows"], spec["cols"])
        os.set_blocking(master, False)
        return {"terminal": master}, (slave, slave, slave)
    pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(3)]
    ours = {"stdin": pipes[0][1], "stdout": pipes[1][0], "stderr": pipes[2][0]}
    for descriptor in ours.values():
        os.set_blocking(descriptor, False)
    with contextlib.suppress(OSError):
        for descriptor in (ours["stdout"], ours["stderr"]):
            fcntl.fcntl(descriptor, 1031, 1 << 18)  # F_SETPIPE_SZ: fewer wake-ups for one that prints much
    return ours, (pipes[0][0], pipes[1][1], pipes[2][1])


def _terminal_number(master: int | None) -> int:
    """The terminal as /proc's stat files number it."""
    if master is None:
        return 0
    with contextlib.suppress(OSError):
        device = os.stat(os.ptsname(master) if hasattr(os, "ptsname") else _ptsname(master)).st_rdev
        major, minor = os.major(device), os.minor(device)
        return (minor & 0xFF) | (major << 8) | ((minor & ~0xFF) << 12)
    return 0


def _ptsname(master: int) -> str:
    number = fcntl.ioctl(master, 0x80045430, b"\0\0\0\0")  # TIOCGPTN
    return f"/dev/pts/{int.from_bytes(number, 'little')}"


def _in_child(be: Any, keep: list[int]) -> None:
    """In a fresh fork: let go of all that is the keeper's or another session's, and be what is asked. Never returns."""
    status = 70
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        become_subreaper("lamp-shim")
        bounds = [2, *sorted(set(keep)), 1 << 20]
        for before, after in itertools.pairwise(bounds):
            os.closerange(before + 1, after)
        status = be()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


__all__ = ["MARK", "Held", "Nursery", "open_streams"]
