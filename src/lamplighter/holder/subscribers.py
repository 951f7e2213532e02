"""Those who are attached to a session: each gets the output as it comes, within its credit.

A slow one skips ahead and is told how much it missed; a lossless one (the client of `lamp run`) makes the session wait, as
a pipe would. Standard library only.
"""

from __future__ import annotations

import select

from lamplighter.holder.wire import Channel, pack_json, pack_output

CREDIT = 1 << 20
_PATIENCE_MS = 5000


class Listener:
    """One attached client."""

    def __init__(
        self, channel: Channel, *, person: bool, lossless: bool, bound: bool, read_only: bool, deaf: bool = False
    ) -> None:
        self.channel = channel
        self.person = person
        self.lossless = lossless
        self.bound = bound
        self.read_only = read_only
        self.deaf = deaf
        self.confirmed = False
        self.size: tuple[int, int] = (0, 0)
        self.skipped_from: int | None = None

    @property
    def full(self) -> bool:
        return self.channel.pending >= CREDIT

    @property
    def behind(self) -> bool:
        """What comes now is not passed on to it."""
        return not self.lossless and (self.full or self.skipped_from is not None)


class Subscribers:
    def __init__(self) -> None:
        self.listeners: list[Listener] = []

    @property
    def people(self) -> int:
        return sum(1 for listener in self.listeners if listener.person)

    @property
    def _hearing(self) -> list[Listener]:
        return [listener for listener in self.listeners if not listener.deaf]

    @property
    def holds_back(self) -> bool:
        """Somebody who must miss nothing has not kept up: stop reading from the session for now."""
        return any(listener.lossless and listener.full for listener in self.listeners)

    @property
    def answerer(self) -> Listener | None:
        """Whose terminal answers what a program asks: one that can be typed at and keeps up. The client that the session
        belongs to, else whoever attached last."""
        able = [
            listener
            for listener in self.listeners
            if listener.confirmed and not (listener.read_only or listener.deaf or listener.behind)
        ]
        return next((listener for listener in able if listener.bound), able[-1] if able else None)

    def hear(self, offset: int, stream: int, data: bytes) -> list[Listener]:
        """Pass output on; those who are gone come back."""
        frame = pack_output(offset, stream, data)
        return [listener for listener in self._hearing if not self._pass(listener, offset, frame)]

    def hear_terminal(
        self, offset: int, data: bytes, hidden: tuple[int, bytes], answerer: Listener | None
    ) -> list[Listener]:
        """The same of a terminal. Whoever answers, and whoever must miss nothing, gets it as it is; the others get `hidden`,
        without its questions and with an offset of its own."""
        whole, rest = pack_output(offset, 1, data), pack_output(hidden[0], 1, hidden[1]) if hidden[1] else b""
        gone: list[Listener] = []
        for listener in self._hearing:
            frame = whole if listener is answerer or listener.lossless else rest
            if frame and not self._pass(listener, offset, frame):
                gone.append(listener)
        return gone

    def tell(self, message: dict[str, object], confirmed: bool = False) -> list[Listener]:
        """Tell everybody, or those who have spoken; the ones who are gone come back."""
        frame = pack_json(message)
        told = [listener for listener in self.listeners if listener.confirmed or not confirmed]
        return [listener for listener in told if not listener.channel.send(frame)]

    def flush(self, listener: Listener, offset: int) -> bool:
        """It can take more; once it has caught up, tell it what it missed."""
        if not listener.channel.flush():
            return False
        if listener.skipped_from is not None and listener.channel.pending == 0:
            missed = {"event": "skip", "from": listener.skipped_from, "to": offset}
            listener.skipped_from = None
            return listener.channel.send_json(missed)
        return True

    def linger(self) -> None:
        """Give everybody what is queued for them: as long as they read, at most five seconds without."""
        for listener in [listener for listener in self.listeners if listener.channel.pending]:
            poll = select.poll()
            poll.register(listener.channel, select.POLLOUT)
            while listener.channel.pending and poll.poll(_PATIENCE_MS) and listener.channel.flush():
                pass

    def _pass(self, listener: Listener, offset: int, frame: bytes) -> bool:
        if listener.full and not listener.lossless:
            if listener.skipped_from is None:
                listener.skipped_from = offset
            return True
        if listener.skipped_from is not None:
            return True
        return listener.channel.send(frame)
