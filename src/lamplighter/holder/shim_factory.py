"""Where shims come from: forked with their terminal or pipes, of which the keeper holds a duplicate; and forked again, on that
duplicate, when one is lost. Standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import socket
import time

from lamplighter.holder import proc
from lamplighter.holder.birth import Birth, BirthError, set_size
from lamplighter.holder.cgroup import Cgroup
from lamplighter.holder.files import read_json, reserve_file, write_file
from lamplighter.holder.places import listen_in
from lamplighter.holder.repair import make_room
from lamplighter.holder.shim import Shim
from lamplighter.holder.tree import Tree
from lamplighter.holder.wire import Channel, pack_json
from lamplighter.holder.zygote import Zygote, become

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from lamplighter.holder.memory import MemoryLimit

_MOST_IN_A_ROW = 8
_A_ROW_SECONDS = 2.0
_TAKE_BACK_SECONDS = 10.0
_LEAST_DESCRIPTORS = 24
_RECENT = 4096


class Held:
    """A session as the keeper knows it. `shim` is a child, so its pid stays its own until it is waited for; `lost` counts
    its shims that went before their time."""

    def __init__(
        self, spec: dict[str, Any], shim: int, streams: dict[str, int], main: tuple[int, int] = (0, 0)
    ) -> None:
        self.session: str = spec["session"]
        self.spec = spec
        self.shim = shim
        self.streams = streams
        self.main = main
        self.lost = 0
        self.lost_at = 0.0
        self.in_a_row = 0
        self.watch: int | None = None  # a pidfd, for a shim that is no child of this keeper
        self.channel: Channel | None = None

    def document(self) -> dict[str, Any]:
        given_up = self.in_a_row > _MOST_IN_A_ROW
        return {"shim": [self.shim, proc.start_of(self.shim)], "lost": self.lost, "given_up": given_up}

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


class ShimFactory:
    def __init__(self, limit: tuple[int, int], cgroup: str | None) -> None:
        self.limit = limit
        self.cgroup = cgroup
        self.held: dict[str, Held] = {}
        self.template = Zygote(self._be_shim, _play_the_beginning)
        self.recent: dict[int, int] = {}

    # -- a new session

    def spawn(self, spec: dict[str, Any], pane: dict[str, int] | None = None) -> socket.socket:
        """Fork a shim, which forks the command. The socket that comes back speaks to the shim. FileExistsError when this
        session was born before: the one place that lets it be, and only once, whoever asks and however often. A pane of tmux
        was made by others: what belongs to it is given."""
        self.template.want()
        birth = f"{spec['folder']}/birth.json"
        born = os.open(birth, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        # By whoever has it open, until it is written: nobody else can tell a birth under way.
        fcntl.flock(born, fcntl.LOCK_EX)
        if not os.fstat(born).st_nlink:
            os.close(born)  # taken for one that came to nothing, just before it was locked
            raise OSError(f"{birth} was taken away")
        try:
            listener, spec["socket"] = listen_in(spec["run"], spec["state"], f"s/{spec['session']}.sock")
        except OSError:
            os.unlink(birth)  # nothing was born
            os.close(born)
            raise
        ours, theirs = hold_pane(pane) if pane else open_streams(spec)
        shim_end, daemon_end = socket.socketpair()
        given = [born, listener.fileno(), shim_end.fileno(), *ours.values(), *dict.fromkeys(theirs)]
        try:
            pid = self.template.fork(json.dumps({"spec": spec, "ours": list(ours)}).encode(), given)
        finally:
            listener.close()
            shim_end.close()
            for descriptor in {born, *theirs}:
                os.close(descriptor)
        held = Held(spec, pid, ours)
        self.held[held.session] = held
        return daemon_end

    def _be_shim(self, message: bytes, given: list[int], over: Callable[[], None]) -> int:
        """In the shim's own process."""
        told: dict[str, Any] = json.loads(message)
        spec: dict[str, Any] = told["spec"]
        born, listener, daemon = given[0], from_descriptor(given[1]), Channel(from_descriptor(given[2]))
        ours = dict(zip(told["ours"], given[3:], strict=False))
        theirs = given[3 + len(ours) :]
        theirs = theirs if len(theirs) == 3 else theirs * 3  # a terminal is all three
        wanted = self.cgroup and spec.get("cgroup", True)
        cgroup = Cgroup.make(f"{self.cgroup}/{spec['session']}") if wanted else None
        memory = self._limit_memory(spec, cgroup)
        spec["enter"] = memory.folder if memory else None
        birth: Birth | None = None
        try:
            _see_to_descriptors(born)
            folder = cgroup.open() if cgroup else None
            birth = Birth(spec, (theirs[0], theirs[1], theirs[2]), folder, self.limit, born)
            for descriptor in {*theirs, *([folder] if folder is not None else [])}:
                os.close(descriptor)
            # All that can be done before is done while the kernel loads the program: there are two processors, mostly.
            main = (birth.pid, proc.start_of(birth.pid) or 0)
            shim = Shim(spec, ours, listener, Tree(spec["session"], cgroup), main, None)
            shim.limit_memory(memory)
            reserve_file(f"{spec['folder']}/exit.json")
            started, document = pack_json({**shim.hello(), "event": "started"}), shim.birth()
            birth.confirm()
        except (BirthError, OSError) as error:
            if birth is not None and not isinstance(error, BirthError):
                _take_back(birth, Tree(spec["session"], cgroup), list(ours.values()))
            if memory is not None:
                memory.remove()
            if cgroup is not None:
                cgroup.remove()
            for file in (spec["socket"], f"{spec['folder']}/birth.json"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(file)
            stage = error.stage if isinstance(error, BirthError) else "holder"
            number = error.number if isinstance(error, BirthError) else error.errno
            daemon.send_json({"event": "failed", "stage": stage, "errno": number})
            return 0
        os.write(born, document)
        os.close(born)
        daemon.send(started)
        over()
        shim.controllers.append(daemon)
        shim.run()
        return 0

    def _limit_memory(self, spec: dict[str, Any], cgroup: Cgroup | None) -> MemoryLimit | None:
        """Few sessions have one: what it needs is imported in their shims alone."""
        if not spec.get("max_memory") or not spec.get("cgroup", True):
            return None
        from lamplighter.holder.memory import MemoryLimit

        return MemoryLimit.make(spec, cgroup, self.cgroup)

    # -- a lost shim

    def take_over(self, held: Held, roots: set[tuple[int, int]]) -> None:
        """Fork a new shim on the duplicates. It is nobody's ancestor, so what it proves is less."""
        held.lost += 1
        if held.watch is not None:
            os.close(held.watch)
            held.watch = None
        now = time.monotonic()
        held.in_a_row = held.in_a_row + 1 if now - held.lost_at < _A_ROW_SECONDS else 1
        held.lost_at = now
        if held.in_a_row > _MOST_IN_A_ROW:
            return  # shims of it die as soon as they are made: more of them would not help
        birth = read_json(f"{held.spec['folder']}/birth.json") or {}
        held.main = tuple(birth.get("main") or held.main)  # type: ignore[assignment]
        if held.main == (0, 0) and len(roots) == 1:
            held.main = next(iter(roots))
        if held.channel is not None:
            held.channel.close()
        ours, theirs = socket.socketpair()
        listener, held.spec["socket"] = listen_in(held.spec["run"], held.spec["state"], f"s/{held.session}.sock")
        pid = os.fork()
        if pid == 0:
            kept = [*held.streams.values(), theirs.fileno(), listener.fileno()]
            become(lambda: self._be_substitute(held, roots, listener, Channel(theirs)), kept)
        listener.close()
        theirs.close()
        held.channel = Channel(ours)
        held.shim = pid

    def _be_substitute(self, held: Held, roots: set[tuple[int, int]], listener: socket.socket, keeper: Channel) -> int:
        spec: dict[str, Any] = {**held.spec, "bound": False}
        make_room(spec["folder"])
        folder = f"{self.cgroup}/{spec['session']}" if self.cgroup else None
        cgroup = Cgroup(folder) if folder and os.path.isdir(folder) else None
        streams = dict(held.streams)
        tree = Tree(spec["session"], cgroup, lambda: _terminal_number(streams), state=spec["state"])
        tree.adopted = True
        tree.roots = set(roots) | ({held.main} if held.main[0] else set())
        shim = Shim(spec, streams, listener, tree, held.main, keeper)  # which takes out of them what it closes
        shim.limit_memory(self._limit_memory(spec, cgroup))
        shim.lost = held.lost
        write_file(f"{spec['folder']}/birth.json", shim.birth())
        if held.main[0] in self.recent:
            shim.exit = dict(proc.exit_of(self.recent[held.main[0]]))
        elif not proc.is_alive(*held.main):
            shim.exit = {"code": None}
        shim.run()
        return 0

    def hold(self, spec: dict[str, Any], shim: tuple[int, int], main: tuple[int, int], streams: dict[str, int]) -> None:
        """Hold duplicates for a session whose shim another keeper forked; its loss is seen through a pidfd."""
        self.drop(spec["session"])
        held = Held(spec, shim[0], streams, main)
        held.watch = os.pidfd_open(shim[0])
        self.held[held.session] = held

    # -- looking after them

    def close_input(self, session: str) -> None:
        """The shim has closed the command's input: it sees the end of it once the duplicate is closed too."""
        descriptor = self.held[session].streams.pop("stdin", None)
        if descriptor is not None:
            os.close(descriptor)

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
        return next((held for held in self.held.values() if held.shim == pid), None)

    def holding(self, pids: Collection[int]) -> Held | None:
        """The session of a shim that is one of these and a child, so that no other process can have got its pid."""
        return next((held for held in self.held.values() if held.shim in pids and held.watch is None), None)

    def remember(self, pid: int, status: int) -> None:
        """A status that may turn out to be a session's, once it is known whose child it was."""
        self.recent[pid] = status
        while len(self.recent) > _RECENT:
            del self.recent[next(iter(self.recent))]

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
        held = Held(saved["spec"], saved["shim"], saved["streams"], tuple(saved["main"]))
        held.lost = saved["lost"]
        if not saved["child"]:
            held.watch = os.pidfd_open(held.shim)
        if saved["channel"] is not None:
            held.channel = Channel(socket.socket(fileno=saved["channel"]))
        self.held[held.session] = held
        for descriptor in (*held.streams.values(), *([saved["channel"]] if saved["channel"] is not None else [])):
            os.set_inheritable(descriptor, False)


def from_descriptor(descriptor: int) -> socket.socket:
    """A socket of ours that came as a number; nothing has to be found out about it."""
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptor)


def _play_the_beginning() -> None:
    """What a shim does first, while nobody waits for it: the memory that this writes to is its own from then on."""
    near, far = socket.socketpair()
    told: dict[str, Any] = json.loads('{"spec": {"session": "", "rows": 24, "bound": false}, "ours": ["terminal"]}')
    dict(zip(told["ours"], (far.fileno(),), strict=False))
    for sock in (near, far):
        Channel(from_descriptor(sock.detach())).close()


def _see_to_descriptors(any_open: int) -> None:
    """OSError when a shim would have too few: found out before the command is forked, as one that cannot even read its own
    start time would be taken for lost, and its command be started again."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    spare: list[int] = []
    try:
        for _ in range(_LEAST_DESCRIPTORS):
            spare.append(os.dup(any_open))
    finally:
        for descriptor in spare:
            os.close(descriptor)


def _take_back(birth: Birth, tree: Tree, streams: list[int]) -> None:
    """A command that was forked and cannot be held, as when there is no descriptor left, ends before its start counts as one
    that never was: it would run a second time otherwise. Its streams are let go first, as a look at it needs descriptors too."""
    os.kill(birth.pid, signal.SIGKILL)
    for descriptor in streams:
        os.close(descriptor)
    deadline = time.monotonic() + _TAKE_BACK_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            tree.kill()
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.005)  # the kernel's time to take them away


def open_streams(spec: dict[str, Any]) -> tuple[dict[str, int], tuple[int, int, int]]:
    """The shim's ends by name, and the command's standard input, output and error."""
    if spec["driver"] == "terminal":
        master, slave = os.openpty()
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


def hold_pane(pane: dict[str, int]) -> tuple[dict[str, int], tuple[int, int, int]]:
    """The same for a pane of tmux, whose terminal is there already."""
    os.set_blocking(pane["output"], False)
    terminal = os.dup(pane["pane"])
    return pane, (terminal, terminal, terminal)


def _terminal_number(streams: dict[str, int]) -> int:
    """The terminal as /proc's stat files number it; 0 when there is none."""
    if "terminal" not in streams and "pane" not in streams:
        return 0
    with contextlib.suppress(OSError):
        found = os.stat(_ptsname(streams["terminal"])) if "terminal" in streams else os.fstat(streams["pane"])
        device = found.st_rdev
        major, minor = os.major(device), os.minor(device)
        return (minor & 0xFF) | (major << 8) | ((minor & ~0xFF) << 12)
    return 0


def _ptsname(master: int) -> str:
    number = fcntl.ioctl(master, 0x80045430, b"\0\0\0\0")  # TIOCGPTN
    return f"/dev/pts/{int.from_bytes(number, 'little')}"
