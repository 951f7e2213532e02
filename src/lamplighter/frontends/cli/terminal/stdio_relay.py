"""A headless session between our own standard streams: byte by byte, nothing skipped, signals passed on.

Knows the attach channel and descriptors. Nothing is read faster than the other side takes it.
"""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

from lamplighter.errors import LampError
from lamplighter.frontends.cli.terminal.attachment import AGAIN, Attachment, AttachOutcome, SessionRoute, outcome_of
from lamplighter.frontends.cli.terminal.output_buffer import OutputBuffer
from lamplighter.frontends.cli.terminal.signals import Signals
from lamplighter.holder.wire import JSON, OUTPUT, WireError, pack_input, unpack_output

_CHUNK = 64 << 10


class StdioRelay:
    """`keep_children`: over when the command has exited; what it left goes on."""

    def __init__(self, way: SessionRoute, attachment: Attachment, signals: Signals, *, keep_children: bool) -> None:
        self.way = way
        self.channel = attachment.channel
        self.signals = signals
        self.keep_children = keep_children
        self.outputs = {1: OutputBuffer(1), 2: OutputBuffer(2)}
        self.source: int | None = 0
        self.full = False
        self.position = 0
        self.lost = 0
        self.recovered = 0
        self.outcome: AttachOutcome | None = None

    def carry(self) -> AttachOutcome:
        while self.outcome is None:
            self._turn()
        for output in self.outputs.values():
            output.drain(None)
        if self.outputs[1].broken:
            self.outcome = AttachOutcome("broken")
        self.channel.close()
        self.outcome.lost, self.outcome.recovered = self.lost, self.recovered
        return self.outcome

    # -- one turn of the loop

    def _turn(self) -> None:
        poll = select.poll()
        poll.register(self.signals, select.POLLIN)
        room = all(output.has_room for output in self.outputs.values())
        waits = self.channel.pending or self.full
        wanted = (select.POLLIN if room else 0) | (select.POLLOUT if waits else 0)
        if wanted:
            poll.register(self.channel, wanted)
        if self.source is not None and not waits:
            poll.register(self.source, select.POLLIN)
        for output in self.outputs.values():
            if output.pending:
                poll.register(output.descriptor, select.POLLOUT)
        for descriptor, event in poll.poll():
            self._handle(descriptor, event)
        if self.outputs[1].broken:
            # Whoever read the output is gone. Closing the channel ends the session, as SIGPIPE would end the command.
            self._over(AttachOutcome("broken"))

    def _handle(self, descriptor: int, event: int) -> None:
        if descriptor == self.signals.fileno():
            for name in self.signals.take():
                self.channel.send_json({"op": "signal", "signal": name})
        elif descriptor == self.source:
            self._take_input()
        elif descriptor in self.outputs:
            self.outputs[descriptor].write()
        elif descriptor == self.channel.fileno():
            if event & select.POLLOUT:
                self.full = False
                self.channel.flush()
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                self._take_frames()

    def _over(self, outcome: AttachOutcome) -> None:
        self.outcome = self.outcome or outcome

    # -- both ways

    def _take_input(self) -> None:
        """No more of our input than the session takes: the rest is for whoever shares it with us."""
        self.full = not _takes(self.channel.fileno())
        if self.full:
            return
        try:
            data = os.read(0, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self.channel.send(pack_input(data))
        else:
            self.source = None
            self.channel.send_json({"op": "eof"})

    def _take_frames(self) -> None:
        try:
            frames = self.channel.read()
        except WireError:
            frames = None
        if frames is None:
            self._find_again()
            return
        for kind, payload in frames:
            if kind == OUTPUT:
                offset, stream, data = unpack_output(payload)
                self.outputs[2 if stream == 2 else 1].put(data[self._known(offset) :])
                self.position = max(self.position, offset + len(data))
            elif kind == JSON:
                self._take_event(json.loads(payload))

    def _known(self, offset: int) -> int:
        """How much of what begins here was passed on before; a hole is counted, and reported in the end."""
        self.lost += max(0, offset - self.position)
        return max(0, self.position - offset)

    def _take_event(self, message: dict[str, Any]) -> None:
        event = message.get("event")
        if event == "ended":
            self._over(AttachOutcome("ended", message.get("exit"), message.get("certificate")))
        elif event == "exited" and self.keep_children:
            self.channel.send_json({"op": "detach"})
            self._over(AttachOutcome("ended", message.get("exit")))

    def _find_again(self) -> None:
        """The holder was lost; the session may go on under a new one, or have ended meanwhile."""
        self.channel.close()
        until = time.monotonic() + AGAIN
        while time.monotonic() < until:
            try:
                found = self.way.go_again()
            except LampError:
                break
            if found is not None:
                self._go_on(found)
                return
            select.select([self.signals], [], [], 0.2)
        fate = self.way.fate()
        if fate is not None:
            self._catch_up(None)
        self._over(outcome_of(fate) if fate else AttachOutcome("lost"))

    def _go_on(self, found: Attachment) -> None:
        self.channel = found.channel
        self._catch_up(found.result["offset"])
        if self.source is None:
            self.channel.send_json({"op": "eof"})

    def _catch_up(self, end: int | None) -> None:
        """What was printed while nobody listened, from the log: up to here, or all. The log mixes the streams."""
        while end is None or self.position < end:
            page = self.way.missed(self.position)
            if page is None or page[1] <= self.position:
                break
            self.outputs[1].put(page[0])
            self.outputs[1].drain(None)
            self.recovered += page[1] - self.position
            self.position = page[1]
        if end is not None:
            self._known(end)
            self.position = max(self.position, end)


def _takes(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return any(event & select.POLLOUT for _, event in poll.poll(0))
