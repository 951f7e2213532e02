"""Bad input gets a coded error with a hint, and nothing changes."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support.engine import Engine, messages

pytestmark = pytest.mark.shared

BAD_STARTS: list[tuple[dict[str, Any], Code]] = [
    ({"command": []}, Code.EMPTY_COMMAND),
    ({"command": [""]}, Code.EMPTY_COMMAND),
    ({"command": ["no-such-program-anywhere"]}, Code.NO_SUCH_PROGRAM),
    ({"command": ["/etc/passwd"]}, Code.NO_SUCH_PROGRAM),
    ({"command": ["x" * 100_000]}, Code.NO_SUCH_PROGRAM),
    ({"command": ["cat", "a\0b"]}, Code.BAD_INPUT),
    ({"command": ["cat"], "cwd": "/no/such/folder"}, Code.NO_SUCH_FOLDER),
    ({"command": ["cat"], "cwd": "relative"}, Code.NO_SUCH_FOLDER),
    ({"command": ["cat"], "cwd": "/etc/passwd"}, Code.NO_SUCH_FOLDER),
    ({"command": ["cat"], "name": ""}, Code.BAD_NAME),
    ({"command": ["cat"], "name": "a\x1b[31mb"}, Code.BAD_NAME),
    ({"command": ["cat"], "name": "a\nb"}, Code.BAD_NAME),
    ({"command": ["cat"], "name": "n" * 10_000}, Code.BAD_NAME),
    ({"command": ["cat"], "name": "-rf"}, Code.BAD_NAME),
    ({"command": ["cat"], "name": "a b"}, Code.BAD_NAME),
    ({"command": ["cat"], "name": "a,b"}, Code.BAD_NAME),
    ({"command": ["cat"], "name": "\u202eevil"}, Code.BAD_NAME),
    ({"command": ["cat"], "parent": "nobody"}, Code.NOT_FOUND),
    ({"command": ["cat"], "env": {"A=B": "c"}}, Code.BAD_INPUT),
    ({"command": ["cat"], "env": {"A": "c\0"}}, Code.BAD_INPUT),
    ({"command": ["cat"], "kind": "sort"}, Code.BAD_INPUT),
    ({"command": ["cat"], "rows": 0}, Code.BAD_INPUT),
    ({"command": ["cat"], "dryRun": True}, Code.BAD_INPUT),
    ({"command": "cat"}, Code.BAD_INPUT),
    ({"command": ["cat", "x" * 200_000]}, Code.START_FAILED),
]


@pytest.fixture(scope="module")
def shared() -> Any:
    from tests.support.engine import engine

    with engine() as made:
        made.start("cat", name="steady")
        yield made


def check_refused(shared: Engine, code: Code, operation: str, **arguments: Any) -> LampError:
    before = [session["id"] for session in shared.call("list_sessions", all=True)["sessions"]]
    folders = sorted(os.listdir(shared.folder / "sessions"))
    with pytest.raises(LampError) as caught:
        shared.call(operation, **arguments)
    assert caught.value.code is code, caught.value.message
    assert caught.value.hint
    assert len(caught.value.message) < 800
    assert caught.value.message.isprintable()
    assert [session["id"] for session in shared.call("list_sessions", all=True)["sessions"]] == before
    assert sorted(os.listdir(shared.folder / "sessions")) == folders
    return caught.value


@pytest.mark.parametrize(("arguments", "code"), BAD_STARTS, ids=lambda value: str(value)[:40])
def test_bad_starts_leave_nothing(shared: Engine, arguments: dict[str, Any], code: Code) -> None:
    given = {"cwd": "/", "environment": {"PATH": os.environ["PATH"]}, **arguments}
    check_refused(shared, code, "start_session", **given)


def test_a_taken_name(shared: Engine) -> None:
    error = check_refused(shared, Code.NAME_TAKEN, "start_session", command=["cat"], name="steady", cwd="/")
    assert "steady" in error.message


@pytest.mark.parametrize(
    "word", ["nothing", "", "zzzzzzzz", "a/../b", "'; DROP TABLE sessions; --", "\x1b[31m", "x" * 10_000, "💥"]
)
@pytest.mark.parametrize(
    "operation",
    [
        "get_session",
        "end_session",
        "kill_session",
        "send_input",
        "read_output",
        "wait_session",
        "protect_session",
        "attach_session",
    ],
)
def test_unknown_sessions(shared: Engine, operation: str, word: str) -> None:
    more = {"text": "x"} if operation == "send_input" else {}
    with pytest.raises(LampError) as caught:
        shared.call(operation, session=word, **more)
    no_selection = operation == "wait_session" and (" " in word or "\x1b" in word or len(word) > 1000)
    assert caught.value.code is (Code.BAD_INPUT if no_selection else Code.NOT_FOUND)
    assert caught.value.message.isprintable()


def test_an_ambiguous_beginning(shared: Engine) -> None:
    first = shared.start("true")["id"]
    shared.call("wait_session", session=first, timeout="120s")
    with pytest.raises(LampError) as caught:
        shared.call("kill_session", session=first[:1])
    assert caught.value.code is Code.AMBIGUOUS
    assert shared.show(first)["id"] == first
    assert shared.show(shared.show("steady")["id"][:8])["name"] == "steady"


@pytest.mark.parametrize("grace", ["-1", "-5s", "soon", "", "1e9", "5 years", "NaN", "99999999d"])
def test_times_that_are_none(shared: Engine, grace: str) -> None:
    check_refused(shared, Code.BAD_INPUT, "kill_session", session="steady", force=True, grace=grace)
    check_refused(shared, Code.BAD_INPUT, "wait_session", session="steady", timeout=grace or "x")


@pytest.mark.parametrize("keys", ["", "   ", "NoSuchKey", "C-", "C-é", "Up,Down"])
def test_keys_that_are_none(shared: Engine, keys: str) -> None:
    check_refused(shared, Code.BAD_INPUT, "send_input", session="steady", text=keys, keys=True)


@pytest.mark.parametrize("until", ["", "text=", "never", "idle2"])
def test_conditions_that_are_none(shared: Engine, until: str) -> None:
    check_refused(shared, Code.BAD_INPUT, "wait_session", session="steady", until=until)


def test_ten_thousand_arguments(shared: Engine) -> None:
    session = shared.start(
        "sh", "-c", "echo $#; exec sleep 100", "sh", *(f"argument-{number}" for number in range(10_000))
    )
    shared.call("wait_session", session=session["id"], until="text=10000", timeout="120s")
    listed = next(row for row in shared.call("list_sessions")["sessions"] if row["id"] == session["id"])
    assert len(" ".join(listed["command"])) < 1000
    assert len(shared.show(session["id"])["command"]) == 10_004
    shared.call("kill_session", session=session["id"], force=True, grace="0s")


GARBAGE = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"x"',
    b"\xff\xfe\x00",
    b'{"id":1}',
    b'{"id":1,"op":"nothing"}',
    b'{"id":1,"op":"list_sessions","args":[]}',
    b'{"op":{"a":1}}',
    b"[" * 100_000,
    b'{"id":1,"op":"start_session","args":{"command":["cat"]}}',
    b"GET / HTTP/1.1",
]


@pytest.mark.parametrize("line", GARBAGE, ids=lambda line: repr(line[:20]))
def test_garbage_at_the_door(shared: Engine, line: bytes) -> None:
    with shared.connect() as sock:
        sock.sendall(line + b"\n")
        answered = next(messages(sock))
        assert answered["error"]["code"] == "BAD_INPUT"
        assert answered["error"]["hint"]
    assert shared.call("get_status")["pid"]


def test_a_request_that_never_ends(shared: Engine) -> None:
    with shared.connect() as sock:
        sock.settimeout(120)
        try:
            for _ in range(20):
                sock.sendall(b"x" * (1 << 20))
        except (BrokenPipeError, ConnectionResetError):
            pass
        with sock.makefile("rb") as file:
            with contextlib.suppress(ConnectionResetError):
                assert json.loads(file.readline())["error"]["code"] == "BAD_INPUT"
    assert shared.call("get_status")["pid"]


def test_garbage_at_the_holders_doors(shared: Engine) -> None:
    steady = shared.show("steady")["id"]
    for path in (shared.home.shim_socket(steady), shared.home.keeper_socket):
        for garbage in (
            b"\0" * 100,
            b"\xff" * 5000,
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x00\x00\x00\x02\x01{}",
            b"\x00\x00\x00\x05\x01[1,2]",
            b"\x00\x00\x00\x03\x01nul",
        ):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(path)
                sock.sendall(garbage)
                sock.settimeout(120)
                try:
                    while sock.recv(4096) and len(garbage) > 9:
                        pass
                except OSError:
                    pass
    assert shared.show("steady")["holder_lost"] is False
    assert shared.start("true")["state"] == "running"


def test_a_home_that_is_too_long(shared: Engine) -> None:
    tried = shared.cli("ls", "--json", env={**os.environ, "LAMPLIGHTER_HOME": "/tmp/" + "x" * 120})
    assert tried.returncode == 2
    assert json.loads(tried.stdout)["error"]["code"] == "HOME_TOO_LONG"
    assert not os.path.exists("/tmp/" + "x" * 120)
