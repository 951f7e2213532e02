"""Sessions in the user's own tmux: an ordinary pane to tmux, an ordinary session to us, and a proven end."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, ConflictError, LampError, UnavailableError
from lamplighter.holder import relay
from tests.support import asker
from tests.support.engine import Engine, engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mortality import deaths
from tests.support.own_tmux import OwnTmux
from tests.support.processes import alive, inspect, none_left, wait_until

pytestmark = [pytest.mark.shared, pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")]
LAMP = f"{sys.executable} -m lamplighter.frontends.cli.main"


@pytest.fixture
def tmux() -> Iterator[OwnTmux]:
    """The user's tmux. Nothing of ours may still be in it at the end."""
    made = OwnTmux()
    yield made
    made.close()


@pytest.fixture
def viewer() -> Iterator[OwnTmux]:
    """Another tmux, as the terminal that a person sits at."""
    made = OwnTmux()
    yield made
    made.close()


def shell(lit: Engine, tmux: OwnTmux, name: str = "work") -> str:
    """A session with an interactive shell, at its prompt."""
    session = tmux.start(lit, "bash", "--norc", name=name, env={"PS1": "ready> "})["id"]
    lit.call("wait_session", session=session, until="text=ready> ", timeout="120s")
    return session


def attach(viewer: OwnTmux, tmux: OwnTmux, name: str, rows: int = 30, cols: int = 100) -> None:
    """Somebody attaches by tmux."""
    size = ("-x", str(cols), "-y", str(rows))
    command = f"env -u TMUX TMUX_TMPDIR={tmux.folder} tmux -u attach -t ={name}"
    viewer.ask("new-session", "-d", "-s", "person", *size, ";", "set-option", "status", "off")
    viewer.ask("respawn-pane", "-k", "-t", "person", command)
    assert wait_until(lambda: tmux.say("#{session_attached}", name) == "1")


# -- being one


def test_a_kill_is_proven_and_leaves_no_pane(both: Engine, tmux: OwnTmux, mark: str) -> None:
    names = ("deaf", "setsid", "daemon", "stopped")
    session = both.escapees(*names, mark=mark, name="work", tmux=True, environment=tmux.environment)
    assert tmux.sessions() == ["work"]
    assert both.show("work")["driver"] == "tmux"
    ended = both.call("kill_session", session=session["id"], force=True, grace="0.2s")
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
    assert ended["certificate"]["guarantee"] == both.guarantee
    assert len(ended["certificate"]["processes"]) > len(names)
    assert none_left(mark)
    assert tmux.sessions() == []


def test_job_control_and_names_stay_right(lit: Engine, tmux: OwnTmux) -> None:
    session = shell(lit, tmux)
    assert wait_until(lambda: tmux.say("#{pane_current_command}", "work") == "bash")
    tmux.type("work", "sleep 1000", "Enter")
    assert wait_until(lambda: tmux.say("#{pane_current_command}", "work") == "sleep")
    tmux.type("work", "C-z")
    tmux.until("work", "Stopped")
    assert wait_until(lambda: tmux.say("#{pane_current_command}", "work") == "bash")
    tmux.type("work", "fg", "Enter")
    assert wait_until(lambda: tmux.say("#{pane_current_command}", "work") == "sleep")
    tmux.type("work", "C-c")
    assert wait_until(lambda: tmux.say("#{pane_current_command}", "work") == "bash")
    lit.call("send_input", session=session, text="cd /usr; tty; test -t 0 && echo a-terminal $TERM")
    lit.call("wait_session", session=session, until="text=a-terminal tmux", timeout="120s")
    assert tmux.say("#{pane_tty}", "work") in lit.output(session)
    assert wait_until(lambda: tmux.say("#{pane_current_path}", "work") == "/usr")


@pytest.mark.alone
def test_the_size_follows_whoever_is_attached(lit: Engine, tmux: OwnTmux, viewer: OwnTmux) -> None:
    session = shell(lit, tmux)
    attach(viewer, tmux, "work", rows=30, cols=100)
    tmux.ask("set-option", "-t", "work", "status", "off")
    assert wait_until(lambda: tmux.say("#{pane_width}x#{pane_height}", "work") == "100x30")

    # Without output, too: the shim looks when somebody wants the screen. tmux itself takes a moment to resize the terminal.
    def size() -> tuple[int, int]:
        seen = lit.call("read_output", session=session)
        return seen["rows"], seen["cols"]

    assert wait_until(lambda: size() == (30, 100))
    lit.call("send_input", session=session, text="stty size")
    lit.call("wait_session", session=session, until="text=30 100", timeout="120s")
    assert lit.show(session)["attached"] == 1
    assert lit.call("read_output", session=session)["text"].split() == tmux.screen("work").split()


def test_vim_under_attach(lit: Engine, tmux: OwnTmux, viewer: OwnTmux) -> None:
    if shutil.which("vim") is None:
        pytest.skip("no vim here")
    file = lit.folder / "note"
    tmux.start(lit, "vim", "-u", "NONE", "-N", str(file), name="vim")
    attach(viewer, tmux, "vim")
    viewer.until("person", "~")
    viewer.type("person", "ihello from vim", "Escape")
    viewer.until("person", "hello from vim")
    assert wait_until(lambda: "hello from vim" in lit.call("read_output", session="vim")["text"])
    viewer.type("person", ":wq", "Enter")
    waited = lit.call("wait_session", session="vim", until="ended", timeout="120s")
    assert waited["exit"] == {"code": 0}
    assert file.read_text() == "hello from vim\n"
    assert tmux.sessions() == []


def test_no_output_is_missed(lit: Engine, tmux: OwnTmux) -> None:
    for number in range(5):
        session = tmux.start(lit, "sh", "-c", f"seq 1 20000; exit {number}")["id"]
        waited = lit.call("wait_session", session=session, until="ended", timeout="120s")
        assert waited["exit"] == {"code": number}
        text = lit.call("read_output", session=session, mode="output", limit=1 << 23)["text"]
        assert text.split() == [str(line) for line in range(1, 20001)]


def test_what_tmux_has_not_read_when_the_command_is_gone_is_not_missed(lit: Engine, tmux: OwnTmux) -> None:
    """As on a busy machine: tmux comes to read only afterwards, and closes a pane whose process is gone as soon as it finds
    nothing to read, although the kernel has more to hand over."""
    for number in range(8):
        go = tmux.folder / f"go-{number}"
        command = f"until [ -e {go} ]; do sleep 0.02; done; seq 1 1700; exit 3"
        session = tmux.start(lit, "sh", "-c", command, name="tail")
        server, pid = int(tmux.say("#{pid}", "tail")), session["pid"]
        start = inspect(pid)
        assert start is not None
        os.kill(server, signal.SIGSTOP)
        go.touch()
        gone = wait_until(lambda pid=pid, start=start: not alive(pid, start.start_ticks))
        os.kill(server, signal.SIGCONT)
        assert gone
        waited = lit.call("wait_session", session=session["id"], until="ended", timeout="120s")
        assert waited["exit"] == {"code": 3}
        text = lit.call("read_output", session=session["id"], mode="output", limit=1 << 20)["text"]
        assert text.split() == [str(line) for line in range(1, 1701)]


def test_questions_of_a_program_are_answered_once(lit: Engine, tmux: OwnTmux) -> None:
    """By tmux. Where the cursor is would come twice if the daemon answered too."""
    ask = r"stty raw -echo; printf '\033[6n'; sleep 0.5; dd bs=100 count=1 2>/dev/null | od -c; stty sane; echo done"
    session = tmux.start(lit, "sh", "-c", ask)["id"]
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    assert lit.output(session).replace(" ", "").count("R") == 1


@pytest.mark.parametrize("name", ["cron:nightly.42", "ключ", "a#{pid}b".replace("{", "").replace("}", "")])
def test_names_that_tmux_cannot_have(lit: Engine, tmux: OwnTmux, name: str) -> None:
    tmux.start(lit, "cat", name=name)
    expected = name.replace(":", "-").replace(".", "-").replace("#", "-")
    assert tmux.sessions() == [expected]
    lit.call("send_input", session=name, text="hello")
    lit.call("wait_session", session=name, until="text=hello", timeout="120s")
    tmux.ask("rename-session", "-t", "$0", "renamed")
    with pytest.raises(LampError) as caught:
        lit.call("attach_session", session=name)
    assert caught.value.code is Code.NOT_ATTACHABLE
    assert caught.value.details["command"][-2:] == ["-t", "=renamed"]
    assert lit.call("kill_session", session=name, force=True)["certificate"]["survivors"] == []
    assert tmux.sessions() == []


def test_a_folder_with_every_character(lit: Engine, tmux: OwnTmux) -> None:
    folder = tmux.folder / "a b#{pid}%H';"
    folder.mkdir()
    session = tmux.start(lit, "pwd", cwd=str(folder))["id"]
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    assert lit.output(session).strip() == str(folder)


@pytest.mark.alone
def test_twenty_at_once(lit: Engine, tmux: OwnTmux) -> None:
    lit.call("get_status")
    with ThreadPoolExecutor(20) as pool:
        started = list(pool.map(lambda number: tmux.start(lit, "cat", name=f"job-{number}"), range(20)))
    assert len({session["id"] for session in started}) == 20
    assert sorted(tmux.sessions()) == sorted(f"job-{number}" for number in range(20))

    def end(name: str) -> dict[str, Any]:
        return lit.call("kill_session", session=name, force=True, grace="1s")

    with ThreadPoolExecutor(20) as pool:
        ended = list(pool.map(end, tmux.sessions()))
    assert all(one["state"] == "ended" and not one["certificate"]["survivors"] for one in ended)
    assert tmux.sessions() == []


@pytest.mark.alone
def test_one_name_at_once_is_one_session(lit: Engine, tmux: OwnTmux) -> None:
    lit.call("get_status")

    def start(_: int) -> str:
        try:
            return str(tmux.start(lit, "cat", name="work")["name"])
        except ConflictError as error:
            return error.code.value

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(start, range(8))) == ["NAME_TAKEN"] * 7 + ["work"]
    assert tmux.sessions() == ["work"]


@pytest.mark.alone
def test_daemon_and_keeper_killed_at_any_moment_of_a_start(lit: Engine, tmux: OwnTmux, chance: random.Random) -> None:
    lit.call("get_status")
    for number in range(10):
        victim = lit.daemon() if number % 2 else lit.keeper()
        timer = threading.Timer(chance.random() * 0.15, os.kill, (victim[0], signal.SIGKILL))
        timer.start()
        tmux.start(lit, "cat", name=f"job-{number}")
        timer.join()
        assert wait_until(lambda old=victim: not alive(*old))
    names = sorted(f"job-{number}" for number in range(10))
    assert sorted(session["name"] for session in lit.call("list_sessions")["sessions"]) == names
    assert sorted(tmux.sessions()) == names


# -- what cannot be


@pytest.mark.alone
def test_a_name_that_tmux_has_is_taken(lit: Engine, tmux: OwnTmux) -> None:
    tmux.ask("new-session", "-d", "-s", "work", "cat")
    with pytest.raises(LampError) as caught:
        tmux.start(lit, "cat", name="work")
    assert caught.value.code is Code.NAME_TAKEN
    assert "tmux" in caught.value.message
    assert lit.call("list_sessions", all=True)["sessions"] == []
    assert tmux.sessions() == ["work"]
    assert list((lit.folder / "run" / "p").iterdir()) == []
    tmux.ask("rename-session", "-t", "work", "cat")
    started = tmux.start(lit, "cat")  # a name that nobody chose gives way
    assert sorted(tmux.sessions()) == ["cat", f"cat-{started['id']}"]
    lit.call("kill_session", session=started["id"], force=True)
    assert tmux.sessions() == ["cat"]


@pytest.mark.alone
def test_a_program_that_cannot_be_executed_leaves_nothing(lit: Engine, tmux: OwnTmux) -> None:
    broken = tmux.folder / "broken"
    broken.write_text("no program")
    broken.chmod(0o700)
    with pytest.raises(LampError) as caught:
        tmux.start(lit, str(broken), name="work")
    assert caught.value.code is Code.START_FAILED
    assert wait_until(lambda: tmux.sessions() == [])
    assert lit.call("list_sessions", all=True)["sessions"] == []


@pytest.mark.parametrize("arguments", [{"headless": True}, {"bound": True}])
def test_what_makes_no_sense_in_tmux(lit: Engine, tmux: OwnTmux, arguments: dict[str, bool]) -> None:
    with pytest.raises(LampError) as caught:
        tmux.start(lit, "cat", **arguments)
    assert caught.value.code is Code.BAD_INPUT
    assert tmux.sessions() == []


@pytest.mark.alone
def test_without_tmux_only_that_is_unsupported(tmp_path: Path, tmux: OwnTmux) -> None:
    for program in ("cat", "sh"):
        found = shutil.which(program)
        assert found is not None
        (tmp_path / program).symlink_to(found)
    with engine(PATH=str(tmp_path)) as lit:
        with pytest.raises(LampError) as caught:
            lit.start("cat", tmux=True, environment={**tmux.environment, "PATH": str(tmp_path)})
        assert caught.value.code is Code.UNSUPPORTED
        assert lit.call("list_sessions", all=True)["sessions"] == []
        assert lit.start("cat", environment={"PATH": str(tmp_path)})["state"] == "running"


# -- input


@pytest.mark.alone
def test_every_byte_arrives_once(lit: Engine, tmux: OwnTmux) -> None:
    tmux.ask("new-session", "-d", "-s", "mine", "exec cat")
    file = lit.folder / "got"
    session = tmux.start(lit, "sh", "-c", f"stty raw -echo; echo go; head -c 100005 > {file}; echo got")["id"]
    lit.call("wait_session", session=session, until="text=go", timeout="120s")
    text = "\x01\x1b[A;'\\\n\r\t~é" + "".join(chr(33 + number % 90) for number in range(100_005))
    text = text.encode()[:100_005].decode()
    key = uuid.uuid4().hex
    for _ in range(2):
        lit.call("send_input", session=session, text=text, enter=False, key=key)
    lit.kill(lit.daemon())
    lit.call("send_input", session=session, text=text, enter=False, key=key)
    lit.call("wait_session", session=session, until="text=got", timeout="120s")
    assert file.read_bytes() == text.encode()
    assert tmux.ask("list-buffers") == ""


def test_keys_and_a_polite_end(lit: Engine, tmux: OwnTmux) -> None:
    session = tmux.start(lit, "sh", "-c", "cat; echo it was asked; exit 4")["id"]
    lit.call("send_input", session=session, text="M-x Tab C-v C-c Enter", keys=True)
    ended = lit.call("end_session", session=session)
    assert (ended["how"], ended["exit"]) == ("asked", {"code": 4})
    assert "it was asked" in lit.output(session)
    assert tmux.sessions() == []


# -- people


@pytest.mark.alone
def test_people_at_it_count(lit: Engine, tmux: OwnTmux, viewer: OwnTmux) -> None:
    inside = lit.start("sh", name="agent")["id"]
    answer = lit.folder / "answer"
    session = tmux.start(lit, "cat", name="work", parent=inside)["id"]
    attach(viewer, tmux, "work")
    with pytest.raises(LampError) as caught:
        lit.call("kill_session", session=session)
    assert caught.value.code is Code.ACTIVE
    assert "1 attached" in lit.show(session)["evidence"]
    ask = f"{sys.executable} {asker.__file__} {lit.home.run} {answer} plain kill_session"
    lit.call("send_input", session=inside, text=f'{ask} \'{{"session": "{session}", "force": true}}\'')
    assert wait_until(answer.exists)
    assert "APPROVAL_NEEDED" in answer.read_text()
    lit.kill(lit.daemon())
    viewer.type("person", "still here", "Enter")
    lit.call("wait_session", session=session, until="text=still here", timeout="120s")
    assert lit.show(session)["attached"] == 1
    tmux.ask("detach-client", "-s", "work")
    assert wait_until(lambda: lit.show(session)["attached"] == 0)


def test_the_command_line_becomes_tmux(lit: Engine, tmux: OwnTmux, viewer: OwnTmux) -> None:
    shell(lit, tmux, "work")
    shell(lit, tmux, "other")
    lamp = f"env LAMPLIGHTER_HOME={lit.folder} TMUX_TMPDIR={tmux.folder} PYTHONPATH={os.pathsep.join(sys.path)} {LAMP}"
    viewer.ask("new-session", "-d", "-s", "person", "-x", "100", "-y", "30")
    viewer.ask("set-option", "-g", "remain-on-exit", "on")
    viewer.ask("respawn-pane", "-k", "-t", "person", f"{lamp.replace('env ', 'env -u TMUX ')} attach work")
    assert wait_until(lambda: tmux.say("#{session_attached}", "work") == "1"), viewer.screen("person")
    # Inside the same server its client is switched.
    tmux.ask("split-window", "-t", "work", f"{lamp} attach other")
    assert wait_until(lambda: tmux.say("#{session_attached}", "other") == "1"), tmux.screen("work")
    assert tmux.say("#{session_attached}", "work") == "0"


# -- ends


@pytest.mark.parametrize("way", ["kill-session", "kill-pane", "kill-server", "server killed"])
def test_closed_in_tmux_it_ends_with_proof(lit: Engine, tmux: OwnTmux, mark: str, way: str) -> None:
    session = lit.escapees("deaf", "setsid", "daemon", mark=mark, name="work", tmux=True, environment=tmux.environment)
    if way == "server killed":
        server = tmux.server()
        assert server is not None
        os.kill(server[0], signal.SIGKILL)
    else:
        tmux.ask(way, *(() if way == "kill-server" else ("-t", "work")))
    waited = lit.call("wait_session", session=session["id"], until="ended", timeout="120s")
    assert waited["state"] == "ended"
    ending = lit.show(session["id"])["ending"]
    assert ending["reason"] == "its tmux pane was closed"
    assert ending["certificate"]["survivors"] == []
    assert ending["certificate"]["guarantee"] in ("kernel", "tree")
    assert none_left(mark)


def test_dead_panes_that_people_keep_are_taken_away(lit: Engine, tmux: OwnTmux) -> None:
    (tmux.folder / ".tmux.conf").write_text("set -g remain-on-exit on\nset -g base-index 3\n")
    session = tmux.start(lit, "sh", "-c", "echo hello; exit 7")["id"]
    waited = lit.call("wait_session", session=session, until="ended", timeout="120s")
    assert waited["exit"] == {"code": 7}
    assert tmux.sessions() == []
    assert lit.output(session).strip() == "hello"


def test_panes_added_by_hand_end_with_a_kill(lit: Engine, tmux: OwnTmux, mark: str) -> None:
    session = tmux.start(lit, "cat", name="work")["id"]
    tmux.ask("new-session", "-d", "-s", "mine", "cat")
    tmux.ask("split-window", "-t", "work", f"exec sh -c 'trap \"\" HUP TERM; sleep 300; : {mark}'")
    tmux.ask("new-window", "-t", "work", f"exec sh -c 'setsid sh -c \"sleep 300; : {mark}\"; sleep 300; : {mark}'")
    assert wait_until(lambda: not none_left(mark))
    ended = lit.call("kill_session", session=session, force=True, grace="0.2s")
    assert ended["certificate"]["survivors"] == []
    assert any("by hand" in entry.get("why", "") for entry in ended["certificate"]["processes"])
    assert none_left(mark)
    assert tmux.sessions() == ["mine"]


def test_panes_added_by_hand_outlive_a_command_that_leaves(lit: Engine, tmux: OwnTmux) -> None:
    session = shell(lit, tmux)
    tmux.ask("split-window", "-t", "work", "exec cat")
    lit.call("send_input", session=session, text="exit 3")
    assert lit.call("wait_session", session=session, until="ended", timeout="120s")["exit"] == {"code": 3}
    assert tmux.ask("list-panes", "-t", "work", "-F", "#{pane_current_command}:#{@lamplighter}").split() == ["cat:"]


@pytest.mark.alone
def test_a_killed_shim_loses_nothing(lit: Engine, tmux: OwnTmux) -> None:
    session = tmux.start(lit, "sh", "-c", "seq 1 9000; read x; seq 9001 20000; read x; echo bye $x; exit 5")["id"]
    lit.call("wait_session", session=session, until="text=9000\r\n", timeout="120s")
    lit.kill(lit.shim(session))
    assert wait_until(lambda: lit.show(session)["holder_lost"])
    lit.call("send_input", session=session, text="on")
    lit.call("wait_session", session=session, until="text=20000", timeout="120s")
    lit.kill(lit.keeper())
    lit.call("send_input", session=session, text="now")
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    text = lit.call("read_output", session=session, mode="output", limit=1 << 23)["text"]
    assert [line for line in text.split() if line.isdigit()] == [str(number) for number in range(1, 20001)]
    assert "bye now" in text
    assert tmux.sessions() == []


@pytest.mark.alone
def test_a_killed_keeper_keeps_the_pane(lit: Engine, tmux: OwnTmux, mark: str) -> None:
    session = lit.escapees("deaf", "daemon", mark=mark, name="work", tmux=True, environment=tmux.environment)["id"]
    lit.kill(lit.keeper())
    assert wait_until(lambda: lit.events()[-1]["action"] == "keeper lost")
    assert lit.show(session)["state"] == "running"
    lit.kill(lit.shim(session))
    assert wait_until(lambda: lit.show(session)["holder_lost"])
    assert tmux.sessions() == ["work"]
    assert lit.call("kill_session", session=session, force=True, grace="0s")["certificate"]["survivors"] == []
    assert none_left(mark)
    assert tmux.sessions() == []


@pytest.mark.alone
def test_shim_and_keeper_both_lost(lit: Engine, tmux: OwnTmux, mark: str) -> None:
    session = lit.escapees("deaf", "daemon", mark=mark, name="work", tmux=True, environment=tmux.environment)["id"]
    shim = lit.shim(session)
    os.kill(lit.daemon()[0], signal.SIGSTOP)
    daemon = lit.daemon()
    lit.kill(lit.keeper())
    lit.kill(shim)
    os.kill(daemon[0], signal.SIGCONT)
    assert wait_until(lambda: lit.show(session)["state"] == "ended")
    assert none_left(mark)
    assert wait_until(lambda: tmux.sessions() == [])


def test_a_server_that_does_not_answer_holds_nobody_up(lit: Engine, tmux: OwnTmux, mark: str) -> None:
    session = lit.escapees("deaf", "daemon", mark=mark, name="work", tmux=True, environment=tmux.environment)["id"]
    server = tmux.server()
    assert server is not None
    os.kill(server[0], signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert [one["name"] for one in lit.call("list_sessions")["sessions"]] == ["work"]
        assert lit.show(session)["state"] == "running"
        assert time.monotonic() - began < 120
        with pytest.raises(LampError) as caught:
            tmux.start(lit, "cat", name="other")
        assert caught.value.code is Code.START_FAILED
        assert "did not answer" in caught.value.message
        ended = lit.call("kill_session", session=session, force=True, grace="0.2s")
        assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
        assert none_left(mark)
    finally:
        os.kill(server[0], signal.SIGCONT)
    assert wait_until(lambda: tmux.sessions() == [])


def test_a_pane_that_is_made_anew_is_the_users(lit: Engine, tmux: OwnTmux) -> None:
    tmux.start(lit, "cat", name="work")
    tmux.ask("new-session", "-d", "-s", "mine", "exec cat")
    tmux.ask("respawn-pane", "-k", "-t", "work", "exec sleep 500")
    lit.call("wait_session", session="work", until="ended", timeout="120s")
    tmux.start(lit, "cat", name="second")
    os.kill(int(tmux.say("#{pane_pid}", "second")), signal.SIGKILL)  # its relay
    lit.call("wait_session", session="second", until="ended", timeout="120s")
    assert "mine" in tmux.sessions()
    assert "second" not in tmux.sessions()


@pytest.mark.alone
def test_strangers_at_the_meeting_change_nothing(lit: Engine, tmux: OwnTmux) -> None:
    """Those who say nothing, those who lie, and those who bring what is not theirs."""
    lit.call("get_status")
    guests: list[socket.socket] = []
    done = threading.Event()

    def disturb() -> None:
        while not done.is_set():
            for path in (lit.folder / "run" / "p").iterdir():
                for message in (b"", b"tap", b"pane\0TERM=lies"):
                    guest = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    guests.append(guest)
                    with suppress(OSError):
                        guest.connect(str(path))
                        if message:
                            socket.send_fds(guest, [message], [0, 1] if message[:1] == b"p" else [0])

    with ThreadPoolExecutor(1) as pool:
        disturbing = pool.submit(disturb)
        try:
            for number in range(3):
                session = tmux.start(lit, "sh", "-c", "echo term is $TERM; cat", name=f"job-{number}")["id"]
                lit.call("wait_session", session=session, until="text=term is tmux", timeout="120s")
        finally:
            done.set()
        disturbing.result()
    assert guests
    for guest in guests:
        guest.close()


# -- a server inside a session


@pytest.mark.alone
def test_a_server_with_others_outlives_the_session_it_was_started_in(both: Engine, tmux: OwnTmux, mark: str) -> None:
    outer = both.start("bash", "--norc", name="outer", environment=tmux.environment)["id"]
    both.call("send_input", session=outer, text="tmux new-session -d -s own")
    assert wait_until(lambda: tmux.sessions() == ["own"])
    tmux.type("own", f"sh -c 'sleep 300; : {mark}'", "Enter")
    assert wait_until(lambda: not none_left(mark))
    tmux.ask("new-session", "-d", "-s", "mine", "exec cat")
    inner = tmux.start(both, "cat", name="inner")["id"]
    server = tmux.server()
    with tmux.attached("mine"):
        ended = both.call("kill_session", session=outer, force=True, grace="0.5s")
    assert ended["state"] == "ended"
    certificate = ended["certificate"]
    assert (certificate["survivors"], certificate["guarantee"]) == ([], both.guarantee)
    assert server is not None
    assert server[0] in {entry["pid"] for entry in certificate["spared"]}
    assert all(entry["why"] for entry in certificate["spared"])
    assert both.show(outer)["ending"]["certificate"]["spared"] == certificate["spared"]
    assert none_left(mark)
    assert alive(*server)
    assert sorted(tmux.sessions()) == ["inner", "mine"]
    both.call("send_input", session=inner, text="still here")
    both.call("wait_session", session=inner, until="text=still here", timeout="120s")
    assert caller_in(both, tmux, "mine") not in ("operator", "")
    # Another session whose shim is lost does not take the server for its own.
    other = both.start("cat")["id"]
    both.kill(both.shim(other))
    assert wait_until(lambda: both.show(other)["holder_lost"])
    both.call("kill_session", session=other, force=True, grace="0s")
    assert alive(*server)
    assert both.call("kill_session", session=inner, force=True)["certificate"]["guarantee"] == both.guarantee


def test_a_server_without_others_dies_with_its_session(both: Engine, tmux: OwnTmux, mark: str) -> None:
    outer = both.start("bash", "--norc", name="outer", environment=tmux.environment)["id"]
    both.call("send_input", session=outer, text="tmux new-session -d -s own")
    assert wait_until(lambda: tmux.sessions() == ["own"])
    tmux.type("own", f"sh -c 'sleep 300; : {mark}'", "Enter")
    assert wait_until(lambda: not none_left(mark))
    server = tmux.server()
    assert server is not None
    both.call("send_input", session=outer, text="exit")
    both.call("wait_session", session=outer, until="ended", timeout="120s")
    assert not alive(*server)
    assert none_left(mark)
    assert both.show(outer)["ending"]["certificate"]["spared"] == []


def test_started_from_inside_a_session_it_hangs_under_nobody(both: Engine, tmux: OwnTmux) -> None:
    """The server has to be started for it, and outlives the session that asked."""
    both.environment |= tmux.environment | {"PATH": os.environ["PATH"]}
    outer = both.start("bash", "--norc", name="outer", environment={**both.environment})["id"]
    both.call("send_input", session=outer, text=f"{LAMP} start --tmux --name inner -- cat")
    assert wait_until(lambda: "inner" in tmux.sessions()), both.output(outer)
    assert wait_until(lambda: both.show("inner")["state"] == "running")
    assert both.show("inner")["parent"] == outer
    server = tmux.server()
    ended = both.call("kill_session", session=outer, force=True, grace="0.5s")["certificate"]
    assert (ended["survivors"], ended["spared"]) == ([], [])
    assert server is not None
    assert alive(*server)
    assert both.show("inner")["state"] == "running"
    both.call("kill_session", session="inner", force=True)


@pytest.mark.alone
def test_in_a_server_that_we_started_the_user_is_the_operator(lit: Engine, tmux: OwnTmux) -> None:
    session = tmux.start(lit, "cat", name="work")["id"]
    tmux.ask("new-session", "-d", "-s", "mine", "exec cat")
    assert caller_in(lit, tmux, "mine") == "operator"
    other = lit.start("cat")["id"]
    lit.kill(lit.shim(other))
    assert wait_until(lambda: lit.show(other)["holder_lost"])
    lit.call("kill_session", session=other, force=True, grace="0s")
    assert sorted(tmux.sessions()) == ["mine", "work"]
    assert lit.show(session)["state"] == "running"


def caller_in(lit: Engine, tmux: OwnTmux, name: str) -> str:
    """Who somebody is to the daemon who asks from a new window of this tmux session."""
    answer = lit.folder / f"answer-{uuid.uuid4().hex}"
    words = [sys.executable, asker.__file__, lit.home.run, str(answer), "plain", "get_status", "{}"]
    tmux.ask("new-window", "-d", "-t", name, *words)
    assert wait_until(answer.exists)
    text = answer.read_text()
    return text.partition('"caller": "')[2].partition('"')[0]


# -- the daemon dies


@EVERY_STEP
def test_a_start_survives_death_at_every_step(mortal: Engine, tmux: OwnTmux, mark: str, every: int) -> None:
    for death in deaths(mortal, every):
        number, name = death.number, f"job-{death.number}"
        death.arm()
        started = tmux.start(mortal, "sh", "-c", f"echo {mark}-{number}; exec cat", name=name, key=uuid.uuid4().hex)
        mortal.call("wait_session", session=started["id"], until=f"text={mark}-{number}", timeout="120s")
        assert mortal.show(name)["pid"] == started["pid"]
        assert tmux.sessions() == [name]
        assert mortal.output(started["id"]).count(mark) == 1
        assert list((mortal.folder / "run" / "p").iterdir()) == []
        assert mortal.call("kill_session", session=name, force=True)["certificate"]["survivors"] == []
        assert wait_until(lambda: tmux.sessions() == [])


def test_what_is_sent_is_typed_once_or_not_known(mortal: Engine, tmux: OwnTmux) -> None:
    session = tmux.start(mortal, "sh", "-c", "stty -echo; echo go; cat")["id"]
    mortal.call("wait_session", session=session, until="text=go", timeout="120s")
    unknown = 0
    for death in deaths(mortal):
        number = death.number
        death.arm()
        try:
            mortal.call("send_input", session=session, text=f"line-{number}.", key=uuid.uuid4().hex)
        except UnavailableError as error:
            unknown += error.code is Code.OUTCOME_UNKNOWN
        else:
            mortal.call("wait_session", session=session, until=f"text=line-{number}.", since=0, timeout="120s")
        assert mortal.output(session).count(f"line-{number}.") <= 1
    assert unknown >= 1


@pytest.mark.alone
@EVERY_STEP
def test_a_failed_start_leaves_nothing_whenever_the_daemon_dies(mortal: Engine, tmux: OwnTmux, every: int) -> None:
    broken = tmux.folder / "broken"
    broken.write_text("no program")
    broken.chmod(0o700)
    for death in deaths(mortal, every):
        death.arm()
        with pytest.raises(LampError) as caught:
            tmux.start(mortal, str(broken), name="work")
        assert caught.value.code in (Code.START_FAILED, Code.OUTCOME_UNKNOWN)
        assert wait_until(lambda: tmux.sessions() == [])
        assert wait_until(lambda: mortal.call("list_sessions", all=True)["sessions"] == [])


def test_a_relay_that_nobody_tells_anything_leaves(tmux: OwnTmux) -> None:
    tmux.ask("new-session", "-d", "-s", "keep", "exec cat")
    tmux.ask(
        "new-session", "-d", "-s", "lost", sys.executable, "-I", "-S", relay.__file__, "pane", "/tmp/no-such-socket"
    )
    assert wait_until(lambda: tmux.sessions() == ["keep"])
    pid = int(tmux.say("#{pane_pid}", "keep"))
    assert inspect(pid) is not None
