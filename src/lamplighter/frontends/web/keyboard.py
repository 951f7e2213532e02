"""The keyboard of a session, held from the page: what is typed goes to its holder as that of anybody who is attached."""

from __future__ import annotations

import asyncio
import socket

from lamplighter.holder.wire import Channel, WireError, pack_input

_TYPED_AHEAD = 1 << 20


class Keyboard:
    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._loop = asyncio.get_running_loop()
        self._writing = False
        self._loop.add_reader(channel, self._read)

    @staticmethod
    def on(descriptor: int) -> Keyboard:
        """It counts as a person at the session, and hears nothing: what is printed comes by the broadcast."""
        channel = Channel(socket.socket(fileno=descriptor))
        channel.send_json({"op": "here"})
        return Keyboard(channel)

    def type(self, data: bytes) -> None:
        """What a session does not read any more is not kept for ever."""
        if self.channel.pending < _TYPED_AHEAD:
            self._sent(self.channel.send(pack_input(data)))

    def resize(self, rows: int, cols: int) -> None:
        self._sent(self.channel.send_json({"op": "resize", "rows": rows, "cols": cols}))

    def release(self) -> None:
        if self.channel.fileno() >= 0:
            self.channel.send_json({"op": "detach"})
            self._close()

    def _sent(self, there: bool) -> None:
        if not there:
            self._close()
        elif self.channel.pending and not self._writing:
            self._writing = True
            self._loop.add_writer(self.channel, self._flush)

    def _flush(self) -> None:
        if not self.channel.flush():
            self._close()
        elif not self.channel.pending:
            self._writing = False
            self._loop.remove_writer(self.channel)

    def _read(self) -> None:
        """An older holder does not know the deaf: what it sends is heard elsewhere."""
        try:
            gone = self.channel.read() is None
        except WireError:
            gone = True
        if gone:
            self._close()

    def _close(self) -> None:
        if self.channel.fileno() >= 0:
            self._loop.remove_reader(self.channel)
            self._loop.remove_writer(self.channel)
            self.channel.close()
