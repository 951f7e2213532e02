"""The keeper: one small process that forks the shims, holds a duplicate of each session's terminal or pipes, adopts what a
lost shim leaves, and starts the daemon. It outlives the daemon and upgrades itself by exec in place.

Standard library only. Knows nothing of the store.
"""

from __future__ import annotations

import binascii
import contextlib
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time

from lamplighter.holder import cgroup, credentials, identity, places, proc, repair
from lamplighter.holder.daemonkeeper import DaemonKeeper
from lamplighter.holder.exempt import SPARED
from lamplighter.holder.faults import tell_fault
from lamplighter.holder.prctl import become_subreaper, set_name
from lamplighter.holder.rehearsal import rehearse
from lamplighter.holder.shim_factory import Held, ShimFactory
from lamplighter.holder.strays import Strays
from lamplighter.holder.wakeup import drain, listen_for_children, wake_pipe
from lamplighter.holder.wire import JSON, WIRE, Channel, WireError, parse_json, peer_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PAUSE_SECONDS = 0.05


class Keeper:
    def __init__(
        self, run: str, state: str, lock: int, listener: int, daemon: DaemonKeeper, saved: dict[str, Any] | None = None
    ) -> None:
        self.lock = lock
        self.run = run
        self.state = state
        self.limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        if saved is not None:
            self.limit = (saved["limit"], self.limit[1])
        base = f"lamplighter-{binascii.crc32(run.encode()):08x}"
        self.cgroup = None if os.environ.get("LAMPLIGHTER_CGROUP") == "off" else cgroup.make_base(base)
        self.shim_factory = ShimFactory(self.limit, self.cgroup)
        self.code = code_version()
        self.reaper = os.getppid()  # whoever adopts what loses both its shim and this keeper
        self.daemon = daemon
        self.strays = Strays(self.shim_factory, self.daemon)
        self.channels: list[Channel] = []
        self.peers: dict[Channel, int] = {}
        self.listener = socket.socket(fileno=listener)
        self.path = str(self.listener.getsockname()).removesuffix("~")
        self.inode = places.inode(self.path)
        self.wake = wake_pipe()
        self.leaving = False
        if saved is not None:
            self._restore(saved)
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.limit[1], self.limit[1]))

    # -- the loop

    def serve(self) -> None:
        self.listener.setblocking(False)
        self._reap()  # what died before anybody listened
        while self.shim_factory.held or self.daemon.alive or not (self.leaving or self.daemon.hopeless):
            self.channels = [channel for channel in self.channels if channel.fileno() >= 0]
            poll = select.poll()
            for source in (
                self.wake,
                self.listener,
                *self.channels,
                *self.shim_factory.watched(),
                *self.daemon.watched(),
            ):
                waiting = isinstance(source, Channel) and source.pending
                poll.register(source, select.POLLIN | (select.POLLOUT if waiting else 0))
            for descriptor, event in poll.poll(self.daemon.timeout()):
                try:
                    self._handle(descriptor, event)
                except Exception:  # the keeper holds every session: it notes its own faults and goes on
                    tell_fault()
            self.daemon.proceed()

    def _handle(self, descriptor: int, event: int) -> None:
        if descriptor == self.wake:
            signals = drain(self.wake)
            self._reap()  # first: a repair fails where sockets cannot be, and nobody is told of a death twice
            if places.REMAKE in signals:
                self.repair()
        elif descriptor == self.listener.fileno():
            self._accept()
        elif descriptor in self.daemon.watched():
            self.daemon.hear(descriptor)
        elif descriptor in self.shim_factory.watched():
            lost = self.shim_factory.vanished(descriptor)
            if lost:
                self._lost(lost)
        else:
            self._handle_channel(descriptor, event)

    def _handle_channel(self, descriptor: int, event: int) -> None:
        channel = next((channel for channel in self.channels if channel.fileno() == descriptor), None)
        if channel is None:
            return
        if event & select.POLLOUT and not channel.flush():
            self._drop(channel)
            return
        try:
            frames = channel.read() if event & (select.POLLIN | select.POLLHUP | select.POLLERR) else []
            for kind, payload in frames or ():
                if kind == JSON:
                    self._obey(channel, parse_json(payload))
        except WireError:
            frames = None
        if frames is None:
            self._drop(channel)

    def _accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except (
            OSError
        ):  # no descriptor is left, which passes; without a pause it would be tried, and noted, all the time
            time.sleep(_PAUSE_SECONDS)
            return
        pid, uid = peer_of(sock)
        if uid not in (0, os.getuid()):
            sock.close()
            return
        channel = Channel(sock)
        self.channels.append(channel)
        self.peers[channel] = pid
        channel.send_json(
            {
                "event": "hello",
                "wire": WIRE,
                "pid": os.getpid(),
                "code": self.code,
                "cgroup": self.cgroup,
                "reaper": self.reaper,
                "leaving": self.leaving,
            }
        )

    def _drop(self, channel: Channel) -> None:
        channel.close()
        if channel in self.channels:
            self.channels.remove(channel)
        self.peers.pop(channel, None)
        self.shim_factory.forget_channel(channel)
        self.daemon.forget(channel)

    # -- what it is asked

    def _obey(self, channel: Channel, request: dict[str, Any]) -> None:
        operation = str(request.get("op"))
        peer = self.peers.get(channel, 0)
        channel.trusted = channel.trusted or self.daemon.is_daemon(peer)
        trusted = channel.trusted or channel in self.shim_factory.shim_channels()
        if operation == "eof":
            held = self.shim_factory.held.get(str(request.get("session")))
            trusted = held is not None and held.shim == peer
        handler = getattr(self, f"_do_{operation}", None)
        if handler is None:
            self._answer(
                channel, request, error={"code": "UNSUPPORTED", "message": f"this keeper does not know {operation}"}
            )
        elif operation != "daemon" and not trusted:
            # Its door is open to the daemon alone; anybody may ask that there be a daemon.
            self._answer(channel, request, error={"code": "FORBIDDEN", "message": "only the daemon may ask the keeper"})
        else:
            try:
                handler(channel, request)
            except Exception as error:  # whoever asked waits for an answer, whatever went wrong
                tell_fault()
                self._answer(channel, request, error={"code": "INTERNAL", "message": f"{operation}: {error!r}"})

    def _answer(self, channel: Channel, request: dict[str, Any], **answer: Any) -> None:
        if not channel.send_json({"n": request.get("n"), **answer}):
            self._drop(channel)

    def _do_daemon(self, channel: Channel, request: dict[str, Any]) -> None:
        """See that there is a daemon; answered when it listens."""
        self.leaving = False
        self.daemon.want(channel, request)

    def _do_spawn(self, channel: Channel, request: dict[str, Any]) -> None:
        """Fork a shim for a session; its control socket comes back with the answer. The same session only ever once.
        With a pane of tmux, its descriptors come along."""
        spec = request["spec"]
        pane = dict(zip(request.get("names", ()), channel.take(request), strict=True))
        try:
            if spec["session"] in self.shim_factory.held:
                raise FileExistsError("it is held already")
            theirs = self.shim_factory.spawn(spec, pane)
        except OSError as error:
            for descriptor in pane.values():
                os.close(descriptor)
            if not isinstance(error, FileExistsError):
                raise
            self._answer(channel, request, error={"code": "EXISTS", "message": "it was born already"})
            return
        self._send_descriptor(channel, {"n": request["n"], "ok": {}}, theirs)

    def _send_descriptor(self, channel: Channel, message: dict[str, Any], sock: socket.socket) -> None:
        if not channel.send_json(message, [sock.detach()]):
            self._drop(channel)

    def _do_hold(self, channel: Channel, request: dict[str, Any]) -> None:
        """Hold duplicates for a session whose shim another keeper forked."""
        descriptors = channel.take(request)
        self.shim_factory.hold(
            request["spec"],
            tuple(request["shim"]),
            tuple(request["main"]),
            dict(zip(request["names"], descriptors, strict=True)),
        )
        self._answer(channel, request, ok={})

    def _do_eof(self, channel: Channel, request: dict[str, Any]) -> None:
        """From a shim: its session's input has ended."""
        self.shim_factory.close_input(request["session"])
        self._drop(channel)

    def _do_held(self, channel: Channel, request: dict[str, Any]) -> None:
        """Which sessions it holds, and whose shim was lost."""
        self._answer(
            channel, request, ok={"held": {name: held.document() for name, held in self.shim_factory.held.items()}}
        )

    def _do_strays(self, channel: Channel, request: dict[str, Any]) -> None:
        """From a shim that took over: which of the keeper's own children belong to its session."""
        roots = self.strays.of(request["session"])
        channel.send_json({"event": "strays", "roots": [list(root) for root in roots]})

    def _do_whose(self, channel: Channel, request: dict[str, Any]) -> None:
        """Which session a process belongs to that is now a child of the keeper. `chain` are the pids from the caller up to it:
        with a shim among them that is the keeper's own, nothing has to be found out."""
        held = self.shim_factory.holding(request.get("chain", ()))
        found = {held.session} if held else self.strays.whose(request["pid"], request["start"])
        self._answer(channel, request, ok={"sessions": sorted(found)})

    def _do_down(self, channel: Channel, request: dict[str, Any]) -> None:
        """The daemon is about to stop, and is not to be started again. Without sessions the keeper goes too."""
        self.daemon.rest()
        self.leaving = True
        self._answer(channel, request, ok={})

    def _do_repair(self, channel: Channel, request: dict[str, Any]) -> None:
        """Sockets or folders were taken away: what was made again."""
        self._answer(channel, request, ok={"remade": self.repair()})

    def repair(self) -> list[str]:
        """Make again what somebody took away: the folders, its socket, its lock and records, and the shims' sockets."""
        remade = repair.remake_records(self.run, self.daemon.pid)
        if self.inode is None or places.inode(self.path) != self.inode:
            listener, self.path = places.listen_in(self.run, self.state, "keeper.sock")
            self.inode = places.inode(self.path)
            self.listener.close()
            self.listener = listener
            self.listener.setblocking(False)
            places.record(os.path.dirname(self.path), self.state, "keeper", os.getpid())
            remade.append(self.path)
        if not identity.is_locked_by(self.lock, credentials.lock_path(self.state, "keeper")):
            lock = identity.take_lock(credentials.lock_path(self.state, "keeper"))
            if lock is not None:
                os.close(self.lock)
                self.lock = lock
                remade.append("the keeper's lock")
        for held in self.shim_factory.held.values():
            start = proc.start_of(held.shim)
            if start is not None and not os.path.exists(held.spec["socket"]):
                places.nudge(held.shim, start)
        return remade

    def _do_upgrade(self, channel: Channel, request: dict[str, Any]) -> None:
        """Become a newer keeper in place: descriptors, children and the subreaper flag survive an exec."""
        self._answer(channel, request, ok={})
        saved = {
            "lock": self.lock,
            "limit": self.limit[0],
            "listener": self.listener.fileno(),
            "held": [held.saved() for held in self.shim_factory.held.values()],
            "daemon": self.daemon.saved(),
            "strays": self.strays.saved(),
        }
        memory = os.memfd_create("lamplighter-keeper", 0)
        os.write(memory, json.dumps(saved).encode())
        for descriptor in (
            memory,
            self.lock,
            self.listener.fileno(),
            *self.shim_factory.descriptors(),
            *self.daemon.descriptors(),
        ):
            os.set_inheritable(descriptor, True)
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.limit[1], self.limit[1]))
        signal.signal(places.REMAKE, signal.SIG_IGN)  # what is ignored stays so until the new one listens for it
        command = [*request["command"], self.run, self.state, "saved", str(memory)]
        os.execve(command[0], command, request["environment"])

    def _restore(self, saved: dict[str, Any]) -> None:
        for document in saved["held"]:
            self.shim_factory.restore(document)
        self.daemon.restore(saved["daemon"])
        self.strays.restore(saved["strays"])
        for channel in self.shim_factory.shim_channels():
            self.channels.append(channel)

    # -- deaths

    def _reap(self) -> None:
        """All that died, first; then what that means: two shims that went together are told apart as well as can be."""
        gone: list[tuple[int, int]] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            gone.append((pid, status))
        lost: list[Held] = []
        for pid, status in gone:
            if self.daemon.died(pid):
                continue
            if pid == self.shim_factory.template.pid:
                self.shim_factory.template.forget()
            held = self.shim_factory.by_shim(pid)
            if held is None:
                self.shim_factory.remember(pid, status)
                self._pass_on(pid, status)
            elif status == 0:
                self.shim_factory.drop(held.session)
            else:
                lost.append(held)
        if lost:
            self._lost(lost)

    def _pass_on(self, pid: int, status: int) -> None:
        """A child of a lost shim: its session's new shim is told how it went."""
        for session in self.strays.reaped(pid):
            held = self.shim_factory.held.get(session)
            if held is not None and held.channel is not None:
                held.channel.send_json({"event": "reaped", "pid": pid, "status": status})

    def _lost(self, lost: list[Held]) -> None:
        self.strays.attribute([held.session for held in lost])
        children = [held.watch is None for held in lost]
        for held in lost:
            self.shim_factory.take_over(held, self.strays.of(held.session))
            if held.channel is not None:
                self.channels.append(held.channel)
        for channel, pid in list(self.peers.items()):
            if channel.trusted or self.daemon.is_daemon(pid):
                for held, child in zip(lost, children, strict=True):
                    channel.send_json({"event": "lost", "session": held.session, "child": child})


def code_version() -> str:
    """A fingerprint of the holder's code as it is on disk now; another one means that an upgrade is due."""
    digest = 0
    folder = os.path.dirname(__file__)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(f"{folder}/{name}", "rb") as file:
                digest = binascii.crc32(file.read(), digest)
    return f"{digest:08x}"


def _read_saved(memory: int) -> dict[str, Any]:
    os.lseek(memory, 0, os.SEEK_SET)
    with open(memory, "rb") as file:
        return json.loads(file.read())


def main() -> None:
    """Arguments: the run folder, the state folder, and descriptors: `given`, the socket to listen on and the lock, and `daemon`
    where one is about to be asked for; or `saved`, what an older keeper that became this one has written down."""
    run, state, how, *descriptors = sys.argv[1:]
    saved = _read_saved(int(descriptors[0])) if how == "saved" else None
    listener, lock = (saved["listener"], saved["lock"]) if saved else map(int, descriptors[:2])
    os.set_inheritable(listener, False)
    os.set_inheritable(lock, False)
    # Whoever connects is told by the kernel who has listened last: the keeper itself, and not whoever started it.
    socket.socket(fileno=os.dup(listener)).listen(512)
    if not identity.is_locked_by(
        lock, credentials.lock_path(state, "keeper")
    ):  # an older keeper's, which became this one
        newer = identity.take_lock(credentials.lock_path(state, "keeper"))
        lock = lock if newer is None else newer
    os.chdir("/")
    os.umask(0o077)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    become_subreaper()
    set_name("lamp-keeper")
    listen_for_children()
    daemon = DaemonKeeper(run, state)
    if "daemon" in descriptors:
        daemon.begin()  # it comes up while this one rehearses
    rehearse(run)
    daemon.settle()
    keeper = Keeper(run, state, lock, listener, daemon, saved)
    repair.remake_records(run, keeper.daemon.pid)
    places.record(os.path.dirname(keeper.path), state, "keeper", os.getpid())
    gc.collect()
    gc.freeze()
    gc.disable()
    keeper.serve()
    with contextlib.suppress(OSError):
        os.unlink(keeper.path)
    places.forget(state, "keeper")
    if keeper.cgroup is not None:
        from lamplighter.holder.memory import remove_base  # most keepers never need it before

        remove_base(keeper.cgroup)
        for folder in (f"{keeper.cgroup}/{SPARED}", keeper.cgroup):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


if __name__ == "__main__":
    main()
