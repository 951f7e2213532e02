"""From a key to its echo: typed into a session's terminal, and heard back.

The echo is the terminal's own, so what is measured is the way there and back and not the program. tmux is heard over a
control connection (`%output`): pipe-pane would put one more process on its way.
"""

from __future__ import annotations

import array
import json
import socket
import time
from collections.abc import Callable, Iterator

from bench.lamps import Lamps, Warm, lamps
from bench.peers import Control, Tmux, control, tmux
from bench.scale import Scale
from bench.table import Row, Sample, Target
from lamplighter.holder.wire import OUTPUT, Frames, pack_input, unpack_output

Echo = Callable[[str], None]  # types a text and returns as soon as it was heard


def measure(scale: Scale) -> Iterator[Row]:
    with lamps() as ours, tmux() as server, control(server) as wired:
        ours.start_many(scale.neighbours)
        for _ in range(scale.neighbours):
            wired.start()
        session = ours.start()["id"]
        echoes: dict[str, Echo] = {
            "followed": _followed(ours, session),
            "waited": _waited(ours, session),
            "attached": attached(ours, session),
            "process": _by_process(server, wired),
            "control": _by_control(wired),
        }
        times: dict[str, list[float]] = {name: [] for name in echoes}
        for number in range(scale.echoes):
            for name, echo in echoes.items():
                times[name].append(timed(echo, f"{name}{number}."))
        yield from _rows({name: Sample(values, "ms") for name, values in times.items()})


def _rows(found: dict[str, Sample]) -> Iterator[Row]:
    process, direct = "tmux send-keys, a process each, %output", "tmux control connection, %output"
    yield Row("send → echo: send_input, read_output follows", found["followed"], found["process"], process, Target(1.0))
    yield Row("send → echo: send_input, read_output follows", found["followed"], found["control"], direct)
    yield Row("send → echo: send_input, then wait text=…", found["waited"], found["process"], process, Target(1.0))
    yield Row("send → echo: attached", found["attached"], found["control"], direct, Target(1.0))


def timed(echo: Echo, text: str) -> float:
    began = time.perf_counter()
    echo(text)
    return (time.perf_counter() - began) * 1000


def _followed(ours: Lamps, session: str) -> Echo:
    """One connection types, another follows the output."""
    typist, listener = Warm(ours.engine), Warm(ours.engine)
    listener.ask("read_output", session=session, mode="output", follow=True)
    listener.message()

    def echo(text: str) -> None:
        # Its answer is not waited for: the echo may well be here before it.
        typist.ask("send_input", session=session, text=text, enter=False)
        _listen(text, lambda: listener.message().get("item", {}).get("text", ""))

    return echo


def _waited(ours: Lamps, session: str) -> Echo:
    def echo(text: str) -> None:
        sent = ours.warm.call("send_input", session=session, text=text, enter=False)
        ours.warm.call("wait_session", session=session, until=f"text={text}", since=sent["cursor"], timeout="10s")

    return echo


def attached(ours: Lamps, session: str) -> Echo:
    """Straight to the shim, as a person who is attached."""
    channel, frames = _attach(ours, session), Frames()

    def hear() -> str:
        found = frames.feed(channel.recv(65536))
        return b"".join(unpack_output(payload)[2] for kind, payload in found if kind == OUTPUT).decode()

    def echo(text: str) -> None:
        channel.sendall(pack_input(text.encode()))
        _listen(text, hear)

    return echo


def _attach(ours: Lamps, session: str) -> socket.socket:
    """The descriptor comes beside the answer, so it needs a connection that reads no further than that."""
    with ours.engine.connect() as sock:
        request = {"id": 1, "op": "attach_session", "args": {"session": session}, "key": "attach"}
        sock.sendall(json.dumps(request).encode() + b"\n")
        _, ancillary, _, _ = sock.recvmsg(1 << 20, socket.CMSG_SPACE(4))
    got = array.array("i")
    got.frombytes(ancillary[0][2])
    return socket.socket(fileno=got[0])


def _by_process(server: Tmux, wired: Control) -> Echo:
    def echo(text: str) -> None:
        server.run("send-keys", "-t", "anchor", "-l", text)
        _listen(text, lambda: wired.line().decode())

    return echo


def _by_control(wired: Control) -> Echo:
    def echo(text: str) -> None:
        wired.say(f"send-keys -t anchor -l {text}")
        _listen(text, lambda: _output(wired.line()))

    return echo


def _output(line: bytes) -> str:
    return line.split(b" ", 2)[2].decode().rstrip("\n") if line.startswith(b"%output ") else ""


def _listen(text: str, hear: Callable[[], str]) -> None:
    """Until the text has come, in however many pieces."""
    heard = ""
    while text not in heard:
        heard += hear()
