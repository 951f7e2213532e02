"""tmux sessions made by hand: listed, adopted, talked to, and ended with all of them that can be traced."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lamplighter.errors import LampError
from tests.support.engine import ESCAPEES, Engine, engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mortality import deaths
from tests.support.processes import Process, alive, inspect, marked, none_left, wait_until
from tests.support.tmux import Tmux, tmux_of

pytestmark = pytest.mark.shared

TRACEABLE = ("plain", "nohup", "deaf", "stopped", "background", "orphan", "setsid", "setsid-scrubbed", "daemon")


@pytest.fixture
def tmux(lit: Engine) -> Iterator[Tmux]:
    with tmux_of(lit) as made:
        yield made


def by_hand(lit: Engine) -> dict[str, dict[str, Any]]:
    return {made["id"]: made for made in lit.call("list_sessions")["by_hand"]}


def seen(lit: Engine, condition: Callable[[dict[str, dict[str, Any]]], object]) -> dict[str, dict[str, Any]]:
    """What is by hand, once it is so; a listing may be two seconds old."""
    assert wait_until(lambda: condition(by_hand(lit))), by_hand(lit)
    return by_hand(lit)


def test_the_callers_own_tmux_is_meant(lit: Engine) -> None:
    """A server in the caller's TMUX_TMPDIR, which the daemon does not know of."""
    lit.call("list_sessions")  # so that the daemon is there, with an environment of its own
    folder = lit.folder / "elsewhere"
    folder.mkdir()
    environment = {**lit.environment, "TMUX_TMPDIR": str(folder)}
    made = subprocess.run(
        ["tmux", "new-session", "-d", "-s", "twin", "-P", "-F", "#{pane_pid}", "sleep 301"],
        env=environment, capture_output=True, text=True, timeout=200, check=True,
    )  # fmt: skip
    try:
        adopted = lit.cli("adopt", "tmux:twin", "--json", env=environment)
        assert adopted.returncode == 0, adopted
        found = json.loads(adopted.stdout)
        assert found["pid"] == int(made.stdout)
        assert lit.show(found["id"])["tmux"]["socket"].startswith(str(folder))
        lit.call("kill_session", session=found["id"], force=True, grace="0s")
        assert lit.cli("adopt", "tmux:nobody", env=environment).returncode == 4
    finally:
        subprocess.run(["tmux", "kill-server"], env=environment, capture_output=True, timeout=200, check=False)


def escapees(lit: Engine, tmux: Tmux, session: str, *names: str, mark: str) -> dict[str, Any]:
    """A pane in which these run, all of them up."""
    report = lit.folder / f"report-{uuid.uuid4().hex}"
    tmux.run(
        "new-window", "-d", "-t", f"={session}:", lit.python, ESCAPEES, *names, "--mark", mark, "--report", str(report)
    )
    up = wait_until(lambda: report.exists() and report.read_text().endswith("\n"))
    assert up, (tmux.run("list-panes", "-a"), marked(mark))
    return json.loads(report.read_text())


def process(pid: int) -> Process:
    found = inspect(pid)
    assert found is not None
    return found


def is_same(before: Process) -> bool:
    return alive(before.pid, before.start_ticks)


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(LampError) as caught:
        call()
    assert caught.value.hint
    return caught.value.code.value


# -- listed


def test_a_server_that_the_daemon_does_not_look_for_is_not_listed(lit: Engine, tmux: Tmux, mark: str) -> None:
    """Where tmux puts its sockets for everybody else, while the daemon has a place of its own: whoever runs it there."""
    with tmux_of(lit) as usual:
        del usual.environment["TMUX_TMPDIR"]
        usual.new("elsewhere", "exec sleep 300", name=mark)
        try:
            assert usual.sessions(name=mark) == ["elsewhere"]
            tmux.new("work", "exec sleep 300")
            assert seen(lit, lambda made: made).keys() == {"tmux:work"}
        finally:
            usual.run("kill-server", name=mark)
            os.unlink(f"/tmp/tmux-{os.getuid()}/{mark}")


def test_what_was_made_by_hand_is_listed_as_such(lit: Engine, tmux: Tmux) -> None:
    tmux.new("work", "exec sleep 300")
    tmux.run("split-window", "-d", "-t", "=work:", "sleep 300 & sleep 300 & wait")
    tmux.run("new-window", "-d", "-t", "=work:", "-c", "/", "exec cat")
    tmux.new("else where ü", "exec cat", name="second")
    found = seen(lit, lambda made: made.get("tmux:work", {}).get("processes") == 5)
    assert found.keys() == {"tmux:work", "tmux:second/else where ü"}
    work = found["tmux:work"]
    assert (work["windows"], work["panes"], work["attached"]) == (2, 3, 0)
    assert work["memory"] > 1 << 20
    assert set(work["commands"]) >= {"sleep", "cat"}
    assert lit.call("get_overview")["by_hand"] == lit.call("list_sessions")["by_hand"]
    for command in ((), ("ls",), ("tree",)):
        shown = lit.cli(*command).stdout
        assert "made by hand (tmux)" in shown
        assert "tmux:work" in shown
    assert "lamp adopt 'tmux:" in lit.cli("ls").stdout or "lamp adopt tmux:work" in lit.cli("ls").stdout


def test_without_tmux_nothing_is_run_and_nothing_said(lit: Engine) -> None:
    lit.call("list_sessions")
    assert by_hand(lit) == {}
    assert "by hand" not in lit.cli("ls").stdout


def test_a_tmux_that_is_dead_silent_or_no_tmux_breaks_no_listing(lit: Engine, tmux: Tmux) -> None:
    tmux.new("work", "exec sleep 300")
    folder = lit.folder / f"tmux-{os.getuid()}"
    with socket.socket(socket.AF_UNIX) as dead, socket.socket(socket.AF_UNIX) as mute:
        dead.bind(str(folder / "dead"))
        mute.bind(str(folder / "mute"))
        mute.listen()
        tmux.new("stopped", "exec cat", name="slow")
        os.kill(tmux.server("slow")[0], signal.SIGSTOP)
        (folder / "file").write_text("no socket")
        assert wait_until(lambda: by_hand(lit).keys() == {"tmux:work"})
        # Once it is known who is silent, nobody waits for them.
        assert wait_until(lambda: took(lambda: lit.call("list_sessions")) < 0.2)
        assert lit.call("adopt_session", target="tmux:work")["state"] == "running"
    os.kill(tmux.server("slow")[0], signal.SIGCONT)


def took(act: Callable[[], object]) -> float:
    before = time.monotonic()
    act()
    return time.monotonic() - before


def test_no_tmux_installed(mark: str) -> None:
    """A socket without the program: the listing is as ever, and adopting says what is missing."""
    with engine() as lit:
        empty = lit.folder / "bin"
        empty.mkdir()
        with tmux_of(lit) as tmux:
            tmux.new("work", "exec sleep 300")
            lit.environment["PATH"] = str(empty)
            assert by_hand(lit) == {}
            assert code_of(lambda: lit.call("adopt_session", target="tmux:work")) == "NOT_FOUND"


# -- adopted


def test_adopting_touches_nothing_and_shows_everything(lit: Engine, tmux: Tmux) -> None:
    pid = tmux.new("work", "exec sleep 300")
    tmux.run("split-window", "-d", "-t", "=work:", "exec cat")
    before = [process(pid) for pid in tmux.panes("work")]
    adopted = lit.call("adopt_session", target="tmux:work", kind="main", key="k")
    assert lit.call("adopt_session", target="tmux:work", kind="main", key="k") == adopted
    assert (adopted["name"], adopted["state"], adopted["pid"]) == ("work", "running", pid)
    shown = lit.show("work")
    assert (shown["guarantee"], shown["driver"], shown["owner"], shown["kind"]) == (
        "best_effort", "tmux", "operator", "main",
    )  # fmt: skip
    assert shown["command"] == ["sleep", "300"]
    assert {found["pid"] for found in shown["tree"]} == {found.pid for found in before}
    assert shown["processes"] == 2
    assert shown["memory"] > 0
    assert by_hand(lit) == {}
    assert all(is_same(found) for found in before)
    assert [event["action"] for event in lit.events(adopted["id"])] == ["adopt"]


@pytest.mark.alone
def test_what_cannot_be_adopted(lit: Engine, tmux: Tmux) -> None:
    tmux.new("work", "exec sleep 300")
    lit.start("cat", name="taken")
    for target, code in (
        ("tmux:", "BAD_INPUT"),
        ("work", "BAD_INPUT"),
        ("", "BAD_INPUT"),
        ("tmux:nope", "NOT_FOUND"),
        ("tmux:wor", "NOT_FOUND"),
        ("tmux:$0", "NOT_FOUND"),
        ("tmux:wo*", "NOT_FOUND"),
        ("tmux:\x1b[31m\0", "NOT_FOUND"),
        ("tmux:" + "x" * 100_000, "NOT_FOUND"),
    ):
        assert code_of(lambda target=target: lit.call("adopt_session", target=target)) == code
    assert code_of(lambda: lit.call("adopt_session", target="tmux:work", name="taken")) == "NAME_TAKEN"
    assert code_of(lambda: lit.call("adopt_session", target="tmux:work", name="a b")) == "BAD_NAME"
    assert by_hand(lit).keys() == {"tmux:work"}
    lit.call("adopt_session", target="tmux:work")
    assert code_of(lambda: lit.call("adopt_session", target="tmux:work")) == "ADOPTED"
    assert len(list((lit.folder / "sessions").iterdir())) == 2


@pytest.mark.parametrize("name", ["with spaces", "ünï-☃", "a/b", "-dash", "'quotes\" and $dollars", "x" * 150, "*"])
def test_whatever_tmux_calls_it(lit: Engine, tmux: Tmux, name: str) -> None:
    tmux.new("first", "exec cat")
    pid = tmux.new(name, "exec cat")
    target = next(target for target in by_hand(lit) if target != "tmux:first")
    ran = lit.cli("adopt", "--json", target)
    adopted = json.loads(ran.stdout)
    assert adopted["pid"] == pid, ran
    assert lit.show(adopted["name"])["pid"] == pid
    assert lit.call("kill_session", session=adopted["id"], force=True, grace="0s")["state"] == "ended"
    assert tmux.sessions() == ["first"]


@pytest.mark.alone
def test_two_who_adopt_at_once_adopt_it_once(lit: Engine, tmux: Tmux) -> None:
    tmux.new("work", "exec cat")
    lit.call("get_status")

    def adopt(_: int) -> str:
        try:
            return lit.call("adopt_session", target="tmux:work")["id"]
        except LampError as error:
            return error.code.value

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(adopt, range(6)))
    assert sorted(outcomes)[1:] == ["ADOPTED"] * 5


def test_an_agent_may_not_adopt(lit: Engine, tmux: Tmux) -> None:
    tmux.new("work", "exec cat")
    inside = lit.start("sh", name="inside")["id"]
    lit.call(
        "send_input",
        session=inside,
        text=f"LAMPLIGHTER_HOME={lit.folder} {lit.python} -m lamplighter.frontends.cli.main adopt tmux:work",
    )
    lit.call("wait_session", session=inside, until="text=FORBIDDEN", timeout="120s")
    assert by_hand(lit).keys() == {"tmux:work"}
    adopted = lit.call("adopt_session", target="tmux:work")
    for words in ("kill --force work", "send work hello"):
        lit.call(
            "send_input",
            session=inside,
            text=f"LAMPLIGHTER_HOME={lit.folder} {lit.python} -m lamplighter.frontends.cli.main {words}",
        )
        lit.call("wait_session", session=inside, until="text=APPROVAL_NEEDED", timeout="120s")
    assert lit.show(adopted["id"])["state"] == "running"


# -- talked to


@pytest.mark.alone
def test_talking_to_an_adopted_session(lit: Engine, tmux: Tmux) -> None:
    tmux.new("work", "exec sh")
    session = lit.call("adopt_session", target="tmux:work")["id"]
    text = "echo 'one; two' \"$((20 + 1))\" #{pid} ü☃ $HOME"
    lit.call("send_input", session=session, text=text.replace(" $HOME", ""), key="once")
    assert wait_until(lambda: "one; two 21" in lit.call("read_output", session=session)["text"])
    for _ in range(3):
        lit.call("send_input", session=session, text="echo typed", key="typed")
    lit.kill(lit.daemon())
    lit.call("send_input", session=session, text="echo typed", key="typed")
    lit.call("send_input", session=session, text="C-c", keys=True)
    lit.call("send_input", session=session, text="echo do''ne")
    assert wait_until(lambda: "\ndone\n" in lit.call("read_output", session=session)["text"])
    shown = lit.call("read_output", session=session)
    assert shown["text"].count("\ntyped\n") == 1
    assert (shown["rows"], shown["cols"]) == (24, 80)
    assert lit.call("read_output", session=session, lines=2)["text"].count("\n") == 2
    assert tmux.run("list-buffers") == ""
    for mode in ("output", "cast", "vt"):
        assert code_of(lambda mode=mode: lit.call("read_output", session=session, mode=mode)) == "NOT_ATTACHABLE"
    assert code_of(lambda: lit.call("attach_session", session=session)) == "NOT_ATTACHABLE"
    assert code_of(lambda: lit.call("wait_session", session=session, until="text=x")) == "NOT_ATTACHABLE"
    lit.call("wait_session", session=session, until="idle", quiet="0.1s", timeout="120s")
    lit.call("kill_session", session=session, force=True)
    assert code_of(lambda: lit.call("read_output", session=session)) == "ENDED"
    assert code_of(lambda: lit.call("send_input", session=session, text="x")) == "ENDED"


# -- ended


def test_all_of_it_that_can_be_traced_dies_and_nothing_else(lit: Engine, tmux: Tmux, mark: str) -> None:
    tmux.new("work", "exec sh")
    neighbour = process(tmux.new("neighbour", "exec sh"))
    other = process(tmux.new("work", "exec cat", name="second"))
    started = lit.start("cat", name="ours")
    adopted = lit.call("adopt_session", target="tmux:work")
    report = escapees(lit, tmux, "work", *TRACEABLE, mark=mark)
    tmux.run("set-option", "-g", "remain-on-exit", "on")
    killed = lit.call("kill_session", session=adopted["id"], force=True, grace="0.2s")
    assert (killed["state"], killed["certificate"]["guarantee"]) == ("ended", "best_effort")
    assert killed["certificate"]["survivors"] == []
    assert none_left(mark)
    dead = {entry["pid"] for entry in killed["certificate"]["processes"]}
    assert dead >= {report["main"]["pid"], adopted["pid"], *(found["pid"] for found in report["escapees"])}
    assert tmux.sessions() == ["neighbour"]
    assert is_same(neighbour)
    assert is_same(other)
    assert process(neighbour.pid).state != "T"
    assert lit.show(started["id"])["state"] == "running"
    assert alive(*tmux.server())
    assert lit.call("list_sessions")["sessions"][0]["id"] == started["id"]
    assert lit.call("kill_session", session=adopted["id"])["how"] == killed["how"]


@pytest.mark.parametrize("restless", ["hopper", "bomb"])
def test_what_keeps_forking_dies_too(lit: Engine, tmux: Tmux, mark: str, restless: str) -> None:
    tmux.new("work", "exec sh")
    neighbour = process(tmux.new("neighbour", "exec sh"))
    adopted = lit.call("adopt_session", target="tmux:work")
    escapees(lit, tmux, "work", restless, mark=mark)
    killed = lit.call("kill_session", session=adopted["id"], force=True, grace="0s")
    assert (killed["state"], killed["certificate"]["survivors"]) == ("ended", [])
    assert none_left(mark)
    assert is_same(neighbour)


def test_what_left_its_pane_before_is_traced(lit: Engine, tmux: Tmux, mark: str) -> None:
    """Its window is gone, and was never looked at: the environment of what escaped says whose it was."""
    tmux.new("work", "exec sh")
    tmux.new("neighbour", "exec sh")
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    for session in ("work", "neighbour"):
        token = mark if session == "work" else f"{mark}-other"
        escapees(lit, tmux, session, "daemon", "nohup", "--exit", "0", mark=token)
    assert wait_until(lambda: len(marked(mark)) == 4), "who started them may be on its way out yet"
    assert lit.call("end_session", session=adopted, grace="0.2s")["state"] == "ended"
    left = {found.pid for found in marked(mark)}
    assert left == {found.pid for found in marked(f"{mark}-other")}
    assert len(left) == 2


def test_an_end_is_polite(lit: Engine, tmux: Tmux) -> None:
    """TERM first: what handles it has its grace, and the stopped are woken for it."""
    said = lit.folder / "said"
    script = f"trap '' HUP; trap 'echo bye > {said}; exit' TERM; kill -STOP $$; while :; do sleep 0.05; done"
    tmux.new("work", f'sh -c "{script.replace("$", chr(92) + "$")}" & wait')
    adopted = lit.call("adopt_session", target="tmux:work")
    assert wait_until(lambda: "T" in {found["state"] for found in lit.show(adopted["id"])["tree"]})
    ended = lit.call("end_session", session=adopted["id"], grace="20s")
    assert (ended["how"], ended["state"]) == ("terminated", "ended")
    assert said.read_text() == "bye\n"


def test_a_kill_hurries_an_end(lit: Engine, tmux: Tmux) -> None:
    tmux.new("work", "sh -c 'trap \"\" TERM HUP; while :; do sleep 0.05; done'")
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(lit.call, "end_session", session=adopted, grace="300s")
        assert wait_until(lambda: lit.show(adopted)["state"] == "ending")
        assert lit.call("kill_session", session=adopted, force=True, grace="0s")["state"] == "ended"
        assert slow.result(30)["how"] == "killed"


def test_what_tmux_starts_anew_when_it_dies(lit: Engine, tmux: Tmux, mark: str) -> None:
    tmux.new("keep", "exec cat")
    tmux.run("set-option", "-g", "remain-on-exit", "on")
    tmux.run("set-hook", "-g", "pane-died", "respawn-pane")
    tmux.new("work", f"exec sh -c 'while :; do sleep 0.05; done' {mark}")
    adopted = lit.call("adopt_session", target="tmux:work")
    os.kill(adopted["pid"], signal.SIGKILL)
    assert wait_until(lambda: {found.pid for found in marked(mark)} - {adopted["pid"]})
    assert lit.show(adopted["id"])["state"] == "running"
    killed = lit.call("kill_session", session=adopted["id"], force=True, grace="0.1s")
    assert (killed["state"], killed["certificate"]["survivors"]) == ("ended", [])
    assert none_left(mark)
    assert tmux.sessions() == ["keep"]


def test_a_window_added_later_counts_and_one_moved_away_does_not(lit: Engine, tmux: Tmux, mark: str) -> None:
    tmux.new("work", "exec cat")
    tmux.new("neighbour", "exec cat")
    tmux.run("new-window", "-d", "-t", "=work:", "-n", "leaves", "sleep", "301")
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    tmux.run("new-window", "-d", "-t", "=work:", "sleep", "300")
    assert wait_until(lambda: lit.show(adopted)["processes"] == 3)
    tmux.run("move-window", "-d", "-s", "=work:leaves", "-t", "=neighbour:")
    assert wait_until(lambda: lit.show(adopted)["processes"] == 2)
    moved = [process(pid) for pid in tmux.panes("neighbour")]
    assert len(moved) == 2
    lit.call("kill_session", session=adopted, force=True, grace="0s")
    assert all(is_same(found) for found in moved)
    assert tmux.sessions() == ["neighbour"]


def test_a_window_that_another_session_shows_too_is_not_ours_to_end(lit: Engine, tmux: Tmux) -> None:
    tmux.new("work", "exec cat")
    shared = process(tmux.new("neighbour", "sleep", "300"))
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    tmux.run("link-window", "-d", "-s", "=neighbour:", "-t", "=work:")
    lit.call("kill_session", session=adopted, force=True, grace="0s")
    assert is_same(shared)
    assert tmux.sessions() == ["neighbour"]


def test_a_second_view_of_it_goes_with_it(lit: Engine, tmux: Tmux) -> None:
    """tmux new-session -t: the same windows under another name."""
    tmux.new("keep", "exec cat")
    pid = tmux.new("work", "exec cat")
    tmux.run("new-session", "-d", "-t", "work", "-s", "view")
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    assert by_hand(lit).keys() == {"tmux:keep"}
    lit.call("kill_session", session=adopted, force=True, grace="0s")
    assert inspect(pid) is None
    assert wait_until(lambda: tmux.sessions() == ["keep"])


def test_a_tmux_server_started_inside_is_spared(lit: Engine, tmux: Tmux) -> None:
    """It may hold anybody's sessions; they are listed, and can be adopted in their turn."""
    tmux.new("work", "exec sh")
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    lit.call("send_input", session=adopted, text="tmux -L inner -f /dev/null new-session -d -s within cat")
    assert wait_until(lambda: tmux.sessions("inner") == ["within"])
    inner = tmux.new("more", "exec cat", name="inner")
    lit.call("kill_session", session=adopted, force=True, grace="0s")
    assert sorted(tmux.sessions("inner")) == ["more", "within"]
    assert inspect(inner) is not None
    assert "spared" in [event["action"] for event in lit.events(adopted)]
    assert seen(lit, lambda made: len(made) == 2).keys() == {"tmux:inner/more", "tmux:inner/within"}


@pytest.mark.alone
def test_a_daemon_first_asked_for_inside_is_no_part_of_it(tmux: Tmux, lit: Engine) -> None:
    tmux.new("work", "exec sh")
    tmux.run(
        "send-keys", "-t", "=work:", f"{lit.python} -m lamplighter.frontends.cli.main start --name ours cat", "Enter"
    )
    assert wait_until(lambda: (lit.folder / "store.db").exists() or list(lit.folder.glob("*.db")))
    assert wait_until(
        lambda: any(s["name"] == "ours" and s["state"] == "running" for s in lit.call("list_sessions")["sessions"]), 20
    )
    keeper, daemon = lit.keeper(), lit.daemon()
    ours = lit.show("ours")
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    lit.call("kill_session", session=adopted, force=True, grace="0s")
    assert (lit.keeper(), lit.daemon()) == (keeper, daemon)
    assert lit.show("ours")["pid"] == ours["pid"]
    assert lit.show("ours")["state"] == "running"


@pytest.mark.alone
def test_down_all_ends_adopted_ones_too(lit: Engine, tmux: Tmux) -> None:
    tmux.new("work", "exec cat")
    tmux.new("stays", "exec cat")
    lit.call("adopt_session", target="tmux:work")
    rows = lit.call("stop_daemon", all=True, grace="1s")["ended"]
    assert [row["state"] for row in rows] == ["ended"]
    assert tmux.sessions() == ["stays"]


# -- by itself


def test_it_exits_by_itself(lit: Engine, tmux: Tmux) -> None:
    tmux.new("keep", "exec cat")
    tmux.new("work", "exec sh")
    tmux.run("split-window", "-d", "-t", "=work:", "sh")
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    tmux.run("kill-pane", "-t", "=work:.1")
    lit.call("send_input", session=adopted, text="exit 3")
    waited = lit.call("wait_session", session=adopted, until="ended", timeout="120s")
    assert waited["exit"] == {"code": None}
    shown = lit.show(adopted)
    assert (shown["ending"]["how"], shown["ending"]["by"]) == ("exited", "itself")
    assert "exit unknown" in lit.cli("show", adopted).stdout
    assert "work" not in {session["name"] for session in lit.call("list_sessions")["sessions"]}


@pytest.mark.alone
def test_what_it_leaves_behind_is_not_killed_unasked(lit: Engine, tmux: Tmux, mark: str) -> None:
    tmux.new("keep", "exec cat")
    tmux.new("work", "exec sh")
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    escapees(lit, tmux, "work", "daemon", "setsid", "--exit", "0", mark=mark)
    tmux.run("kill-session", "-t", "=work")
    assert wait_until(lambda: lit.show(adopted)["verdict"] == "leftovers")
    lit.kill(lit.daemon())
    assert wait_until(lambda: lit.show(adopted)["verdict"] == "leftovers")
    assert wait_until(lambda: lit.show(adopted)["processes"] == len(marked(mark)) == 2)
    assert [event["action"] for event in lit.events(adopted)] == ["adopt", "exited"]
    first, second = marked(mark)
    os.kill(first.pid, signal.SIGKILL)
    assert wait_until(lambda: lit.show(adopted)["processes"] == 1)
    os.kill(second.pid, signal.SIGKILL)
    lit.call("wait_session", session=adopted, until="ended", timeout="120s")
    assert lit.show(adopted)["ending"]["how"] == "exited"


def test_its_server_is_killed(lit: Engine, tmux: Tmux, mark: str) -> None:
    tmux.new("quiet", "exec cat")
    tmux.new("work", "exec sh")
    quiet = lit.call("adopt_session", target="tmux:quiet")["id"]
    work = lit.call("adopt_session", target="tmux:work")["id"]
    escapees(lit, tmux, "work", "nohup", "daemon", mark=mark)
    lit.kill(tmux.server())
    lit.call("wait_session", session=quiet, until="ended", timeout="120s")
    assert wait_until(lambda: lit.show(work)["verdict"] == "leftovers")
    # Another server at the same place counts from 0 again: its sessions are not ours.
    stranger = process(tmux.new("quiet", "exec cat"))
    second = process(tmux.new("work", "exec cat"))
    assert seen(lit, lambda made: len(made) == 2).keys() == {"tmux:quiet", "tmux:work"}
    assert code_of(lambda: lit.call("send_input", session=work, text="hello")) == "HOLDER_UNREACHABLE"
    assert code_of(lambda: lit.call("read_output", session=work)) == "HOLDER_UNREACHABLE"
    assert lit.call("kill_session", session=work, force=True, grace="0s")["certificate"]["survivors"] == []
    assert none_left(mark)
    assert is_same(stranger)
    assert is_same(second)
    assert tmux.sessions() == ["quiet", "work"]


def test_a_server_that_hangs_holds_up_no_ending(lit: Engine, tmux: Tmux, mark: str) -> None:
    tmux.new("work", "exec sh")
    neighbour = process(tmux.new("neighbour", "exec cat"))
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    escapees(lit, tmux, "work", "deaf", mark=mark)
    assert wait_until(lambda: lit.show(adopted)["processes"] == 3)
    os.kill(tmux.server()[0], signal.SIGSTOP)
    killed = lit.call("kill_session", session=adopted, force=True, grace="0s")
    assert (killed["state"], killed["certificate"]["survivors"]) == ("ended", [])
    assert none_left(mark)
    os.kill(tmux.server()[0], signal.SIGCONT)
    assert is_same(neighbour)
    assert wait_until(lambda: tmux.sessions() == ["neighbour"])


def test_a_session_renamed_and_its_socket_deleted(lit: Engine, tmux: Tmux) -> None:
    tmux.new("keep", "exec cat")
    pid = tmux.new("work", "exec sh")
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    tmux.run("rename-session", "-t", "=work", "other name")
    lit.call("send_input", session=adopted, text="echo re''named")
    assert wait_until(lambda: "\nrenamed\n" in lit.call("read_output", session=adopted)["text"])
    (lit.folder / f"tmux-{os.getuid()}" / "default").unlink()
    assert lit.show(adopted)["state"] == "running"
    assert lit.call("kill_session", session=adopted, force=True, grace="0s")["state"] == "ended"
    assert inspect(pid) is None
    os.kill(tmux.server()[0], signal.SIGUSR1)  # tmux makes its socket anew
    assert wait_until(lambda: tmux.sessions() == ["keep"])


# -- crashes


@EVERY_STEP
def test_an_adoption_survives_death_at_every_step(mortal: Engine, every: int) -> None:
    with tmux_of(mortal) as tmux:
        for death in deaths(mortal, every, least=3):
            number = death.number
            pid = tmux.new(f"work-{number}", "exec cat")
            death.arm()
            adopted = mortal.call("adopt_session", target=f"tmux:work-{number}", key=uuid.uuid4().hex)
            assert (adopted["pid"], mortal.show(adopted["id"])["state"]) == (pid, "running")
            assert [event["action"] for event in mortal.events(adopted["id"])] == ["adopt"]
            assert by_hand(mortal) == {}


@EVERY_STEP
def test_what_is_sent_is_typed_once_whatever_dies(mortal: Engine, every: int) -> None:
    with tmux_of(mortal) as tmux:
        tmux.new("work", "exec cat")
        session = mortal.call("adopt_session", target="tmux:work")["id"]
        for death in deaths(mortal, every, least=3):
            number = death.number
            death.arm()
            mortal.call("send_input", session=session, text=f"word-{number}.", key=uuid.uuid4().hex)
            words = [f"word-{number}."] * 2  # the echo and cat
            assert wait_until(lambda words=words: tmux.run("capture-pane", "-p", "-t", "=work:").split()[-2:] == words)
            shown = tmux.run("capture-pane", "-p", "-S", "-", "-t", "=work:").split()
            assert shown.count(words[0]) == 2, shown


@EVERY_STEP
@pytest.mark.parametrize("operation", ["end_session", "kill_session"])
def test_an_ending_survives_death_at_every_step(mortal: Engine, mark: str, operation: str, every: int) -> None:
    with tmux_of(mortal) as tmux:
        neighbour = process(tmux.new("neighbour", "exec cat"))
        for death in deaths(mortal, every, least=3):
            tmux.new("work", "exec sh")
            adopted = mortal.call("adopt_session", target="tmux:work")
            report = escapees(mortal, tmux, "work", "deaf", "daemon", mark=mark)
            death.arm()
            arguments = {"force": True} if operation == "kill_session" else {}
            ended = mortal.call(operation, session=adopted["id"], grace="0.1s", key=uuid.uuid4().hex, **arguments)
            assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
            assert none_left(mark)
            assert {entry["pid"] for entry in ended["certificate"]["processes"]} >= {
                adopted["pid"], *(found["pid"] for found in report["escapees"]),
            }  # fmt: skip
            actions = [event["action"] for event in mortal.events(adopted["id"])]
            assert (actions.count("ended"), actions.count(operation.removesuffix("_session"))) == (1, 1)
            assert tmux.sessions() == ["neighbour"]
        assert is_same(neighbour)


@pytest.mark.alone
def test_it_goes_on_without_a_daemon_and_its_end_is_noticed_later(lit: Engine, tmux: Tmux) -> None:
    tmux.new("keep", "exec cat")
    tmux.new("work", "exec cat")
    stays = lit.call("adopt_session", target="tmux:keep")["id"]
    goes = lit.call("adopt_session", target="tmux:work")["id"]
    lit.kill(lit.keeper())
    lit.kill(lit.daemon())
    tmux.run("kill-session", "-t", "=work")
    lit.call("wait_session", session=goes, until="ended", timeout="120s")
    assert lit.show(stays)["state"] == "running"
    assert lit.show(stays)["guarantee"] == "best_effort"


@pytest.mark.alone
def test_after_a_reboot_it_is_lost(lit: Engine, tmux: Tmux) -> None:
    """The store says that it ran on another boot: nothing of this one is touched for it."""
    pid = process(tmux.new("work", "exec cat"))
    adopted = lit.call("adopt_session", target="tmux:work")["id"]
    lit.call("stop_daemon")
    database = next(lit.folder.glob("*.db"))
    script = "import sqlite3,sys; db=sqlite3.connect(sys.argv[1]); db.execute(\"UPDATE sessions SET boot='before'\"); db.commit()"
    assert wait_until(lambda: subprocess.run([lit.python, "-c", script, database], check=False).returncode == 0)
    shown = lit.show(adopted)
    assert (shown["state"], shown["ending"]["how"]) == ("ended", "lost")
    assert is_same(pid)
    assert by_hand(lit).keys() == {"tmux:work"}
