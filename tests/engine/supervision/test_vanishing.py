"""Sockets, folders and files that somebody takes away: nothing that lives is ended for want of them, and all is made again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.engine import Engine
from tests.support.processes import alive, wait_until

KILLED: tuple[list[str], ...] = ([], ["daemon"], ["keeper"], ["daemon", "keeper"])


def kill(made: Engine, roles: list[str]) -> None:
    """At once, so that none brings another back meanwhile."""
    processes = [_from_state(made, role) for role in roles]
    for process in processes:
        os.kill(process[0], signal.SIGSTOP)
    for process in processes:
        made.kill(process)


def daemons(made: Engine) -> list[int]:
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"lamplighter.daemon" in words and os.fsencode(made.folder) in words:
                found.append(int(name))
    return found


def is_whole(made: Engine, session: str) -> bool:
    paths = (made.home.daemon_socket, made.home.keeper_socket, made.home.shim_socket(session))
    return all(map(os.path.exists, paths))


def says(made: Engine, session: str, text: str) -> None:
    made.call("send_input", session=session, text=text)
    made.call("wait_session", session=session, until=f"text={text}\r\n{text}", timeout="60s")


@pytest.mark.parametrize("roles", KILLED, ids="-".join)
@pytest.mark.parametrize("taken", ["run", "run/s", "sockets"])
def test_a_missing_socket_is_no_sign_of_death(lit: Engine, taken: str, roles: list[str]) -> None:
    session = lit.start("cat", name="work")["id"]
    shim = lit.shim(session)
    main = lit.show(session)["pid"]
    if taken == "sockets":
        for path in (lit.home.daemon_socket, lit.home.keeper_socket, lit.home.shim_socket(session)):
            os.unlink(path)
    else:
        shutil.rmtree(lit.folder / taken)
    kill(lit, roles)
    listed = json.loads(lit.cli("ls", "--json").stdout)
    assert [(one["id"], one["state"]) for one in listed["sessions"]] == [(session, "running")]
    assert wait_until(lambda: is_whole(lit, session))
    assert (alive(*shim), lit.show(session)["pid"]) == (True, main)
    says(lit, session, "here")
    ended = lit.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["how"], ended["certificate"]["survivors"]) == ("ended", "killed", [])
    assert [event["action"] for event in lit.events(session)].count("ended") == 1


def test_a_death_is_seen_also_where_sockets_cannot_be_made_again(lit: Engine) -> None:
    """Both signals come at once, and the repair fails: the daemon's end counts all the same."""
    session = lit.start("cat", name="work")["id"]
    keeper, daemon = lit.keeper(), lit.daemon()
    with lit.without_sockets():
        os.kill(keeper[0], signal.SIGSTOP)
        assert wait_until(lambda: Path(f"/proc/{keeper[0]}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        os.kill(keeper[0], signal.SIGUSR1)
        lit.kill(daemon)
        os.kill(keeper[0], signal.SIGCONT)
        noted = lit.folder / "keeper.log"
        assert wait_until(lambda: "NotADirectoryError" in noted.read_text())
    assert lit.show(session)["state"] == "running"
    assert lit.daemon() != daemon


def _from_state(made: Engine, role: str) -> tuple[int, int]:
    found = json.loads((made.folder / f"{role}.json").read_text())
    return found["pid"], found["start"]


def test_one_daemon_whoever_asks_while_the_folder_is_gone(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    before = lit.daemon()
    for _ in range(3):
        shutil.rmtree(lit.home.run)
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(lit.cli, "ls", "--json") for _ in range(4)]
            said = [job.result() for job in jobs]
        assert [one.returncode for one in said] == [0] * 4, said
        assert daemons(lit) == [before[0]]
    assert lit.show(session)["state"] == "running"
    found = next(check for check in lit.call("check_host")["checks"] if check["name"] == "sockets")
    assert (found["state"], "made again" in found["found"]) == ("note", True)


def test_a_session_whose_folder_is_deleted_can_be_ended(both: Engine) -> None:
    first, second = (both.start("cat", name=name)["id"] for name in ("first", "second"))
    shutil.rmtree(both.home.session_folder(first))
    ended = both.call("kill_session", session=first, force=True, grace="0s")
    assert (ended["state"], ended["how"], ended["certificate"]["guarantee"]) == ("ended", "killed", both.guarantee)
    shutil.rmtree(both.folder / "sessions")
    assert wait_until(lambda: os.path.exists(f"{both.home.session_folder(second)}/meter"))
    says(both, second, "still")
    assert both.call("end_session", session=second)["state"] == "ended"
    assert both.start("cat", name="first")["state"] == "running"


@pytest.mark.parametrize("name", ["birth.json", "meter", "log"])
def test_a_file_of_a_session_that_is_deleted_comes_back(lit: Engine, name: str) -> None:
    session = lit.start("cat")["id"]
    says(lit, session, "one")
    shim = lit.shim(session)[0]
    folder = Path(lit.home.session_folder(session))
    for file in folder.glob(f"{name}*"):
        file.unlink()
    os.kill(shim, signal.SIGUSR1)
    if name != "log":
        assert wait_until((folder / name).exists)
    lit.kill(lit.daemon())
    says(lit, session, "two")
    assert lit.show(session)["state"] == "running"
    assert lit.call("kill_session", session=session, force=True)["certificate"]["survivors"] == []


@pytest.mark.parametrize("obstacle", ["file", "read-only"])
def test_what_is_in_the_way_of_an_end_does_not_keep_it(lit: Engine, obstacle: str) -> None:
    session = lit.start("cat")["id"]
    folder = Path(lit.home.session_folder(session))
    if obstacle == "file":
        shutil.rmtree(folder)
        folder.write_text("in the way")
    else:
        folder.chmod(0o500)
    ended = lit.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])


FORGER = """
import json, os, socket, struct, sys
run, role, path, answer = sys.argv[1:5]
start = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
for name in ("daemon", "keeper") if role == "both" else (role,):
    with open(f"{run}/{name}.pid", "w") as file:
        file.write(f"{os.getpid()} {start}\\n")
    with open(f"{os.path.dirname(run)}/{name}.json", "w") as file:
        json.dump({"pid": os.getpid(), "start": int(start), "run": run}, file)
sock = socket.socket(socket.AF_UNIX)
sock.settimeout(60)
sock.connect(path)
def ask(**request):
    data = json.dumps({"n": 7, **request}).encode()
    sock.sendall(struct.pack(">IB", len(data), 1) + data)
    buffer = b""
    while True:
        buffer += sock.recv(65536)
        while len(buffer) >= 5 and len(buffer) >= 5 + struct.unpack(">I", buffer[:4])[0]:
            length = struct.unpack(">I", buffer[:4])[0]
            message, buffer = json.loads(buffer[5:5 + length]), buffer[5 + length:]
            if message.get("n") == 7:
                return message
said = [ask(op="input", data="aGVsbG8K", by="forger", id="1"), ask(op="stop", grace=0), ask(op="down"), ask(op="held")]
with open(answer + "~", "w") as file:
    json.dump(said, file)
os.rename(answer + "~", answer)
"""


@pytest.mark.parametrize("role", ["daemon", "keeper", "both"])
@pytest.mark.parametrize("door", ["shim", "keeper"])
def test_a_forged_record_opens_no_holder(both: Engine, role: str, door: str) -> None:
    other = both.start("cat", name="other")["id"]
    path = both.home.shim_socket(other) if door == "shim" else both.home.keeper_socket
    answer = both.folder / "answer"
    both.start(sys.executable, "-c", FORGER, both.home.run, role, path, str(answer), name="inside")
    assert wait_until(answer.exists, 60)
    assert {said["error"]["code"] for said in json.loads(answer.read_text())} <= {"FORBIDDEN", "UNSUPPORTED"}
    assert both.show(other)["state"] == "running"
    assert "hello" not in both.output(other)


LISTENER = """
import os, socket, sys
path, told = sys.argv[1:3]
sock = socket.socket(socket.AF_UNIX)
os.unlink(path)
sock.bind(path)
sock.listen(64)
open(told, "w").close()
heard = []
while True:
    guest, _ = sock.accept()
    heard.append(guest)
    guest.settimeout(2)
    try:
        if guest.recv(1):
            open(told + "-heard", "w").close()
    except OSError:
        pass
"""


@pytest.mark.parametrize("lost", [False, True], ids=["living", "lost"])
def test_whoever_listens_in_the_keepers_place_is_not_believed(both: Engine, lost: bool) -> None:
    other = both.start("cat", name="other")["id"]
    told = both.folder / "told"
    both.start(sys.executable, "-c", LISTENER, both.home.keeper_socket, str(told), name="inside")
    assert wait_until(told.exists, 60)
    kill(both, ["keeper", "daemon"] if lost else ["daemon"])
    assert both.show(other)["state"] == "running"
    assert both.start("cat", name="another")["state"] == "running"
    assert not (both.folder / "told-heard").exists()


def test_an_environment_without_a_runtime_folder_finds_the_same_daemon(lit: Engine, tmp_path: Path) -> None:
    """As cron's, which knows no XDG_RUNTIME_DIR; and one whose folder logind has taken away for good."""
    runtime = lit.folder / "r"
    runtime.mkdir(0o700)
    state = {"XDG_STATE_HOME": str(lit.folder / "x"), "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(lit.folder)}
    base = {name: value for name, value in lit.environment.items() if name != "LAMPLIGHTER_HOME"} | state
    with_runtime = {**base, "XDG_RUNTIME_DIR": str(runtime)}

    def lamp(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        return lit.cli(*words, env=environment)

    try:
        assert lamp(with_runtime, "start", "--name", "work", "--", "cat").returncode == 0
        pid = json.loads(lamp(with_runtime, "status", "--json").stdout)["pid"]
        assert json.loads(lamp(base, "status", "--json").stdout)["pid"] == pid
        shutil.rmtree(runtime)
        runtime.write_text("nothing can be made here")
        for environment in (with_runtime, base):
            listed = json.loads(lamp(environment, "ls", "--json").stdout)
            assert [one["name"] for one in listed["sessions"]] == ["work"]
            assert json.loads(lamp(environment, "status", "--json").stdout)["pid"] == pid
        ended = lamp(base, "kill", "work", "--force")
        assert (ended.returncode, "work" in ended.stdout) == (0, True), ended
    finally:
        lamp(base, "down", "--all", "--yes")


def test_somebody_inside_brings_both_back_without_any_socket(both: Engine) -> None:
    """Keeper, daemon and every socket are gone: the shim above whoever asks first starts a keeper, outside its session."""
    ask = f"{sys.executable} -m lamplighter.frontends.cli.main ls --json > {both.folder}/listed"
    script = f"while [ ! -e {both.folder}/go ]; do sleep 0.05; done; {ask}; touch {both.folder}/done; cat"
    inside = both.start("sh", "-c", script, name="inside", environment=both.environment)["id"]
    other = both.start("cat", name="other")["id"]
    kill(both, ["daemon", "keeper"])
    shutil.rmtree(both.home.run)
    (both.folder / "go").touch()
    assert wait_until((both.folder / "done").exists, 60)
    listed = json.loads((both.folder / "listed").read_text())["sessions"]
    assert {(one["id"], one["state"]) for one in listed} == {(inside, "running"), (other, "running")}
    says(both, other, "here")
    ended = both.call("kill_session", session=inside, force=True, grace="0s")
    assert ended["state"] == "ended"
    assert both.show(other)["state"] == "running"
    assert both.call("get_status")["alive"] == 1
