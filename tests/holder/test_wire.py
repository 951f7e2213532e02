"""The wire: frames however they are cut, and each descriptor with the message that it came with."""

from __future__ import annotations

import json
import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.holder.wire import (
    INPUT,
    JSON,
    OUTPUT,
    Channel,
    Frames,
    WireError,
    pack_input,
    pack_json,
    pack_output,
    parse_json,
)


@given(st.lists(st.binary(max_size=300), max_size=12), st.lists(st.integers(1, 50), min_size=1, max_size=50))
def test_frames_come_out_as_they_went_in(payloads: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(pack_input(payload) for payload in payloads)
    frames, found, at = Frames(), list[tuple[int, bytes]](), 0
    while at < len(stream):
        for cut in cuts:
            found += frames.feed(stream[at : at + cut])
            at += cut
    assert found == [(INPUT, payload) for payload in payloads]


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff\x01", b"\0\0\0\1\7x", b"GET / HTTP/1.1\r\n\r\n"])
def test_what_is_no_frame_is_refused(garbage: bytes) -> None:
    with pytest.raises(WireError):
        Frames().feed(garbage)


@pytest.mark.parametrize("payload", [b"", b"nul", b"[1]", b'"x"', b"1", b"\xff"])
def test_what_is_no_object_is_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        parse_json(payload)


def test_descriptors_go_with_their_message_also_in_one_read() -> None:
    near, far = (Channel(sock) for sock in socket.socketpair())
    readers, writers = zip(*(os.pipe() for _ in range(3)), strict=True)
    near.send_json({"n": 1})
    near.send_json({"n": 2}, [os.dup(readers[0])])
    near.send(pack_output(5, 1, b"between"))
    near.send_json({"n": 3}, [os.dup(readers[1]), os.dup(readers[2])])
    found: list[tuple[int, bytes]] = []
    while len(found) < 4:
        found += far.read() or []
    assert [kind for kind, _ in found] == [JSON, JSON, OUTPUT, JSON]
    given_to = [far.take(json.loads(payload)) for kind, payload in found if kind == JSON]
    assert [len(descriptors) for descriptors in given_to] == [0, 1, 2]
    for number, (descriptor, writer) in enumerate(zip([d for ds in given_to for d in ds], writers, strict=True)):
        os.write(writer, str(number).encode())
        assert os.read(descriptor, 1) == str(number).encode()
        os.close(descriptor)
    for descriptor in (*readers, *writers):
        os.close(descriptor)
    near.close()
    far.close()


def test_a_frame_for_nobody_is_not_lost_on_a_slow_one() -> None:
    """What does not fit is queued, in order, and goes when there is room."""
    near, far = (Channel(sock) for sock in socket.socketpair())
    for number in range(2000):
        assert near.send(pack_json({"n": number, "text": "x" * 1000}))
    assert near.pending
    found: list[int] = []
    while len(found) < 2000:
        found += [json.loads(payload)["n"] for _, payload in far.read() or []]
        assert near.flush()
    assert found == list(range(2000))
    near.close()
    far.close()
