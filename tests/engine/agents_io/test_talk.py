"""Talking to sessions: input literally, output by cursor, screens as a person sees them, waiting, attaching."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from lamplighter.holder.wire import JSON, OUTPUT, Frames, pack_input, pack_json, unpack_output
from tests.support.engine import Engine, engine, messages, send
from tests.support.processes import wait_until

pytestmark = pytest.mark.shared

TEXTS = [
    "plain",
    "-rf /",
    "--help",
    "'quotes' \"double\" `tick` $HOME \\n",
    "Wörter 漢字 👩‍👩‍👧 🏳️‍🌈",
    "tab\there",
    "C-c",
    "a;b|c&d>e",
    " ",
    "%s %d {}",
]


@pytest.mark.parametrize("headless", [False, True], ids=["terminal", "headless"])
def test_text_is_sent_literally(lit: Engine, headless: bool) -> None:
    target = lit.folder / "typed"
    session = lit.start("sh", "-c", f"stty raw -echo 2>/dev/null; echo on; exec cat > {target}", headless=headless)[
        "id"
    ]
    lit.call("wait_session", session=session, until="text=on", timeout="120s")
    for text in TEXTS:
        lit.call("send_input", session=session, text=text)
    expected = "".join(text + ("\n" if headless else "\r") for text in TEXTS)
    assert wait_until(lambda: target.exists() and target.read_bytes() == expected.encode()), target.read_bytes()
    big = "x" * 300_000
    lit.call("send_input", session=session, text=big, enter=False)
    assert wait_until(lambda: target.stat().st_size == len(expected.encode()) + len(big))


def test_keys_by_name(lit: Engine) -> None:
    target = lit.folder / "typed"
    session = lit.start("sh", "-c", f"stty raw -echo; echo on; exec cat > {target}")["id"]
    lit.call("wait_session", session=session, until="text=on", timeout="120s")
    lit.call("send_input", session=session, text="Up C-c M-x F5 S-Left Enter q", keys=True)
    expected = b"\x1b[A\x03\x1bx\x1b[15~\x1b[1;2D\rq"
    assert wait_until(lambda: target.exists() and target.read_bytes() == expected)


def test_ctrl_c_by_name_interrupts(lit: Engine) -> None:
    session = lit.start("sh", "-c", "trap 'echo caught; exit 3' INT; echo on; while :; do sleep 0.01; done")["id"]
    lit.call("wait_session", session=session, until="text=on", timeout="120s")
    lit.call("send_input", session=session, text="C-c", keys=True)
    assert lit.call("wait_session", session=session, timeout="120s")["exit"] == {"code": 3}


def test_output_by_cursor_skips_and_repeats_nothing(lit: Engine) -> None:
    session = lit.start("sh", "-c", "for i in $(seq 3000); do echo zeile-ü-$i; done; sleep 100", headless=True)["id"]
    lit.call("wait_session", session=session, until="text=zeile-ü-3000", timeout="120s")
    text, cursor = "", 0
    while True:
        page = lit.call("read_output", session=session, mode="output", since=cursor, limit=997)
        text += page["text"]
        cursor = page["cursor"]
        if not page["more"]:
            break
    assert text == "".join(f"zeile-ü-{number}\n" for number in range(1, 3001))


def test_follow_streams_until_the_end(lit: Engine) -> None:
    session = lit.start("sh", "-c", "read x; for i in $(seq 500); do echo $i; done; exit 4", headless=True)["id"]
    got: list[str] = []
    with lit.connect() as sock:
        send(sock, "read_output", uuid.uuid4().hex, {"session": session, "mode": "output", "follow": True, "since": 0})
        lit.call("send_input", session=session, text="go")
        for message in messages(sock):
            if "result" in message:
                break
            got.append(message["item"]["text"])
    assert "".join(got) == "".join(f"{number}\n" for number in range(1, 501))


def test_stdout_and_stderr_are_kept_apart(lit: Engine) -> None:
    session = lit.start("sh", "-c", "echo out; echo err >&2; exit 0", headless=True)["id"]
    lit.call("wait_session", session=session, timeout="120s")
    assert set(lit.output(session).split()) == {"out", "err"}


def test_broken_utf8_is_shown_as_such(lit: Engine) -> None:
    session = lit.start("sh", "-c", r"printf 'a\377\376b\n'; printf '\303'", headless=True)["id"]
    lit.call("wait_session", session=session, timeout="120s")
    assert lit.output(session) == "a\ufffd\ufffdb\n\ufffd"


def test_a_screen_is_what_a_person_sees(lit: Engine) -> None:
    enter, leave = r"printf '\033[?1049h\033[2J\033[H'", r"printf '\033[?1049l'"
    drawn = r"printf 'full screen 漢字\r\n'; printf '\033[5;10Hhere'"
    script = f"echo before; {enter}; {drawn}; read x; {leave}; echo after; read y"
    session = lit.start("bash", "-c", script, rows=10, cols=40)["id"]
    lit.call("wait_session", session=session, until="text=here", timeout="120s")
    page = lit.call("read_output", session=session)
    assert page["text"].splitlines()[0] == "full screen 漢字"
    assert page["text"].splitlines()[4] == "         here"
    assert (page["rows"], page["cols"], page["at"]) == (10, 40, [13, 4])
    lit.call("send_input", session=session, text="")
    lit.call("wait_session", session=session, until="text=after", timeout="120s")
    assert lit.call("read_output", session=session)["text"].splitlines() == ["before", "after"]


def test_a_program_that_asks_its_terminal_is_answered(lit: Engine) -> None:
    """Nobody is attached, so Lamplighter is the terminal: the cursor's place is told, which is nobody's input."""
    script = r"stty raw -echo; printf 'abc\033[6n'; dd bs=1 count=6 2>/dev/null | od -c | head -1; read x; read y"
    session = lit.start("sh", "-c", script)["id"]
    lit.call("wait_session", session=session, until="text=033   [   1   ;   4   R", timeout="120s")
    assert lit.show(session)["last_input_at"] is None
    lit.call("send_input", session=session, text="")
    assert lit.show(session)["last_input_at"] is not None


def test_waiting(lit: Engine) -> None:
    session = lit.start("sh", "-c", "echo ready; read x; echo done $x; exec cat")["id"]
    assert lit.call("wait_session", session=session, until="text=ready", timeout="120s")["met"] == "text=ready"
    lit.call("send_input", session=session, text="ready-again")
    answered = lit.call("wait_session", session=session, until="text=done ready-again", timeout="120s")
    assert lit.call("wait_session", session=session, until="idle", quiet="0.3s", timeout="120s")["state"] == "running"
    with pytest.raises(LampError) as caught:
        lit.call("wait_session", session=session, until="text=done", since=answered["cursor"], timeout="0.2s")
    assert caught.value.code is Code.TIMEOUT
    with pytest.raises(LampError) as caught:
        lit.call("wait_session", session=session, until="ended", timeout="0.2s")
    assert caught.value.code is Code.TIMEOUT
    waiter = threading.Thread(target=lambda: lit.call("kill_session", session=session, force=True, grace="0s"))
    waiter.start()
    with pytest.raises(LampError) as caught:
        lit.call("wait_session", session=session, until="text=never", timeout="120s")
    waiter.join()
    assert caught.value.code is Code.ENDED


def test_waiting_for_a_question_and_for_the_first_of_several(lit: Engine) -> None:
    """What `wait` calls a question, listings do too."""
    asks = lit.start("sh", "-c", "printf 'Proceed? [y/N] '; read x; echo got $x; exit 3", name="asks")["id"]
    found = lit.call("wait_session", session=asks, until="ended,waiting", timeout="120s")
    assert (found["met"], found["state"], found["failed"]) == ("waiting", "running", False)
    assert found["asks"] == "sh waits for an answer: Proceed? [y/N]"
    shown = lit.show(asks)
    assert (shown["verdict"], shown["evidence"][0]) == ("waiting", found["asks"])
    idle = lit.call("wait_session", session=asks, until=["idle"], quiet="0.1s", timeout="120s")
    assert (idle["met"], idle["asks"]) == ("idle", found["asks"])
    lit.call("send_input", session=asks, text="y")
    found = lit.call("wait_session", session=asks, until=["ended", "text=never"], timeout="120s")
    assert (found["met"], found["exit"], found["failed"], found["asks"]) == ("ended", {"code": 3}, True, None)
    again = lit.call("wait_session", session=asks, until="idle,waiting,ended,text=got y", since=0, timeout="120s")
    assert (again["met"], again["failed"]) == ("text=got y", False), "an end comes after all else"
    with pytest.raises(LampError) as caught:
        lit.call("wait_session", session=asks, until="waiting,idle", timeout="120s")
    assert caught.value.code is Code.ENDED


def test_a_listing_knows_a_question_by_itself(lit: Engine) -> None:
    """Nobody has looked at it before: neither a wait nor the patrol."""
    asks = lit.start("sh", "-c", "printf 'Overwrite? (y/n) '; read x; exec sleep 300")["id"]
    plain = lit.start("sh", "-c", "printf 'counting '; read x")["id"]
    assert wait_until(lambda: lit.show(asks)["verdict"] == "waiting")
    assert not lit.show(plain)["evidence"][0].endswith("?")
    lit.call("send_input", session=asks, text="y")
    assert wait_until(lambda: lit.show(asks)["verdict"] == "working")


def test_one_that_computes_is_not_idle(lit: Engine) -> None:
    session = lit.start("sh", "-c", "while :; do :; done")["id"]
    with pytest.raises(LampError) as caught:
        lit.call("wait_session", session=session, until="idle", quiet="0.1s", timeout="1.5s")
    assert caught.value.code is Code.TIMEOUT


@pytest.fixture
def attach(lit: Engine) -> Iterator[Callable[..., Viewer]]:
    """Attaches somebody to a session, who leaves at the end of the test."""
    viewers: list[Viewer] = []

    def make(session: str, **arguments: Any) -> Viewer:
        viewers.append(Viewer(lit, session, **arguments))
        return viewers[-1]

    yield make
    for viewer in viewers:
        viewer.sock.close()


class Viewer:
    """Somebody attached, over the descriptor that the daemon passes."""

    def __init__(self, lit: Engine, session: str, **arguments: Any) -> None:
        with lit.connect() as sock:
            send(sock, "attach_session", uuid.uuid4().hex, {"session": session, **arguments})
            data, descriptors, _, _ = socket.recv_fds(sock, 1 << 20, 1)
            while not data.endswith(b"\n"):
                data += sock.recv(1 << 20)
        self.result = json.loads(data)["result"]
        self.sock = socket.socket(fileno=descriptors[0])
        self.sock.settimeout(120)
        self.frames = Frames()
        self.output = b""
        self.events: list[dict[str, Any]] = []

    def pump(self) -> bool:
        data = self.sock.recv(65536)
        for kind, payload in self.frames.feed(data):
            if kind == OUTPUT:
                self.output += unpack_output(payload)[2]
            elif kind == JSON:
                self.events.append(json.loads(payload))
        return bool(data)

    def until(self, text: bytes) -> None:
        while text not in self.output:
            assert self.pump(), self.output[-500:]

    def until_event(self, name: str) -> dict[str, Any]:
        while True:
            for event in self.events:
                if event["event"] == name:
                    return event
            assert self.pump(), self.events

    def type(self, data: bytes) -> None:
        self.sock.sendall(pack_input(data))


ASKING = r"""
import os, sys, tty
tty.setraw(0)
said = sys.stdout.buffer
said.write(b"ready"); said.flush()
heard = b""
while data := os.read(0, 1024):
    heard += data
    if b"Q" in heard:
        heard = heard.replace(b"Q", b"")
        said.write(b"\x1b[2;3H\x1b["); said.flush()
        said.write(b"6n"); said.flush()
    while b"R" in heard:
        answer, heard = heard.split(b"R", 1)
        said.write(b"<" + answer.lstrip(b"\x1b") + b">"); said.flush()
"""


def answers(lit: Engine, session: str) -> str:
    """All that it was answered, once it has gone on to read what was sent after that."""
    lit.call("send_input", session=session, text="[endR", enter=False)
    lit.call("wait_session", session=session, until="text=<[end>", since=0, timeout="120s")
    return "".join(re.findall("<.*?>", lit.output(session)))


def asking(lit: Engine) -> str:
    session = lit.start(sys.executable, "-c", ASKING)["id"]
    lit.call("wait_session", session=session, until="text=ready", since=0, timeout="120s")
    return session


def test_who_only_watches_leaves_the_answer_to_us(lit: Engine, attach: Callable[..., Viewer]) -> None:
    """Also of a question that comes in two parts; and those who watch do not even see it."""
    session = asking(lit)
    watcher = attach(session, read_only=True)
    watcher.sock.sendall(pack_json({"op": "here"}))
    lit.call("send_input", session=session, text="Q", enter=False)
    watcher.until(b"<[2;3>")
    assert b"\x1b[6n" not in watcher.output
    assert b"\0\0\0\0" in watcher.output
    assert answers(lit, session) == "<[2;3><[end>"


def test_of_several_terminals_one_answers(lit: Engine, attach: Callable[..., Viewer]) -> None:
    """Whoever came last, as long as they are there; the others do not see the question."""
    session = asking(lit)
    first, second = attach(session), attach(session)
    second.sock.sendall(pack_json({"op": "resize", "rows": 31, "cols": 99}))
    first.until_event("resize")  # so the other has come for good
    first.type(b"Q")
    second.until(b"\x1b[6n")
    second.type(b"\x1b[7;7R")
    first.until(b"<[7;7>")
    assert b"\x1b[6n" not in first.output
    second.sock.close()
    assert wait_until(lambda: lit.show(session)["attached"] == 1)
    first.type(b"Q")
    first.until(b"\x1b[6n")
    first.type(b"\x1b[8;8R")
    first.until(b"<[8;8>")
    assert answers(lit, session) == "<[7;7><[8;8><[end>"


@pytest.mark.alone
def test_several_people_outlast_the_daemon(lit: Engine, attach: Callable[..., Viewer]) -> None:
    session = lit.start("cat")["id"]
    people = [attach(session) for _ in range(3)]
    watcher = attach(session, read_only=True)
    assert lit.show(session)["attached"] == 4
    people[0].type(b"hello from one\r")
    for person in [*people, watcher]:
        person.until(b"hello from one\r\nhello from one")
    lit.kill(lit.daemon())
    people[1].type(b"the daemon is gone\r")
    for person in people:
        person.until(b"the daemon is gone\r\nthe daemon is gone")
    watcher.type(b"not heard\r")
    people[2].sock.sendall(pack_json({"op": "resize", "rows": 31, "cols": 99}))
    assert people[0].until_event("resize")["cols"] == 99
    people[0].sock.close()
    assert wait_until(lambda: lit.show(session)["attached"] == 3)
    assert "not heard" not in lit.output(session)
    with pytest.raises(LampError) as caught:
        lit.call("kill_session", session=session)
    assert caught.value.code is Code.ACTIVE
    ended = lit.call("end_session", session=session)
    assert people[1].until_event("ended")["certificate"]["processes"] == ended["certificate"]["processes"]


def test_the_size_is_that_of_whoever_was_there_last(lit: Engine, attach: Callable[..., Viewer]) -> None:
    session = lit.start("sh", "-c", "trap 'stty size' WINCH; while :; do read x; done")["id"]
    small = attach(session, rows=20, cols=70)
    large = attach(session, rows=40, cols=120)
    small.until(b"40 120")
    small.type(b"x\r")
    small.until(b"20 70")
    large.type(b"x\r")
    large.sock.close()
    assert wait_until(lambda: lit.show(session)["attached"] == 1)
    assert wait_until(lambda: lit.call("read_output", session=session)["cols"] == 70)
    small.sock.sendall(pack_json({"op": "resize", "rows": 25, "cols": 90}))
    assert wait_until(lambda: lit.call("read_output", session=session)["cols"] == 90)


def test_attaching_shows_the_screen_and_all_that_follows(lit: Engine, attach: Callable[..., Viewer]) -> None:
    script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo count $i; done; read x"
    session = lit.start("sh", "-c", script, rows=5, cols=30)["id"]
    lit.call("wait_session", session=session, until="text=count 50", timeout="120s")
    viewer = attach(session)
    viewer.until(b"count 20000\r\n")
    first = viewer.output.split(b"\r\n")[1 if viewer.output[:1] != b"c" else 0]
    numbers = [int(line.split()[1]) for line in viewer.output.split(b"\r\n")[1:-1] if line.startswith(b"count")]
    assert numbers == list(range(numbers[0], 20001)), first
    full = lit.call("read_output", session=session, mode="output", since=viewer.result["offset"], limit=1 << 23)["text"]
    assert full.encode() == viewer.output


def test_a_slow_viewer_skips_ahead_and_is_told(lit: Engine, attach: Callable[..., Viewer]) -> None:
    session = lit.start("sh", "-c", "read x; head -c 30000000 /dev/zero | tr '\\0' y; echo; echo END; read x")["id"]
    viewer = attach(session)
    lit.call("send_input", session=session, text="go")
    lit.call("wait_session", session=session, until="text=END", timeout="120s")  # it did not wait for the viewer
    skip = viewer.until_event("skip")
    assert skip["to"] > skip["from"] > viewer.result["offset"]
    lit.call("send_input", session=session, text="x")


def recorded(lit: Engine, session: str, **arguments: Any) -> tuple[list[Any], int]:
    """The lines of a recording, and how many bytes of it are said to be lost."""
    text, lost = "", 0
    with lit.connect() as sock:
        send(sock, "read_output", uuid.uuid4().hex, {"session": session, "mode": "cast", "follow": True, **arguments})
        for message in messages(sock):
            page = message.get("item") or message["result"]
            text, lost = text + page["text"], lost + page["lost"]
            if "result" in message:
                break
    return [json.loads(line) for line in text.splitlines()], lost


def test_a_recording_plays(lit: Engine) -> None:
    session = lit.start("sh", "-c", "echo one; echo zwei-ü; exit 0")["id"]
    lit.call("wait_session", session=session, timeout="120s")
    lines, lost = recorded(lit, session)
    assert (lines[0]["version"], lost) == (2, 0)
    assert "".join(event[2] for event in lines[1:] if event[1] == "o") == "one\r\nzwei-ü\r\n"


def test_the_last_part_of_a_recording(lit: Engine) -> None:
    """It begins with the screen as it stood there, also when that was drawn in what is not in it."""
    draw = "printf '\\033[?1049h\\033[2J\\033[1;1Htitle'; printf '\\033[3;1H%09d' $(seq 9000); printf '\\033[5;1Hlast'"
    session = lit.start("sh", "-c", draw, rows=6, cols=30)["id"]
    lit.call("wait_session", session=session, timeout="120s")
    whole, _ = recorded(lit, session)
    since = lit.show(session)["output"] - 1000
    (header, (at, _, screen), *events), lost = recorded(lit, session, since=since)
    assert (header["width"], header["height"], at, lost) == (30, 6, 0.0, 0)
    assert header["timestamp"] >= whole[0]["timestamp"]
    assert "title" in screen
    assert "".join(event[2] for event in events) == "".join(event[2] for event in whole[1:])[-1000:]
    assert "last" in events[-1][2]
    said = lit.cli("read", session, "--cast", "--since", str(since))
    assert json.loads(said.stdout.splitlines()[1])[2] == screen


def test_a_recording_says_what_is_not_kept() -> None:
    with engine(LAMPLIGHTER_LOG_LIMIT="400000", LAMPLIGHTER_LOG_SEGMENT="100000") as lit:
        session = lit.start("sh", "-c", "seq 1 200000")["id"]
        lit.call("wait_session", session=session, timeout="120s")
        printed = lit.show(session)["output"]
        _, lost = recorded(lit, session)
        assert printed - 400_000 < lost < printed
        assert recorded(lit, session, since=1000)[1] == lost - 1000
        assert recorded(lit, session, since=printed - 10)[1] == 0


@pytest.mark.alone
def test_nothing_of_the_environment_is_kept_or_shown(lit: Engine) -> None:
    secret = "s3cr3t-" + uuid.uuid4().hex
    session = lit.start("sleep", "100", env={"API_KEY": secret})["id"]
    shown = [lit.show(session), lit.call("list_sessions", all=True), lit.events()]
    assert secret not in json.dumps(shown)
    lit.kill(lit.daemon())
    lit.call("get_status")
    for folder, _, files in os.walk(lit.folder):
        for name in files:
            if not name.endswith(".sock"):
                assert secret.encode() not in (Path(folder) / name).read_bytes(), name


def test_files_and_sockets_are_the_users_alone(lit: Engine) -> None:
    session = lit.start("sh", "-c", "umask; echo x > made; ls -l made", cwd=str(lit.folder), umask=0o027)["id"]
    lit.call("wait_session", session=session, timeout="120s")
    assert "0027" in lit.output(session)
    assert "-rw-r-----" in lit.output(session)
    for folder, folders, files in os.walk(lit.folder):
        for name in folders:
            assert (Path(folder) / name).stat().st_mode & 0o077 == 0, name
        for name in files:
            if name != "made":
                assert (Path(folder) / name).stat().st_mode & 0o077 == 0, name
