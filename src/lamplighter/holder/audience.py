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


class Audience:
    def __init__(self) -> None:
        self.listeners: list[Listener] = []

    @property
    def people(self) -> int:
        return sum(1 for listener in self.listeners if listener.person)

    @property
    def holds_back(self) -> bool:
        """Somebody who must miss nothing has not kept up: stop reading from the session for now."""
        return any(listener.lossless and listener.full for listener in self.listeners)

    def hear(self, offset: int, stream: int, data: bytes) -> list[Listener]:
        """Pass output on; those who are gone come back."""
        frame = pack_output(offset, stream, data)
        hearing = [listener for listener in self.listeners if not listener.deaf]
        return [listener for listener in hearing if not self._pass(listener, offset, frame)]

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
