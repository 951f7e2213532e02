"""The shim: one for each session, forked from the keeper. It owns the terminal or the pipes, writes the log, is the subreaper
of everything the session starts, and kills and reaps until the kernel says that nothing is left.

Standard library only. Speaks the wire upwards; knows nothing of the store or of who may do what.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import time
from collections import deque

from lamplighter.holder import credentials, identity, pane, places, proc
from lamplighter.holder.commands import Commands
from lamplighter.holder.exit_record import bury
from lamplighter.holder.faults import tell_fault
from lamplighter.holder.kill_ladder import KillLadder
from lamplighter.holder.log import LogWriter
from lamplighter.holder.meter import Meter
from lamplighter.holder.repair import repair
from lamplighter.holder.segments import INPUT, RESIZE
from lamplighter.holder.streams import Streams
from lamplighter.holder.subscribers import Listener, Subscribers
from lamplighter.holder.terminal_queries import TerminalQueries
from lamplighter.holder.tree import Tree
from lamplighter.holder.wakeup import drain, wake_pipe
from lamplighter.holder.wire import WIRE, Channel, WireError, peer_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lamplighter.holder.memory import MemoryLimit

_INPUT_QUEUE = 1 << 20
_UNCLAIMED_SECONDS = 60.0
_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR


class Shim:
    """Everything about one session that must not stop when the daemon does."""

    def __init__(
        self,
        spec: dict[str, Any],
        streams: dict[str, int],
        listener: socket.socket,
        tree: Tree,
        main: tuple[int, int],
        keeper: Channel | None,
    ) -> None:
        self.spec = spec
        self.streams = Streams(streams)
        self.listener = listener
        self.inode = places.inode(spec["socket"])
        self.lost = 0  # how many shims of this session went before this one
        self.unwritten: dict[str, Any] | None = None  # its end, as long as that is not on the disk
        self.recorded = False
        self.tree = tree
        self.tree.shared = spec.get("shared", ())
        self.main = main
        self.own = (os.getpid(), proc.start_of(os.getpid()) or 0)
        self.keeper = keeper  # only when this shim took over from a lost one
        self.exit: dict[str, Any] | None = None
        self.log = LogWriter(spec["folder"], spec["log_limit"], spec["log_segment"], fresh=not tree.adopted)
        self.meter = Meter(f"{spec['folder']}/meter")
        self.subscribers = Subscribers()
        self.orders = Commands(self)
        self.questions = TerminalQueries()
        self.controllers: list[Channel] = []
        self.armed: dict[Channel, int] = {}
        self.inputs: deque[str] = deque(maxlen=256)
        self.typed: deque[str] = deque(maxlen=256)  # of those, what tmux is known to have typed
        self.dying = KillLadder(tree, adopted=tree.adopted, keep_children=spec["keep_children"])
        self.claim_by = time.monotonic() + _UNCLAIMED_SECONDS if spec["bound"] else None
        self.wake = wake_pipe()
        self.memory: MemoryLimit | None = None
        self.memory_watch: int | None = None
        self.mark: pane.EndMark | None = None  # at the end of a session in a pane of tmux
        self.main_watch = os.pidfd_open(main[0]) if tree.adopted and proc.is_alive(*main) else None
        self.meter.offset = self.log.offset
        if not tree.adopted and "terminal" in streams:
            self.meter.rows, self.meter.cols = spec["rows"], spec["cols"]  # as the keeper made the terminal
            self.log.set_size(spec["rows"], spec["cols"])
        self.meter.write()
        pane.measure(self)

    def limit_memory(self, limit: MemoryLimit | None) -> None:
        self.memory = limit
        self.memory_watch = limit.watch() if limit else None

    # -- the loop

    def run(self) -> None:
        """Until nothing of the session is left and that is written down."""
        self.listener.setblocking(False)
        while not self._proceed():
            poll, outputs = self._poll()
            for descriptor, event in self._wait(poll, outputs):
                self._handle(descriptor, event)

    def rehearse(self) -> None:
        """One turn of the loop, without waiting."""
        self._proceed()
        poll, outputs = self._poll()
        for descriptor, event in poll.poll(0):
            if descriptor in outputs:
                self._handle(descriptor, event)

    def _wait(self, poll: select.poll, outputs: dict[int, str]) -> list[tuple[int, int]]:
        """Wait for something to happen. Output that nobody listens to is written down right here: it is what happens most."""
        while True:
            events = poll.poll(self._timeout())
            if self.subscribers.listeners or self.armed or len(events) != 1 or events[0][1] != select.POLLIN:
                return events
            name = outputs.get(events[0][0])
            if name is None or self.mark is not None:
                return events
            chunks, ended = self.streams.read(name)
            if chunks:
                self._take_output(chunks, 2 if name == "stderr" else 1)
            if ended or any(channel.pending for channel in self.controllers):
                return events

    def _proceed(self) -> bool:
        self._reap()
        if self.claim_by is not None and time.monotonic() >= self.claim_by:
            self.claim_by = None
            self._abandon("nobody came for it")
        before = self.dying.phase
        self.dying.proceed(self.exit is not None)
        if self.dying.phase != before:
            self.announce({"event": "phase", "phase": self.dying.phase, "exit": self.exit})
            if self.keeper is not None:
                self.send(self.keeper, {"op": "strays", "session": self.spec["session"]})
        if self.dying.phase == "survivors" and before != "survivors":
            self.announce({"event": "survivors", "certificate": self.tree.certificate(self.guarantee())})
        # What `lamp run` started waits for its client, so that not even the shortest command's output is missed.
        return self.dying.phase == "ended" and self.claim_by is None and bury(self)

    def _timeout(self) -> float | None:
        deadlines = [deadline for deadline in (self.dying.next_look, self.claim_by) if deadline is not None]
        return max(0.0, (min(deadlines) - time.monotonic()) * 1000 + 1) if deadlines else None

    def _poll(self) -> tuple[select.poll, dict[int, str]]:
        """What to wait for now, made anew, which keeps it right; and what of it is output."""
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        poll.register(self.listener, select.POLLIN)
        held = self.subscribers.holds_back or (self.spec["bound"] and self.claim_by is not None)
        outputs = {} if held else self.streams.outputs
        for descriptor in outputs:
            poll.register(descriptor, select.POLLIN)
        written = self.streams.input
        if self.streams.has_to_write and written is not None:
            poll.register(written, select.POLLOUT | (select.POLLIN if written in outputs else 0))
        for channel in [*self.controllers, *([self.keeper] if self.keeper else [])]:
            poll.register(channel, select.POLLIN | (select.POLLOUT if channel.pending else 0))
        # Somebody who types faster than the session reads has to wait, as at any pipe.
        heard = select.POLLIN if self.streams.queued < _INPUT_QUEUE else 0
        for listener in self.subscribers.listeners:
            poll.register(listener.channel, heard | (select.POLLOUT if listener.channel.pending else 0))
        if self.main_watch is not None:
            poll.register(self.main_watch, select.POLLIN)
        if self.streams.pane is not None:
            poll.register(self.streams.pane, 0)  # for its end alone
        if self.memory is not None and self.memory_watch is not None:
            poll.register(self.memory_watch, self.memory.events)
        return poll, outputs

    def _handle(self, descriptor: int, event: int) -> None:
        if descriptor == self.wake:
            if places.REMAKE in drain(self.wake):
                repair(self)
        elif descriptor == self.listener.fileno():
            self._accept()
        elif descriptor == self.main_watch:
            os.close(descriptor)
            self.main_watch = None
            # A status that nobody could wait for stays unknown; when the keeper reaped it, that word is on its way.
            self.take_exit(self.exit or {"code": None})
        elif descriptor == self.memory_watch:
            self._check_memory(descriptor)
        elif descriptor in self.streams.open.values():
            self._handle_stream(descriptor, event)
        else:
            self._handle_channel(descriptor, event)

    def _handle_stream(self, descriptor: int, event: int) -> None:
        name = next(name for name, value in self.streams.open.items() if value == descriptor)
        if event & select.POLLOUT:
            self.streams.flush()
        if name == "stdin":
            if event & (select.POLLHUP | select.POLLERR):
                self.streams.close("stdin")
        elif name == "pane":
            self._look_at_pane()
        elif event & _READABLE and name in self.streams.open:
            self._read(name)

    def _handle_channel(self, descriptor: int, event: int) -> None:
        for listener in self.subscribers.listeners:
            if listener.channel.fileno() == descriptor:
                self._handle_listener(listener, event)
                return
        for channel in [*self.controllers, *([self.keeper] if self.keeper else [])]:
            if channel.fileno() == descriptor:
                try:
                    self._handle_controller(channel, event)
                except Exception:  # whatever a peer sends, the session is held: note the fault and let the peer go
                    tell_fault()
                    self.drop(channel)
                return

    # -- output

    def _read(self, name: str) -> None:
        chunks, ended = self.streams.read(name)
        if self.mark is not None and name == "output":
            chunks = self.mark.take_out(chunks, ended=ended)
        if chunks:
            self._take_output(chunks, 2 if name == "stderr" else 1)
        if ended:
            self.streams.close(name)
            self.meter.closed = not self.streams.outputs
            self.meter.write()

    def read_all(self) -> None:
        for name in list(self.streams.outputs.values()):
            self._read(name)

    def _take_output(self, chunks: list[bytes], stream: int) -> None:
        """Written down before anybody hears of it."""
        now = time.time()
        pane.measure(self)
        start = self.log.offset
        if self.log.append_output(chunks, stream, now):
            self.announce({"event": "rolled", "offset": self.log.offset})
        self.meter.offset = self.log.offset
        self.meter.last_output = now
        self.meter.heard = time.monotonic()
        self.meter.write()
        if self.subscribers.listeners or self.controllers:
            self._pass_on(start, stream, b"".join(chunks))
        else:
            self.questions.forget()
        if self.armed:
            self.notify()

    def _pass_on(self, start: int, stream: int, data: bytes) -> None:
        """To those who listen. A question to the terminal is for one of them, or for the daemon when none can answer."""
        if "terminal" not in self.streams.open:
            gone = self.subscribers.hear(start, stream, data)
        else:
            hidden, answerer = self.questions.take(start, data), self.subscribers.answerer
            gone = self.subscribers.hear_terminal(start, data, hidden, answerer)
            if self.questions.asked and answerer is None:
                self.announce({"event": "query", "from": start, "offset": self.log.offset})
        for listener in gone:
            self._leave(listener)

    def notify(self) -> None:
        """Tell those who wait for output past a cursor, once."""
        for channel, cursor in list(self.armed.items()):
            if self.log.offset > cursor:
                del self.armed[channel]
                self.send(channel, {"event": "output", "offset": self.log.offset})

    # -- input

    def take_input(self, data: bytes, by: str, identifier: str, done: Callable[[bool], None]) -> None:
        """What is to be typed. One with an id is written down, without its text: that can be a password."""
        self.note_input(len(data), by, identifier)
        self.streams.write(data, done)

    def note_input(self, size: int, by: str, identifier: str) -> None:
        now = time.time()
        if identifier:
            self.inputs.append(identifier)
            note = json.dumps({"id": identifier, "size": size, "by": by}).encode()
            self.log.append(INPUT, 0, note, now)
        self.meter.last_input = now
        self.meter.typed = time.monotonic()
        self.meter.write()

    def end_input(self, done: Callable[[bool], None]) -> None:
        """The end of a headless session's input, after all that was typed."""

        def close(taken: bool) -> None:
            if taken:
                self.streams.close("stdin")
                identity.pass_eof_on(self.spec["run"], self.spec["state"], self.spec["session"])
            done(taken)

        if "stdin" in self.streams.open:
            self.streams.write(b"", close)
        else:
            done(True)

    def resize(self, rows: int, cols: int) -> None:
        if (rows, cols) != (self.meter.rows, self.meter.cols) and self.streams.resize(rows, cols):
            self.note_size(rows, cols)

    def note_size(self, rows: int, cols: int) -> None:
        self.meter.rows, self.meter.cols = rows, cols
        self.meter.write()
        self.log.append(RESIZE, 0, struct.pack("<HH", rows, cols), time.time())
        for listener in self.subscribers.tell({"event": "resize", "rows": rows, "cols": cols}):
            self._leave(listener)

    def resize_for(self, listener: Listener, rows: int, cols: int) -> None:
        """The terminal is as large as that of whoever attached, resized or typed last."""
        listener.size = (rows, cols)
        self.resize(rows, cols)

    def pass_signal(self, name: str) -> None:
        proc.send_signal(*self.main, signal.Signals[f"SIG{name}"])

    # -- those who are attached

    def attach(self, request: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Where the live output begins, and the client's end of a new socket pair."""
        ours, theirs = socket.socketpair()
        bound = bool(request.get("bound"))
        listener = Listener(
            Channel(ours),
            person=not bound and not request.get("watching"),
            lossless=bound,
            bound=bound,
            read_only=bool(request.get("read_only")),
            deaf=bool(request.get("deaf")),
        )
        self.subscribers.listeners.append(listener)
        if request.get("rows") and request.get("cols") and not listener.read_only:
            self.resize_for(listener, request["rows"], request["cols"])
        self._count_people()
        where = {"offset": self.log.offset, "rows": self.meter.rows, "cols": self.meter.cols}
        listener.channel.send_json({"event": "attached", "session": self.spec["session"], "wire": WIRE, **where})
        return where, theirs.detach()

    def _handle_listener(self, listener: Listener, event: int) -> None:
        if event & select.POLLOUT and not self.subscribers.flush(listener, self.log.offset):
            self._leave(listener)
            return
        if not event & _READABLE:
            return
        try:
            frames = listener.channel.read()
            if frames and not listener.confirmed:
                self._confirm(listener)
            staying = all(self.orders.hear(listener, kind, payload) for kind, payload in frames or ())
        except (WireError, KeyError, ValueError, TypeError):
            frames, staying = None, False
        if frames is None or not staying:
            self._leave(listener)

    def _confirm(self, listener: Listener) -> None:
        """Its first word: the socket has reached the client, and was not lost with a daemon on the way."""
        listener.confirmed = True
        if listener.bound:
            self.claim_by = None
        if self.exit is not None:
            self.read_all()
            listener.channel.send_json({"event": "exited", "exit": self.exit})

    def _leave(self, listener: Listener) -> None:
        if listener not in self.subscribers.listeners:
            return
        self.subscribers.listeners.remove(listener)
        listener.channel.close()
        left = [other.size for other in self.subscribers.listeners if other.size != (0, 0)]
        if left and listener.size == (self.meter.rows, self.meter.cols):
            self.resize(*left[-1])
        self._count_people()
        if listener.bound and listener.confirmed:
            self._abandon("its client is gone")
        elif listener.bound:
            self.claim_by = time.monotonic() + _UNCLAIMED_SECONDS

    def _abandon(self, why: str) -> None:
        """A session that belongs to a client ends with it."""
        if self.dying.phase == "running":
            self.announce({"event": "abandoned", "why": why})
            self.dying.why = why
            self.dying.stop(self.spec["grace"])

    def _look_at_pane(self) -> None:
        """Closed by somebody, or gone with its server: the kernel has told the command; what does not heed that is ended."""
        if self.streams.pane is not None and pane.look(self):
            self.read_all()
            self._abandon(pane.CLOSED)

    def _check_memory(self, descriptor: int) -> None:
        """The kernel lets it have no more, and ends something of it: the session has passed its limit, and ends."""
        assert self.memory is not None
        if self.memory.is_passed(descriptor):
            self.memory_watch = None
            self._abandon(self.memory.why)

    def _count_people(self) -> None:
        self.meter.attached = self.subscribers.people
        self.meter.write()
        self.announce({"event": "people", "attached": self.subscribers.people})

    # -- the daemon and the keeper

    def _accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError:
            return
        # Doors too: only the daemon and the keeper are let in. Anybody may ask for a keeper when there is none.
        pid, uid = peer_of(sock)
        channel = Channel(sock)
        if uid not in (0, os.getuid()) or not credentials.is_ours(self.spec["run"], self.spec["state"], pid):
            channel.restricted = True
            channel.send_json({"event": "restricted"})
        else:
            channel.send_json(self.hello())
        self.controllers.append(channel)

    def hello(self) -> dict[str, Any]:
        return {
            "event": "hello",
            "wire": WIRE,
            "session": self.spec["session"],
            "shim": list(self.own),
            "main": list(self.main),
            "phase": self.dying.phase,
            "exit": self.exit,
            "offset": self.log.offset,
            "guarantee": self.guarantee(),
            "adopted": self.tree.adopted,
            "attached": self.subscribers.people,
            "why": self.dying.why,
            "certificate": self.tree.certificate(self.guarantee()) if self.dying.phase == "survivors" else None,
            "unwritten": self.unwritten,
        }

    def birth(self) -> bytes:
        """Who holds the session and what its command is, for whoever looks for it after a crash."""
        return b'{"shim":[%d,%d],"main":[%d,%d],"lost":%d}' % (*self.own, *self.main, self.lost)

    def _handle_controller(self, channel: Channel, event: int) -> None:
        if event & select.POLLOUT and not channel.flush():
            self.drop(channel)
            return
        if not event & _READABLE:
            return
        try:
            frames = channel.read()
            for kind, payload in frames or ():
                self.orders.obey(channel, kind, payload)
        except WireError:
            frames = None
        if frames is None:
            self.drop(channel)

    def drop(self, channel: Channel) -> None:
        self.armed.pop(channel, None)
        channel.close()
        if channel is self.keeper:
            self.keeper = None
        elif channel in self.controllers:
            self.controllers.remove(channel)

    def send(self, channel: Channel, message: dict[str, Any]) -> None:
        if not channel.send_json(message):
            self.drop(channel)

    def announce(self, message: dict[str, Any]) -> None:
        for channel in list(self.controllers):
            if not channel.restricted:
                self.send(channel, message)

    # -- the end

    def _reap(self) -> None:
        if self.tree.adopted:
            return
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.dying.childless = True
                return
            if pid == 0:
                self.dying.childless = False
                return
            self.tree.reaped(pid, status)
            if pid == self.main[0]:
                self.take_exit(proc.exit_of(status))

    def take_exit(self, exit: dict[str, Any]) -> None:
        """How the command itself ended; an unknown end can still become known."""
        if self.exit is None or self.exit.get("code", 0) is None:
            self.exit = exit
            self._look_at_pane()  # before its end is taken for the command's own will
            if self.dying.phase == "running":
                self.tree.begin()
            self.tree.went(self.main, self.spec["command"], exit)
            if self.claim_by is None:
                self.read_all()  # what it printed last comes before the word that it is gone
            for listener in self.subscribers.tell({"event": "exited", "exit": exit}, confirmed=True):
                self._leave(listener)

    def guarantee(self) -> str:
        if self.tree.adopted or self.tree.unsure:
            return "best_effort"
        return "kernel" if self.tree.cgroup is not None else "tree"
