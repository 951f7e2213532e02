"""The shim: one for each session, forked from the keeper. It owns the terminal or the pipes, writes the log, is the subreaper
of everything the session starts, and kills and reaps until the kernel says that nothing is left.

Standard library only. Speaks the wire upwards; knows nothing of the store or of who may do what.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import select
import signal
import socket
import struct
import time
import traceback
from collections import deque
from typing import Any

from lamplighter.holder import identity, proc
from lamplighter.holder.audience import Audience, Listener
from lamplighter.holder.birth import set_size
from lamplighter.holder.dying import Dying
from lamplighter.holder.files import write_file
from lamplighter.holder.log import EXIT, INPUT, RESIZE, LogWriter
from lamplighter.holder.meter import Meter
from lamplighter.holder.tree import Tree
from lamplighter.holder.wire import INPUT as INPUT_FRAME
from lamplighter.holder.wire import JSON, WIRE, Channel, WireError, parse_json, peer_of

_BURST = 256 << 10
_INPUT_QUEUE = 1 << 20
_UNCLAIMED_SECONDS = 60.0
# What a program asks its terminal: status, cursor position, attributes, name, keyboard protocol, colours.
_QUERY = re.compile(rb"\x1b\[(?:[56]n|[>=?]?0?c|>0?q|\?u|\?\d+\$p)|\x1b\]1[01];\?")


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
        self.streams = streams  # name → descriptor: terminal; or stdin, stdout, stderr
        self.listener = listener
        self.tree = tree
        self.main = main
        self.keeper = keeper  # only when this shim took over from a lost one
        self.exit: dict[str, Any] | None = None
        self.log = LogWriter(spec["folder"], spec["log_limit"], spec["log_segment"])
        self.meter = Meter(f"{spec['folder']}/meter")
        self.audience = Audience()
        self.controllers: list[Channel] = []
        self.armed: dict[Channel, int] = {}
        self.to_write: deque[tuple[bytes, Channel | None, dict[str, Any] | None]] = deque()
        self.queued = 0
        self.inputs: deque[str] = deque(maxlen=256)
        self.dying = Dying(tree, adopted=tree.adopted, keep_children=spec["keep_children"])
        self.claim_by = time.monotonic() + _UNCLAIMED_SECONDS if spec["bound"] else None
        self.poll = select.poll()
        self.eof = False
        self.wake = _wake_on_child()
        self.main_watch = os.pidfd_open(main[0]) if tree.adopted and proc.is_alive(*main) else None
        self.meter.offset = self.log.offset
        self.meter.write()
        if not tree.adopted:
            self._resized(spec["rows"], spec["cols"])

    # -- the loop

    def run(self) -> None:
        """Until nothing of the session is left and that is written down."""
        self.listener.setblocking(False)
        while not self._proceed():
            self._register()
            for descriptor, event in self.poll.poll(self._timeout()):
                self._handle(descriptor, event)

    def _proceed(self) -> bool:
        self._reap()
        if self.claim_by is not None and time.monotonic() >= self.claim_by:
            self.claim_by = None
            self._abandon("nobody came for it")
        before = self.dying.phase
        self.dying.proceed(self.exit is not None)
        if self.dying.phase != before:
            self._announce({"event": "phase", "phase": self.dying.phase, "exit": self.exit})
            if self.keeper is not None:
                self._send(self.keeper, {"op": "strays", "session": self.spec["session"]})
        if self.dying.phase == "survivors" and before != "survivors":
            self._announce({"event": "survivors", "certificate": self.tree.certificate(self._guarantee())})
        # What `lamp run` started waits for its client, so that not even the shortest command's output is missed.
        return self.dying.phase == "ended" and self.claim_by is None and self._finish()

    def _timeout(self) -> float | None:
        deadlines = [deadline for deadline in (self.dying.next_look, self.claim_by) if deadline is not None]
        return max(0.0, (min(deadlines) - time.monotonic()) * 1000 + 1) if deadlines else None

    def _register(self) -> None:
        """What to wait for now. Few descriptors, so it is made anew; that keeps it right."""
        self.poll = select.poll()
        self.poll.register(self.wake, select.POLLIN)
        self.poll.register(self.listener, select.POLLIN)
        held = self.audience.holds_back or (self.spec["bound"] and self.claim_by is not None)
        for name, descriptor in self.streams.items():
            events = select.POLLIN if name != "stdin" and not held else 0
            if name in ("stdin", "terminal") and self.to_write:
                events |= select.POLLOUT
            if events:
                self.poll.register(descriptor, events)
        for channel in self._channels():
            self.poll.register(channel, select.POLLIN | (select.POLLOUT if channel.pending else 0))
        if self.main_watch is not None:
            self.poll.register(self.main_watch, select.POLLIN)

    def _channels(self) -> list[Channel]:
        channels = [*self.controllers, *(listener.channel for listener in self.audience.listeners)]
        return [*channels, self.keeper] if self.keeper is not None else channels

    def _handle(self, descriptor: int, event: int) -> None:
        if descriptor == self.wake.fileno():
            with contextlib.suppress(BlockingIOError):
                self.wake.recv(4096)
        elif descriptor == self.listener.fileno():
            self._accept()
        elif descriptor == self.main_watch:
            os.close(descriptor)
            self.main_watch = None
            # A status that nobody could wait for stays unknown; when the keeper reaped it, that word is on its way.
            self._take_exit(self.exit or {"code": None})
        elif descriptor in self.streams.values():
            name = next(name for name, value in self.streams.items() if value == descriptor)
            if event & select.POLLOUT:
                self._write_input()
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR) and name in self.streams:
                self._read_stream(name)
        else:
            self._handle_channel(descriptor, event)

    def _handle_channel(self, descriptor: int, event: int) -> None:
        for listener in self.audience.listeners:
            if listener.channel.fileno() == descriptor:
                self._handle_listener(listener, event)
                return
        for channel in [*self.controllers, *([self.keeper] if self.keeper else [])]:
            if channel.fileno() == descriptor:
                try:
                    self._handle_controller(channel, event)
                except Exception:  # whatever a peer sends, the session is held: note the fault and let the peer go
                    traceback.print_exc()
                    self._drop(channel)
                return

    # -- output

    def _read_stream(self, name: str) -> None:
        """Read what there is, up to a burst, and write it down before anybody hears of it."""
        if name == "stdin":
            self._close_stream(name)
            return
        chunks: list[bytes] = []
        size = 0
        ended = False
        while size < _BURST:
            try:
                data = os.read(self.streams[name], 65536)
            except BlockingIOError:
                break
            except OSError:
                data = b""  # EIO: the last one that had the terminal open is gone
            if not data:
                ended = True
                break
            chunks.append(data)
            size += len(data)
        if chunks:
            self._take_output(chunks, 2 if name == "stderr" else 1)
        if ended:
            self._close_stream(name)

    def _take_output(self, chunks: list[bytes], stream: int) -> None:
        now = time.time()
        start = self.log.offset
        if self.log.append_output(chunks, stream, now):
            self._announce({"event": "rolled", "offset": self.log.offset})
        self.meter.offset = self.log.offset
        self.meter.last_output = now
        self.meter.write()
        if self.audience.listeners:
            data = b"".join(chunks)
            for listener in self.audience.hear(start, stream, data):
                self._leave(listener)
        if "terminal" in self.streams and not self.audience.people and self.controllers:
            data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            if _QUERY.search(data):
                self._announce({"event": "query", "from": start, "offset": self.log.offset})
        self._notify()

    def _notify(self) -> None:
        for channel, cursor in list(self.armed.items()):
            if self.log.offset > cursor:
                del self.armed[channel]
                self._send(channel, {"event": "output", "offset": self.log.offset})

    def _close_stream(self, name: str) -> None:
        os.close(self.streams.pop(name))
        if name in ("stdin", "terminal"):
            while self.to_write:
                _, channel, answer = self.to_write.popleft()
                self._answer(channel, answer, error={"code": "ENDED", "message": "the session does not read any more"})
            self.queued = 0

    # -- input

    def _write_input(self) -> None:
        descriptor = self.streams.get("terminal", self.streams.get("stdin", -1))
        while self.to_write and descriptor >= 0:
            data, channel, answer = self.to_write[0]
            try:
                sent = os.write(descriptor, data) if data else 0
            except BlockingIOError:
                return
            except OSError:
                self._close_stream("stdin" if "stdin" in self.streams else "terminal")
                return
            self.queued -= sent
            if sent < len(data):
                self.to_write[0] = (data[sent:], channel, answer)
                continue
            self.to_write.popleft()
            self._answer(channel, answer, ok={"cursor": answer["cursor"] if answer else 0})
            if answer is not None and answer.get("eof"):
                self._close_stream("stdin")
                return

    def _take_input(
        self, data: bytes, by: str, identifier: str, channel: Channel | None, answer: dict[str, Any] | None
    ) -> None:
        """Queue what is to be typed; each id once, however often it comes."""
        if identifier and identifier in self.inputs:
            self._answer(channel, answer, ok={"cursor": self.log.offset, "repeated": True})
            return
        if "terminal" not in self.streams and "stdin" not in self.streams:
            self._answer(
                channel, answer, error={"code": "ENDED", "message": "the session does not read input any more"}
            )
            return
        if channel is not None and self.queued + len(data) > _INPUT_QUEUE:
            self._answer(
                channel, answer, error={"code": "BUSY", "message": f"{self.queued} bytes still wait to be read by it"}
            )
            return
        now = time.time()
        if identifier:
            self.inputs.append(identifier)
            note = json.dumps({"id": identifier, "size": len(data), "by": by}).encode()
            self.log.append(INPUT, 0, note, now)
        self.meter.last_input = now
        self.meter.write()
        if answer is not None:
            answer["cursor"] = self.log.offset
        self.to_write.append((data, channel, answer))
        self.queued += len(data)
        self._write_input()

    def _resized(self, rows: int, cols: int) -> None:
        if "terminal" not in self.streams or (rows, cols) == (self.meter.rows, self.meter.cols) or rows < 1 or cols < 1:
            return
        set_size(self.streams["terminal"], rows, cols)
        self.meter.rows, self.meter.cols = rows, cols
        self.meter.write()
        self.log.append(RESIZE, 0, struct.pack("<HH", rows, cols), time.time())
        for listener in self.audience.tell({"event": "resize", "rows": rows, "cols": cols}):
            self._leave(listener)

    # -- those who are attached

    def _attach(self, channel: Channel, request: dict[str, Any]) -> None:
        """A socket pair: one end goes to the daemon, which passes it on to the client."""
        ours, theirs = socket.socketpair()
        listener = Listener(
            Channel(ours),
            person=not request.get("bound"),
            lossless=bool(request.get("bound")),
            bound=bool(request.get("bound")),
            read_only=bool(request.get("read_only")),
        )
        if request.get("rows") and request.get("cols") and not listener.read_only:
            self._resized(request["rows"], request["cols"])
        self.audience.listeners.append(listener)
        if listener.bound:
            self.claim_by = None
        self._count_people()
        where = {"offset": self.log.offset, "rows": self.meter.rows, "cols": self.meter.cols}
        listener.channel.send_json({"event": "attached", "session": self.spec["session"], "wire": WIRE, **where})
        if self.exit is not None:
            listener.channel.send_json({"event": "exited", "exit": self.exit})
        channel.send_json({"n": request["n"], "ok": where}, [theirs.detach()])

    def _handle_listener(self, listener: Listener, event: int) -> None:
        if event & select.POLLOUT and not self.audience.flush(listener, self.log.offset):
            self._leave(listener)
            return
        if not event & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return
        try:
            frames = listener.channel.read()
            for kind, payload in frames or ():
                if kind == INPUT_FRAME and not listener.read_only:
                    self._take_input(payload, "attached", "", None, None)
                elif kind == JSON and not self._obey_listener(listener, parse_json(payload)):
                    return
        except (WireError, KeyError, ValueError, TypeError):
            frames = None
        if frames is None:
            self._leave(listener)

    def _obey_listener(self, listener: Listener, request: dict[str, Any]) -> bool:
        """False when it left."""
        operation = request.get("op")
        if operation == "detach":
            listener.bound = False
            self._leave(listener)
            return False
        if not listener.read_only:
            if operation == "resize":
                self._resized(int(request["rows"]), int(request["cols"]))
            elif operation == "signal":
                self._pass_signal(str(request["signal"]))
            elif operation == "eof":
                self.to_write.append((b"", None, {"eof": True, "cursor": 0}))
                self._write_input()
        return True

    def _leave(self, listener: Listener) -> None:
        if listener not in self.audience.listeners:
            return
        self.audience.listeners.remove(listener)
        listener.channel.close()
        self._count_people()
        if listener.bound:
            self._abandon("its client is gone")

    def _abandon(self, why: str) -> None:
        """A session that belongs to a client ends with it."""
        if self.dying.phase == "running":
            self._announce({"event": "abandoned", "why": why})
            self.dying.why = why
            self.dying.stop(self.spec["grace"])

    def _count_people(self) -> None:
        self.meter.attached = self.audience.people
        self.meter.write()
        self._announce({"event": "people", "attached": self.audience.people})

    # -- the daemon and the keeper

    def _accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError:
            return
        # Doors too: only the daemon and the keeper are let in. Anybody may ask for a keeper when there is none.
        pid, uid = peer_of(sock)
        channel = Channel(sock)
        if uid not in (0, os.getuid()) or not identity.is_ours(self.spec["run"], pid):
            channel.send_json({"event": "restricted"})
            channel.restricted = True
        else:
            channel.send_json(self.hello())
        self.controllers.append(channel)

    def hello(self) -> dict[str, Any]:
        return {
            "event": "hello",
            "wire": WIRE,
            "session": self.spec["session"],
            "shim": [os.getpid(), proc.start_of(os.getpid())],
            "main": list(self.main),
            "phase": self.dying.phase,
            "exit": self.exit,
            "offset": self.log.offset,
            "guarantee": self._guarantee(),
            "adopted": self.tree.adopted,
            "attached": self.audience.people,
            "why": self.dying.why,
            "certificate": self.tree.certificate(self._guarantee()) if self.dying.phase == "survivors" else None,
        }

    def _handle_controller(self, channel: Channel, event: int) -> None:
        if event & select.POLLOUT and not channel.flush():
            self._drop(channel)
            return
        if not event & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return
        try:
            frames = channel.read()
            for kind, payload in frames or ():
                if kind == JSON:
                    self._obey(channel, parse_json(payload))
        except WireError:
            frames = None
        if frames is None:
            self._drop(channel)

    def _drop(self, channel: Channel) -> None:
        self.armed.pop(channel, None)
        channel.close()
        if channel is self.keeper:
            self.keeper = None
        elif channel in self.controllers:
            self.controllers.remove(channel)

    def _obey(self, channel: Channel, request: dict[str, Any]) -> None:
        operation = str(request.get("op", request.get("event")))
        if channel.restricted and operation != "keeper":
            self._answer(channel, request, error={"code": "FORBIDDEN", "message": "only the daemon may ask a holder"})
            return
        handler = getattr(self, f"_do_{operation}", None)
        if handler is None:
            self._answer(
                channel, request, error={"code": "UNSUPPORTED", "message": f"this shim does not know {operation}"}
            )
            return
        try:
            handler(channel, request)
        except (KeyError, ValueError, TypeError, OSError) as error:
            self._answer(channel, request, error={"code": "BAD_INPUT", "message": f"{operation}: {error!r}"})

    def _do_input(self, channel: Channel, request: dict[str, Any]) -> None:
        self._take_input(base64.b64decode(request["data"]), request["by"], request["id"], channel, request)

    def _do_eof(self, channel: Channel, request: dict[str, Any]) -> None:
        if "stdin" in self.streams:
            self.to_write.append((b"", channel, {**request, "eof": True, "cursor": self.log.offset}))
            self._write_input()
        else:
            self._answer(channel, request, ok={})

    def _do_arm(self, channel: Channel, request: dict[str, Any]) -> None:
        self.armed[channel] = int(request["cursor"])
        self._notify()

    def _do_attach(self, channel: Channel, request: dict[str, Any]) -> None:
        self._attach(channel, request)

    def _do_resize(self, channel: Channel, request: dict[str, Any]) -> None:
        self._resized(int(request["rows"]), int(request["cols"]))
        self._answer(channel, request, ok={})

    def _do_signal(self, channel: Channel, request: dict[str, Any]) -> None:
        self._pass_signal(str(request["signal"]))
        self._answer(channel, request, ok={})

    def _do_stop(self, channel: Channel, request: dict[str, Any]) -> None:
        self.dying.stop(float(request["grace"]))
        self._answer(channel, request, ok={"phase": self.dying.phase})

    def _do_copy(self, channel: Channel, request: dict[str, Any]) -> None:
        """Duplicates of the terminal or the pipes, for a keeper that holds none yet."""
        names = list(self.streams)
        channel.send_json({"n": request["n"], "ok": {"names": names}}, [os.dup(self.streams[name]) for name in names])

    def _do_keeper(self, channel: Channel, request: dict[str, Any]) -> None:
        """Start a keeper for somebody inside the session: it becomes this shim's child, but no part of the session."""
        pid = identity.spawn_keeper(self.spec["run"], self.spec["state"])
        self.tree.infrastructure.add(pid)
        self._answer(channel, request, ok={"pid": pid})

    def _do_reaped(self, _: Channel, message: dict[str, Any]) -> None:
        """From the keeper, for a shim that is not its session's ancestor."""
        self.tree.reaped(message["pid"], message["status"])
        if message["pid"] == self.main[0]:
            self._take_exit(proc.exit_of(message["status"]))

    def _do_strays(self, _: Channel, message: dict[str, Any]) -> None:
        self.tree.roots |= {(pid, start) for pid, start in message["roots"]}

    def _pass_signal(self, name: str) -> None:
        number = signal.Signals[f"SIG{name}"]
        proc.send_signal(*self.main, number)

    def _answer(
        self,
        channel: Channel | None,
        request: dict[str, Any] | None,
        ok: dict[str, Any] | None = None,
        error: dict[str, Any] | None = None,
    ) -> None:
        if channel is not None and request is not None and "n" in request:
            self._send(channel, {"n": request["n"], "error": error} if error else {"n": request["n"], "ok": ok})

    def _send(self, channel: Channel, message: dict[str, Any]) -> None:
        if not channel.send_json(message):
            self._drop(channel)

    def _announce(self, message: dict[str, Any]) -> None:
        for channel in list(self.controllers):
            if not channel.restricted:
                self._send(channel, message)

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
            self.tree.infrastructure.discard(pid)
            self.tree.reaped(pid, status)
            if pid == self.main[0]:
                self._take_exit(proc.exit_of(status))

    def _take_exit(self, exit: dict[str, Any]) -> None:
        if self.exit is None or self.exit.get("code", 0) is None:
            self.exit = exit
            for listener in self.audience.tell({"event": "exited", "exit": exit}):
                self._leave(listener)

    def _guarantee(self) -> str:
        if self.tree.adopted:
            return "best_effort"
        return "kernel" if self.tree.cgroup is not None else "tree"

    def _finish(self) -> bool:
        """Write down the end; True once that is on disk, so that no end is lost to a full one."""
        for name in list(self.streams):
            if name != "stdin":
                self._read_stream(name)
        if any(name != "stdin" for name in self.streams) and self._more_to_read():
            return False
        document = {
            "session": self.spec["session"],
            "ended_at": time.time(),
            "exit": self.exit,
            "why": self.dying.why,
            "ladder": self.dying.ladder,
            "certificate": self.tree.certificate(self._guarantee()),
            "offset": self.log.offset,
        }
        if not self.dying.written:
            self.log.append(EXIT, 0, json.dumps({"exit": self.exit}).encode(), document["ended_at"])
            self.dying.written = True
        if not write_file(f"{self.spec['folder']}/exit.json", json.dumps(document).encode()):
            self.dying.try_later()
            return False
        self.log.close()
        if self.tree.cgroup is not None:
            self.tree.cgroup.remove()
        self.listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.spec["socket"])
        ended = {"event": "ended", "exit": self.exit, "certificate": document["certificate"]}
        self._announce({**ended, "file": True})
        self.audience.tell(ended)
        self._linger()
        return True

    def _more_to_read(self) -> bool:
        """Whether a stream has data right now; a pipe that some outsider holds open is not waited for."""
        poll = select.poll()
        for name, descriptor in self.streams.items():
            if name != "stdin":
                poll.register(descriptor, select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(0))

    def _linger(self) -> None:
        """Give those who are attached what is queued for them: as long as they read, at most five seconds without."""
        for listener in [listener for listener in self.audience.listeners if listener.channel.pending]:
            listener.channel.sock.settimeout(5.0)
            while listener.channel.pending and listener.channel.flush() and listener.channel.pending:
                poll = select.poll()
                poll.register(listener.channel, select.POLLOUT)
                if not poll.poll(5000):
                    break


def _wake_on_child() -> socket.socket:
    """A socket that becomes readable when a child has died."""
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    return reader
