"""The wire between daemon, keeper, shims and attached people: frames over a unix socket, with descriptors beside them.

A frame is a length, a type and a payload. Versioned: shims live for weeks, so a newer daemon speaks to older ones; what is
added is added as new operations, fields and events that the other side may not know. Standard library only.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WIRE = 2
JSON, OUTPUT, INPUT = 1, 2, 3
_HEAD = struct.Struct(">IB")
_OUTPUT = struct.Struct(">QB")
_LONGEST = 64 << 20
_DESCRIPTORS = 4


class WireError(Exception):
    """The other side sent what is no frame of ours."""


def pack_json(message: dict[str, Any]) -> bytes:
    payload = json.dumps(message, separators=(",", ":")).encode()
    return _HEAD.pack(len(payload), JSON) + payload


def pack_output(offset: int, stream: int, data: bytes) -> bytes:
    return _HEAD.pack(_OUTPUT.size + len(data), OUTPUT) + _OUTPUT.pack(offset, stream) + data


def pack_input(data: bytes) -> bytes:
    return _HEAD.pack(len(data), INPUT) + data


def unpack_output(payload: bytes) -> tuple[int, int, bytes]:
    """Offset, stream, bytes."""
    offset, stream = _OUTPUT.unpack_from(payload)
    return offset, stream, payload[_OUTPUT.size :]


def parse_json(payload: bytes) -> dict[str, Any]:
    """The message of a JSON frame; WireError when it is none."""
    try:
        message: dict[str, Any] = json.loads(payload)
    except (ValueError, RecursionError):
        raise WireError("a JSON frame without JSON") from None
    if type(message) is not dict:
        raise WireError("a JSON frame without an object")
    return message


class Frames:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        self._buffer += data
        found: list[tuple[int, bytes]] = []
        start = 0
        while len(self._buffer) - start >= _HEAD.size:
            length, kind = _HEAD.unpack_from(self._buffer, start)
            if length > _LONGEST or kind not in (JSON, OUTPUT, INPUT):
                raise WireError(f"frame of type {kind} and {length} bytes")
            end = start + _HEAD.size + length
            if len(self._buffer) < end:
                break
            found.append((kind, bytes(self._buffer[start + _HEAD.size : end])))
            start = end
        del self._buffer[:start]
        return found


class Channel:
    """One end of a connection that never blocks: frames in, frames and descriptors out."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.frames = Frames()
        self.pending = 0
        self.restricted = False
        self.trusted = False
        self.received: deque[int] = deque()
        self._out: deque[tuple[bytes, list[int]]] = deque()

    def fileno(self) -> int:
        return self.sock.fileno()

    def read(self) -> list[tuple[int, bytes]] | None:
        """The frames that have come; None at the end of the stream."""
        try:
            data, ancillary, _, _ = self.sock.recvmsg(1 << 16, socket.CMSG_SPACE(_DESCRIPTORS * 4))
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            return None
        for level, kind, raw in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                for (descriptor,) in struct.iter_unpack("i", raw[: len(raw) - len(raw) % 4]):
                    os.set_inheritable(descriptor, False)
                    self.received.append(descriptor)
        return self.frames.feed(data) if data else None

    def send(self, frame: bytes, descriptors: list[int] | None = None) -> bool:
        """Send or queue; False when the other side is gone. Descriptors are closed here once they are sent."""
        self._out.append((frame, descriptors or []))
        self.pending += len(frame)
        return self.flush()

    def send_json(self, message: dict[str, Any], descriptors: list[int] | None = None) -> bool:
        """A message says how many descriptors travel with it: several may arrive in one read."""
        return self.send(
            pack_json({**message, "descriptors": len(descriptors)} if descriptors else message), descriptors
        )

    def take(self, message: dict[str, Any]) -> list[int]:
        """The descriptors that came with this message. The kernel drops those that a process at its limit has no room for."""
        if len(self.received) < message.get("descriptors", 0):
            raise WireError("descriptors that belong to a message were lost on the way")
        return [self.received.popleft() for _ in range(message.get("descriptors", 0))]

    def flush(self) -> bool:
        """Send what is queued, as far as it goes without waiting."""
        while self._out:
            frame, descriptors = self._out[0]
            try:
                sent = self._send(frame, descriptors)
            except (BlockingIOError, InterruptedError):
                return True
            except OSError:
                return False
            self.pending -= sent
            if sent == len(frame):
                self._out.popleft()
            else:
                self._out[0] = (frame[sent:], [])
        return True

    def close(self) -> None:
        for _, descriptors in self._out:
            for descriptor in descriptors:
                os.close(descriptor)
        self._out.clear()
        while self.received:
            os.close(self.received.popleft())
        self.sock.close()

    def _send(self, frame: bytes, descriptors: list[int]) -> int:
        if not descriptors:
            return self.sock.send(frame)
        sent = socket.send_fds(self.sock, [frame], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return sent


def peer_of(sock: socket.socket) -> tuple[int, int]:
    """The kernel's word on who connected: pid and user id."""
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", raw)
    return pid, uid
