"""A full disk, a locked store, a reboot, an older holder: a clear error, sessions go on, nothing half-written."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest

from lamplighter.errors import Code, LampError
from lamplighter.holder.wire import pack_input, pack_json
from lamplighter.store.migrations import MIGRATIONS
from tests.support.disk import fill, make_room, small_disk
from tests.support.engine import Engine, engine, send
from tests.support.processes import alive, inspect, wait_until


@pytest.fixture
def small() -> Iterator[Engine]:
    with small_disk() as made:
        yield made


def test_a_full_disk(small: Engine) -> None:
    session = small.start("sh", "-c", "while read n; do head -c $n /dev/zero | tr '\\0' x; echo; echo did $n; done")[
        "id"
    ]
    small.call("send_input", session=session, text="1000")
    small.call("wait_session", session=session, until="text=did 1000", timeout="120s")
    fill(small)
    with pytest.raises(LampError) as caught:
        small.start("cat")
    assert caught.value.code is Code.DISK_FULL
    assert caught.value.hint
    listed = small.call("list_sessions", all=True)["sessions"]
    assert [(row["id"], row["state"]) for row in listed] == [(session, "running")]
    assert os.listdir(small.folder / "sessions") == [session]
    offset = listed[0]["output"]
    # Typed at the shim itself: the session goes on reading and printing, though none of it can be kept.
    _type(small, session, b"100000\r")
    assert wait_until(lambda: small.show(session)["output"] > offset + 100_000)
    make_room(small)
    small.call("send_input", session=session, text="10")
    small.call("wait_session", session=session, until="text=did 10\r", since=offset, timeout="120s")
    page = small.call("read_output", session=session, mode="output", since=0)
    assert page["lost"] >= 100_000 - 8192
    assert small.call("kill_session", session=session, force=True)["state"] == "ended"


def _type(lit: Engine, session: str, data: bytes) -> None:
    """Through somebody who is attached, as that needs no room in the store."""
    with lit.connect() as sock:
        send(sock, "attach_session", uuid.uuid4().hex, {"session": session})
        answer, descriptors, _, _ = socket.recv_fds(sock, 1 << 20, 1)
    assert descriptors, answer
    with socket.socket(fileno=descriptors[0]) as viewer:
        viewer.sendall(pack_input(data))
        viewer.sendall(pack_json({"op": "detach"}))
        while viewer.recv(65536):
            pass


def test_a_locked_store(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    db = sqlite3.connect(lit.home.database, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LampError) as caught:
        lit.start("cat")
    assert caught.value.code is Code.STORE_BUSY
    assert os.listdir(lit.folder / "sessions") == [session]
    db.execute("ROLLBACK")
    db.close()
    assert lit.start("cat")["name"] == "cat-2"


def test_an_end_during_a_lock_is_written_later(lit: Engine) -> None:
    session = lit.start("sh", "-c", "read x; exit 9")["id"]
    db = sqlite3.connect(lit.home.database, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    os.kill(lit.show(session)["pid"], signal.SIGKILL)
    assert wait_until(lambda: (lit.folder / "sessions" / session / "exit.json").exists())
    db.execute("ROLLBACK")
    db.close()
    assert lit.call("wait_session", session=session, timeout="120s")["exit"] == {"signal": "KILL"}


def test_a_reboot_ends_what_ran(lit: Engine) -> None:
    """Everything of it killed, and the store says another boot: what ran is ended, how: lost."""
    running = lit.start("cat", name="running")["id"]
    ending = lit.start("cat", name="ending")["id"]
    shims = [lit.shim(running), lit.shim(ending)]
    pids = [lit.show(running)["pid"], lit.show(ending)["pid"]]
    os.kill(lit.daemon()[0], signal.SIGSTOP)
    for process in (lit.keeper(), lit.daemon(), *shims):
        lit.kill(process)
    assert wait_until(lambda: not any(inspect(pid) for pid in pids))
    with closing(sqlite3.connect(lit.home.database)) as db, db:
        db.execute("UPDATE sessions SET boot = 'another-boot'")
    db.close()
    for session in (running, ending):
        shown = lit.show(session)
        assert (shown["state"], shown["how"]) == ("ended", "lost")
        assert "restarted" in shown["ending"]["reason"]
    assert lit.call("list_sessions")["sessions"] == []
    assert lit.start("cat", name="running")["id"] > ending


def test_a_session_that_lost_everything_is_ended_with_what_is_known(lit: Engine) -> None:
    """The same boot: shim, keeper and daemon all killed. No record says running without a process behind it."""
    session = lit.start("sh", "-c", "trap '' HUP; sleep 300; true")["id"]
    shown = lit.show(session)
    os.kill(lit.daemon()[0], signal.SIGSTOP)
    for process in (lit.keeper(), lit.daemon(), lit.shim(session)):
        lit.kill(process)
    after = lit.show(session)
    assert (after["state"], after["how"]) == ("ended", "lost")
    assert wait_until(lambda: not any(inspect(process["pid"]) for process in shown["tree"]))


def test_a_store_of_a_newer_version_is_left_alone(lit: Engine) -> None:
    lit.call("get_status")
    lit.call("stop_daemon")
    assert wait_until(lambda: not alive(*lit.keeper()))
    with closing(sqlite3.connect(lit.home.database)) as db, db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    tried = lit.cli("ls", "--json")
    assert tried.returncode == 3
    assert "newer" in json.loads(tried.stdout)["error"]["message"]
    with closing(sqlite3.connect(lit.home.database)) as db, db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    db.close()


def test_logs_rotate_under_a_limit_and_say_what_is_gone() -> None:
    with engine(LAMPLIGHTER_LOG_LIMIT="400000", LAMPLIGHTER_LOG_SEGMENT="100000") as lit:
        session = lit.start("sh", "-c", "seq 1 300000; sleep 100", headless=True)["id"]
        lit.call("wait_session", session=session, until="text=300000", timeout="120s")
        folder = lit.folder / "sessions" / session
        assert sum(file.stat().st_size for file in folder.glob("log-*")) <= 400_000
        page = lit.call("read_output", session=session, mode="output", since=0)
        assert page["lost"] > 1_000_000
        total = sum(len(str(number)) + 1 for number in range(1, 300_001))
        assert page["lost"] + len(page["text"]) == total
        assert lit.call("read_output", session=session, mode="output", lines=2)["text"] == "299999\n300000\n"


def test_a_screen_survives_rotation() -> None:
    """What stands on it was printed in a part of the log that is gone: a keyframe remembers it."""
    with engine(LAMPLIGHTER_LOG_LIMIT="400000", LAMPLIGHTER_LOG_SEGMENT="100000") as lit:
        count = r"while [ $i -lt $1 ]; do i=$((i+1)); printf '\033[3;1Hcount %d' $i; done"
        script = rf"i=0; f() {{ {count}; }}; stty -echo; printf '\033[?1049h\033[2J\033[1;1Htitle'; while read n; do f $n; done"
        session = lit.start("bash", "-c", script, rows=6, cols=30)["id"]
        lit.call("wait_session", session=session, until="text=title", timeout="120s")
        for goal in range(5000, 60001, 5000):
            lit.call("send_input", session=session, text=str(goal))
            lit.call("wait_session", session=session, until=f"text=count {goal}", timeout="120s")
        folder = lit.folder / "sessions" / session
        assert not list(folder.glob("log-00000000000000000000-*"))
        lit.kill(lit.daemon())
        page = lit.call("read_output", session=session)
        assert page["text"].splitlines()[:3] == ["title", "", "count 60000"]
        assert page["exact"] is True


def test_a_gigabyte_of_output(lit: Engine) -> None:
    session = lit.start("sh", "-c", "head -c 1000000000 /dev/zero; echo; echo END; sleep 100", headless=True)["id"]
    lit.call("wait_session", session=session, until="text=END", timeout="110s")
    assert lit.show(session)["output"] == 1_000_000_005
    folder = lit.folder / "sessions" / session
    assert sum(file.stat().st_size for file in folder.iterdir()) <= (64 << 20) + 65536
    lost = lit.call("read_output", session=session, mode="output", since=0, limit=1000)["lost"]
    assert lost > 900_000_000


def test_prune_shows_and_does(lit: Engine) -> None:
    old, new = (lit.start("sh", "-c", f"echo {name}")["id"] for name in ("old", "new"))
    for session in (old, new):
        lit.call("wait_session", session=session, timeout="120s")
    with closing(sqlite3.connect(lit.home.database)) as db, db:
        earlier = "ended_at = ended_at - 31 * 86400, ending = json_set(ending, '$.at', ended_at - 31 * 86400)"
        db.execute(f"UPDATE sessions SET {earlier} WHERE id = ?", (old,))
    db.close()
    shown = lit.call("prune_logs")
    assert [row["id"] for row in shown["sessions"]] == [old]
    assert (lit.folder / "sessions" / old).exists()
    assert lit.call("prune_logs", apply=True)["applied"] is True
    assert not (lit.folder / "sessions" / old).exists()
    assert (lit.folder / "sessions" / new).exists()
    assert lit.show(old)["exit"] == {"code": 0}
    assert lit.events()[-1]["action"] == "prune"
