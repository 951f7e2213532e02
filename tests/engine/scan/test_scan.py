"""What agents that are gone left behind: found with the reasons, told from what only looks alike, ended in two steps."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lamplighter.engine.scan.stream_ends import Ends
from lamplighter.errors import Code, LampError
from lamplighter.holder import proc
from tests.support.engine import Engine, engine
from tests.support.fixtures import EVERY_STEP
from tests.support.leaving import Player, Thing, claude_entry, conversation, playing, server, sleeper
from tests.support.mortality import deaths
from tests.support.ordinary import UID
from tests.support.processes import alive, inspect, marked, none_left, wait_until
from tests.support.tmux import tmux_of

AWAY = """(setsid bash -c 'exec -a "$0" sleep 300' "$0" >/dev/null 2>&1 &)"""
"""For bash: a process of this name that nobody above knows of."""
SUBREAPER = """
import ctypes, json, os, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
read, write = os.pipe()
starter = ["sh", "-c", 'exec 3<&0; (exec -a "$0" sleep 300 <&3 &)', sys.argv[1]]
starter[0] = "bash"
subprocess.run(starter, stdin=read, stdout=subprocess.DEVNULL, start_new_session=True)
print("ready", flush=True)
time.sleep(300)
"""
AT_A_TERMINAL = """
import os, pty, sys, time
shell, terminal = pty.fork()
if shell == 0:
    import subprocess
    leave = 'exec 3<&0; (exec -a "$0" sleep 300 <&3 3<&- &)'
    ends = [os.pipe(), os.pipe()]
    lost, told = ends[0][0], ends[1][1]
    for name, said, wrong in (("deaf", told, told), ("complaining", told, 2), ("at-it", 1, told)):
        subprocess.run(["bash", "-c", leave, f"{name}-mcp-server {sys.argv[1]}"], stdin=lost, stdout=said, stderr=wrong)
    for pair in ends:
        for end in pair:
            os.close(end)
    print("ready", flush=True)
    time.sleep(300)
said = b""
while b"ready" not in said:
    said += os.read(terminal, 100)
print("ready", flush=True)
sys.stdin.read()
"""
"""For Python: a terminal that stays open, in which an agent was that is gone."""


def claude(number: int = 1, **more: str) -> dict[str, str]:
    return {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": conversation(number), **more}


def found(made: Engine, pids: set[int]) -> list[dict[str, Any]]:
    """The leaks that have to do with these processes: others may leave things on this machine meanwhile."""
    leaks = made.call("scan_host")["leaks"]
    return [leak for leak in leaks if pids & {each["pid"] for each in leak["processes"]}]


def certainties(made: Engine, pids: dict[str, int]) -> dict[str, str]:
    """What the scan says of each, by name: certain, likely, or nothing."""
    leaks = made.call("scan_host")["leaks"]
    said = {each["pid"]: leak["certainty"] for leak in leaks for each in leak["processes"]}
    return {name: said.get(pid, "") for name, pid in pids.items()}


def keys(pids: list[int]) -> list[tuple[int, int]]:
    return [(pid, process.start_ticks) for pid in pids if (process := inspect(pid)) is not None]


@contextmanager
def left(folder: Path, mark: str, number: int = 1) -> Iterator[Player]:
    """A Claude that was killed, with an MCP server, a job and one that goes on to write to a file; on record in its registry."""
    things = [
        sleeper("mcp-server", mark, input="pipe", alone=False, marks=claude(number)),
        sleeper("job", mark, marks=claude(number, CLAUDE_PID="{pid}")),
        sleeper("kept", mark, output=str(folder / "log"), marks=claude(number, CLAUDE_PID="{pid}")),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    with playing("claude", folder, things) as player:
        assert player.start is not None
        claude_entry(folder, conversation(number), player.pid, player.start)
        player.kill()
        yield player


@pytest.fixture(scope="module")
def watcher() -> Iterator[Engine]:
    """One for all who only look, and for those who end what is their own."""
    with engine() as made:
        yield made


# -- finding


def test_what_a_killed_agent_left_is_found_with_the_reasons(watcher: Engine, mark: str, tmp_path: Path) -> None:
    with left(tmp_path, mark) as player:
        server_pid, job, kept = player.pids
        certain, likely = found(watcher, set(player.pids))
        assert (certain["certainty"], likely["certainty"]) == ("certain", "likely")
        assert certain["agent"] == "claude"
        assert certain["session"] == likely["session"] == conversation(1)
        kinds = {each["pid"]: each["kind"] for each in certain["processes"]}
        assert kinds == {server_pid: "mcp server", job: "background job"}
        assert [each["pid"] for each in likely["processes"]] == [kept]
        why = " ".join(certain["why"])
        assert f"claude {player.pid}, which was in its session, is gone ({player.pid}.json)" in why
        assert "its parent is gone" in why
        assert "nobody holds the other end of its input" in why
        assert f"{player.pid}.json" in certain["files"][0]["path"]
        assert all(each["memory"] > 0 for each in certain["processes"])
        assert [each["start"] for each in certain["processes"]] == [proc.start_of(pid) for pid in kinds]


def test_what_was_left_at_a_terminal_that_stays_open(watcher: Engine, mark: str) -> None:
    """What reads from it or prints to it is a person's. What was spoken to over a pipe is not, even if it may complain there."""
    given = {"PATH": os.environ["PATH"], **claude(31, CLAUDE_PID="4194303")}
    words = [sys.executable, "-c", AT_A_TERMINAL, mark]
    with subprocess.Popen(words, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as terminal:
        assert terminal.stdout is not None
        assert terminal.stdout.readline() == b"ready\n"
        names = ("deaf", "complaining", "at-it")
        assert wait_until(lambda: len(_called(mark, names)) == len(names))
        pids = _called(mark, names)
        assert all(stat.terminal for pid in pids.values() if (stat := proc.read_stat(pid)))
        assert certainties(watcher, pids) == {"deaf": "certain", "complaining": "certain", "at-it": ""}
        asked = watcher.call("scan_host", pid=pids["at-it"])["asked"]
        assert (asked["leak"], asked["why"]) == (None, ["it is at a terminal"])
        for pid in pids.values():
            os.kill(pid, signal.SIGKILL)


def _called(mark: str, names: tuple[str, ...]) -> dict[str, int]:
    started = {one.cmdline[0].partition("-mcp-server")[0]: one.pid for one in marked(mark)}
    return {name: started[name] for name in names if name in started}


def test_it_is_the_same_leak_from_scan_to_scan(watcher: Engine, mark: str, tmp_path: Path) -> None:
    with left(tmp_path, mark) as player:
        first = [leak["id"] for leak in found(watcher, set(player.pids))]
        assert [leak["id"] for leak in found(watcher, set(player.pids))] == first


def test_a_leak_is_taken_under_management_by_its_id(watcher: Engine, mark: str, tmp_path: Path) -> None:
    """Listed from then on, no leak any more, and ended like every other; what was only likely is no part of it."""
    with left(tmp_path, mark) as player:
        server_pid, job, kept = player.pids
        certain, _ = found(watcher, set(player.pids))
        adopted = watcher.call("adopt_session", target=certain["id"], name="left-by-claude")
        assert (adopted["name"], adopted["guarantee"]) == ("left-by-claude", "best_effort")
        assert certain["id"] not in [leak["id"] for leak in found(watcher, set(player.pids))]
        ended = watcher.call("kill_session", session=adopted["id"], grace="1s", force=True)
        gone = {one["pid"] for one in ended["certificate"]["processes"]}
        assert {server_pid, job} <= gone
        assert kept not in gone
        assert proc.start_of(kept) is not None


def test_a_living_agent_has_left_nothing(watcher: Engine, mark: str, tmp_path: Path) -> None:
    """Neither what hangs below it, nor what it has let go, nor what it started before it began another conversation."""
    away = ["bash", "-c", AWAY, f"away {mark}"]
    things = [
        sleeper("mcp-server", mark, input="pipe", marks=claude(7)),
        Thing(away, program="/bin/bash", marks=claude(7, CLAUDE_PID="{pid}")),
    ]
    with playing("claude", tmp_path, things) as player:
        assert player.start is not None
        claude_entry(tmp_path, conversation(8), player.pid, player.start)
        assert wait_until(lambda: any(one.cmdline[0].startswith("away") for one in marked(mark)))
        orphans = {one.pid for one in marked(mark)}
        assert found(watcher, orphans) == []
        seen = watcher.call("scan_host")["agents"]
        (agent,) = [one for one in seen if one["pid"] == player.pid]
        assert (agent["agent"], agent["terminal"], agent["tmux"]) == ("claude", False, None)


def test_an_agent_in_a_tmux_session_made_by_hand_is_named_by_it(watcher: Engine, tmp_path: Path) -> None:
    script = tmp_path / "codex"
    script.write_text("import time; time.sleep(300)")
    with tmux_of(watcher) as tmux:
        pane = tmux.new("work", sys.executable, str(script))
        # Not "codex" alone: until it executes, it has the words of the tmux that was told to start it.
        assert wait_until(lambda: proc.command_of(pane).startswith(sys.executable))
        (agent,) = [one for one in watcher.call("scan_host")["agents"] if one["pid"] == pane]
        assert (agent["agent"], agent["tmux"], agent["terminal"]) == ("codex", "tmux:work", True)


def test_sessions_of_ours_are_never_leaks(watcher: Engine, mark: str, tmp_path: Path) -> None:
    """Whatever marks they carry, whoever above them is gone; nor are the agents in them without a manager."""
    script = tmp_path / "claude"
    script.write_text("import time; time.sleep(300)")
    leave = f'{AWAY}; exec python3 "$1" "$0"'
    environment = {"PATH": os.environ["PATH"], **claude(9, CLAUDE_PID="4194303")}
    started = watcher.start("bash", "-c", leave, mark, str(script), environment=environment, headless=True)
    assert wait_until(lambda: len(marked(mark)) == 2)
    pids = {one.pid for one in marked(mark)}
    assert found(watcher, pids) == []
    assert not pids & {one["pid"] for one in watcher.call("scan_host")["agents"]}
    watcher.call("kill_session", session=started["id"], grace="0s", force=True)


def test_agents_that_never_exited(watcher: Engine, mark: str, tmp_path: Path) -> None:
    """One whose client is gone and who ignores the end of its input; one that works on, at a log, is none."""
    script = tmp_path / "gemini"
    script.write_text("import time; time.sleep(300)")
    words = ["python3", str(script), "--acp", mark]
    log = str(tmp_path / "log")
    things = [
        Thing(words, program=sys.executable, input="pipe"),
        Thing(words, program=sys.executable, output=log),
    ]
    with playing("starter", tmp_path, things) as player:
        player.kill()
        deaf, working = player.pids
        (leak,) = found(watcher, set(player.pids))
        assert [(each["pid"], each["kind"]) for each in leak["processes"]] == [(deaf, "agent")]
        assert leak["certainty"] == "certain"
        assert working in {one["pid"] for one in watcher.call("scan_host")["agents"]}


def test_daemons_of_an_agent_do_not_keep_each_other(watcher: Engine, mark: str, tmp_path: Path) -> None:
    """A killed Codex leaves two, which serve nobody; while another Codex is there, they are its own."""
    script = tmp_path / "codex"
    script.write_text("import time; time.sleep(300)")
    kinds = (["--managed-daemon"], ["daemon", "pid-update-loop"])
    things = [Thing(["codex", str(script), "app-server", *kind, mark], program=sys.executable) for kind in kinds]
    user = Thing(["codex", str(script), "exec", "hello", mark], program=sys.executable)
    with playing("starter", tmp_path, things) as player:
        player.kill()
        with playing("terminal", tmp_path, [user]) as terminal:
            assert wait_until(lambda: found(watcher, set(player.pids)) == [])
            os.kill(terminal.pids[0], signal.SIGKILL)
        assert wait_until(lambda: inspect(terminal.pids[0]) is None)
        said = {each["pid"] for leak in found(watcher, set(player.pids)) for each in leak["processes"]}
        assert said == set(player.pids)


def test_stale_entries_are_found_and_those_of_the_living_are_not(
    lit: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(lit.environment, "HOME", str(tmp_path))
    me = proc.start_of(os.getpid())
    assert me is not None
    claude_entry(tmp_path, conversation(2), os.getpid(), me)
    stale = claude_entry(tmp_path, conversation(3), 4194304, 17)
    (tmp_path / ".claude" / "sessions" / "4194304.abc.key").write_text("x")
    long = "9" * 5000
    starts = [json.dumps({"pid": 4194304, "sessionId": "x", "procStart": start}) for start in (long, "\u00b2", "-1")]
    for garbage in ("{", '{"pid": "x"}', '{"pid": 5, "procStart": {}}', "[1]", f'{{"pid": {long}}}', *starts):
        (tmp_path / ".claude" / "sessions" / f"{uuid.uuid4().hex}.json").write_text(garbage)
    files = [file["path"] for leak in lit.call("scan_host")["leaks"] for file in leak["files"]]
    mine = [path for path in files if path.startswith(str(tmp_path))]
    assert mine == [str(stale.with_name("4194304.abc.key")), str(stale)]


def test_no_process_can_break_a_scan_by_its_environment(watcher: Engine, mark: str, tmp_path: Path) -> None:
    """Anybody may have anything there: a number that Python refuses to read, digits that are none."""
    said = ("9" * 5000, "\u0661", "\u00b2", "-1", "")
    things = [sleeper("job", mark, marks=claude(20 + number, CLAUDE_PID=pid)) for number, pid in enumerate(said)]
    with playing("claude", tmp_path, things) as player:
        player.kill()
        assert {each["pid"] for leak in found(watcher, set(player.pids)) for each in leak["processes"]} == set(
            player.pids
        )


# -- what only looks alike


@pytest.fixture
def alike(watcher: Engine, mark: str, tmp_path: Path) -> Iterator[dict[str, int]]:
    """Real processes of many kinds, each of which could be taken for a leak: by name, their pids."""
    with ExitStack() as stack:
        enter = stack.enter_context
        pids: dict[str, int] = {}
        plain = {
            "dev server": server("next-server", mark, output=str(tmp_path / "dev.log")),
            "nohup job": sleeper("nohup-job", mark, output=str(tmp_path / "nohup.out"), alone=False),
            "docker proxy": server("docker-proxy", mark),
            "cron job": sleeper("cron", mark, output="null"),
            "language server": sleeper("typescript-language-server", mark, input="pipe"),
            "tool of a project called mcp": sleeper("/src/mcp-server/node_modules/.bin/eslint_d", mark, input="pipe"),
            "program of a project called mcp": sleeper("/src/mcp/.venv/bin/pylsp", mark, input="pipe"),
            "called like an agent": _script(tmp_path / "gemini.py", mark),
            "bench of servers": _bench(tmp_path / "mcp_server_bench.py", mark),
            "server told nothing": sleeper("mcp-server-told-nothing", mark, output="null"),
            "server with clients": server("mcp-gateway", mark, output="null"),
        }
        inherited = claude(5, CLAUDE_PID="{pid}")
        place = tmp_path / ".X11-unix" / "X7"
        place.parent.mkdir()
        desktop = enter(socket.socket(socket.AF_UNIX))
        desktop.bind(str(place))
        desktop.listen()
        desktop.settimeout(120)
        dead = {
            "server of a dead agent": server("vite", mark, marks=inherited),
            "setsid on purpose": sleeper("worker", mark, output=str(tmp_path / "worker.log"), marks=inherited),
            "quiet on purpose": sleeper("quiet", mark, output="null", marks=inherited),
            "log on standard error": _logging(tmp_path / "errors", mark, inherited),
            "editor's server": server("code-server", mark, input="pipe", marks=inherited),
            "window": _window(place, mark, inherited),
            "fed": Thing([f"fed {mark}", "300"], input=str(_fifo(tmp_path, stack)), marks=inherited),
            "terminal": _terminal(mark, inherited),
        }
        for name, things in (("shell", plain), ("claude", dead)):
            player = enter(playing(name, tmp_path / name, things.values()))
            pids.update(zip(things, player.pids, strict=True))
            assert wait_until(lambda: all(_serves(pids[name]) for name in pids.keys() & SERVERS))
            assert wait_until((tmp_path / "mcp_server_bench.py.out").exists)
            if name == "claude":
                enter(desktop.accept()[0])
                assert wait_until(lambda: any(one.cmdline[0].startswith("in-a-terminal") for one in marked(mark)))
            player.kill()
        pids["of a living client"] = _below_a_subreaper(mark, stack)
        tmux = enter(tmux_of(watcher))
        tmux.environment = {**tmux.environment, **claude(6, CLAUDE_PID="4194303")}
        pids["in tmux"] = tmux.new("work", "bash", "-c", 'exec -a "$0" sleep 300', f"pane {mark}")
        pids["tmux"] = tmux.server()[0]
        if os.getuid() == 0:
            pids["another user's"] = _somebody_elses(mark)
        yield pids


def _serves(pid: int) -> bool:
    return Ends().serves(pid) and inspect(pid) is not None


def _window(place: Path, mark: str, marks: dict[str, str]) -> Thing:
    """A program that a desktop shows; its output is lost all the same."""
    code = f"import socket, time; s = socket.socket(socket.AF_UNIX); s.connect({str(place)!r}); time.sleep(300)"
    return Thing(["browser", "-c", code, mark], program=sys.executable, marks=marks)


def _script(place: Path, mark: str) -> Thing:
    """A person's own, which talks to something of that name."""
    place.write_text("import time; time.sleep(300)")
    return Thing(["python3", str(place), mark], program=sys.executable, input="pipe")


def _bench(place: Path, mark: str) -> Thing:
    """A person's own, at work: it writes down what it measures."""
    place.write_text(
        "import sys, time\nout = open(sys.argv[1] + '.out', 'w')\n"
        "while True: print('measured', file=out, flush=True); time.sleep(0.2)\n"
    )
    return Thing(["python3", str(place), str(place), mark], program=sys.executable, input="pipe")


def _logging(place: Path, mark: str, marks: dict[str, str]) -> Thing:
    """Its output was the agent's pipe; what it has to say goes to a file, as most programs' logs do."""
    words = ["bash", "-c", 'exec -a "logging $0" sleep 300 2>"$1"', mark, str(place)]
    return Thing(words, program="/bin/bash", marks=marks)


def _fifo(folder: Path, stack: ExitStack) -> Path:
    """An input that somebody holds."""
    place = folder / "fifo"
    os.mkfifo(place)
    held = os.open(place, os.O_RDWR)
    stack.callback(os.close, held)
    return place


def _terminal(mark: str, marks: dict[str, str]) -> Thing:
    """A terminal's program, with a shell in it."""
    shell = f"os.execvp('sleep', ['in-a-terminal {mark}', '300'])"
    code = f"import pty, os, time; pid, fd = pty.fork(); pid or {shell}; time.sleep(300)"
    return Thing(["terminal", "-c", code, mark], program=sys.executable, marks=marks)


def _below_a_subreaper(mark: str, stack: ExitStack) -> int:
    """An MCP server whose starter is gone and whose client, which adopted it, is there."""
    client = subprocess.Popen(
        [sys.executable, "-c", SUBREAPER, f"mcp-server {mark}"],
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
    )
    stack.callback(client.wait)
    stack.callback(client.kill)
    assert client.stdout is not None
    stack.callback(client.stdout.close)
    assert client.stdout.readline() == b"ready\n"
    assert wait_until(lambda: any(one.cmdline[0].startswith(f"mcp-server {mark}") for one in marked(mark)))
    return next(one.pid for one in marked(mark) if one.cmdline[0].startswith(f"mcp-server {mark}"))


def _somebody_elses(mark: str) -> int:
    become = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
    words = [*become, "bash", "-c", '(exec -a "others-mcp $0" sleep 300 &)', mark]
    given = {"PATH": os.environ["PATH"], **claude(4, CLAUDE_PID="4194303")}
    subprocess.run(words, check=True, env=given, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd="/")
    assert wait_until(lambda: any(one.cmdline[0].startswith("others-mcp") for one in marked(mark)))
    return next(one.pid for one in marked(mark) if one.cmdline[0].startswith("others-mcp"))


SERVERS = {"dev server", "server with clients", "docker proxy", "server of a dead agent", "editor's server"}
LIKELY = {
    "language server",
    "tool of a project called mcp",
    "program of a project called mcp",
    "called like an agent",
    "bench of servers",
    "server told nothing",
    "log on standard error",
    "server of a dead agent",
    "setsid on purpose",
    "quiet on purpose",
    "editor's server",
    "fed",
}


def test_what_only_looks_alike_is_never_certain(watcher: Engine, alike: dict[str, int]) -> None:
    said = certainties(watcher, alike)
    assert {name for name, certainty in said.items() if certainty == "certain"} == set()
    assert {name for name, certainty in said.items() if certainty == "likely"} == LIKELY
    planned = watcher.call("cleanup_sessions", leaks=True)
    rows = {row["id"] for row in planned["rows"]}
    listed = {leak["id"] for leak in found(watcher, set(alike.values()))}
    assert listed
    assert not rows & listed


WHY = {
    "bench of servers": "but it has just written to ",
    "server told nothing": "but its output goes to /dev/null: it may be meant to go on",
    "quiet on purpose": "but its output goes to /dev/null: it may be meant to go on",
    "setsid on purpose": "but what it complains of goes to a file that a person may read",
    "fed": "but somebody holds its input",
    "dev server": "it carries no agent's mark, and waits for clients",
    "server with clients": "it carries no agent's mark, and waits for clients",
    "cron job": "nothing says that it came from an agent: it carries no mark, and is not called an MCP server",
    "window": "it has a window",
    "terminal": "is at a terminal",
    "of a living client": "it carries no agent's mark, and somebody holds its input",
    "in tmux": "which is not listed: it is a terminal multiplexer",
    "tmux": "it is a terminal multiplexer",
    "another user's": "it is not wholly yours: another user's, the kernel's, or in a container",
}


def test_one_that_is_asked_about_is_told_why_it_is_listed_or_is_not(watcher: Engine, alike: dict[str, int]) -> None:
    said = {name: watcher.call("scan_host", pid=alike[name])["asked"] for name in WHY if name in alike}
    assert {name: asked["why"] for name, asked in said.items() if WHY[name] not in " ".join(asked["why"])} == {}
    assert {
        name for name, asked in said.items() if asked["certainty"] == "likely" and asked["leak"]
    } == LIKELY & WHY.keys()
    assert {
        name for name, asked in said.items() if not asked["certainty"] and not asked["leak"]
    } == said.keys() - LIKELY
    with pytest.raises(LampError) as caught:
        watcher.call("scan_host", pid=4194303)
    assert caught.value.code is Code.NOT_FOUND
    printed = watcher.cli("scan", str(alike["cron job"])).stdout.splitlines()
    assert printed[0].endswith("is not listed")
    assert printed[1].strip() == f"because {WHY['cron job']}"
    printed = watcher.cli("scan", str(alike["bench of servers"])).stdout
    assert printed.startswith(f"likely process {alike['bench of servers']}")


# -- ending


def test_a_plan_and_its_apply(watcher: Engine, mark: str, tmp_path: Path) -> None:
    with left(tmp_path, mark) as player:
        certain, likely = found(watcher, set(player.pids))
        every = watcher.call("cleanup_sessions", leaks=True)
        assert certain["id"] in {row["id"] for row in every["rows"]}
        assert likely["id"] in {row["id"] for row in every["left_out"]}
        made = watcher.call("cleanup_sessions", leaks=True, selection=certain["id"], grace="0.2s")
        assert [(row["id"], row["verdict"], row["processes"]) for row in made["rows"]] == [
            (certain["id"], "certain", 2)
        ]
        entry = tmp_path / ".claude" / "sessions" / f"{player.pid}.json"
        assert entry.exists()
        assert len(marked(mark)) == 3
        (row,) = watcher.call("cleanup_sessions", apply=made["plan"])["rows"]
        assert row["outcome"] == "ended"
        certificate = row["certificate"]
        assert certificate["guarantee"] == "best_effort"
        assert certificate["survivors"] == []
        assert {each["pid"] for each in certificate["processes"]} == set(player.pids[:2])
        assert not entry.exists()
        assert [one.pid for one in marked(mark)] == [player.pids[2]]
        named = watcher.call("cleanup_sessions", leaks=True, selection=likely["id"], grace="0s")
        (row,) = watcher.call("cleanup_sessions", apply=named["plan"])["rows"]
        assert row["outcome"] == "ended"
        assert none_left(mark)


def test_rows_that_have_changed_are_skipped(watcher: Engine, mark: str, tmp_path: Path) -> None:
    """One that is gone; and one whose session turns out to be that of a process that lives, and is older than it."""
    with left(tmp_path / "gone", mark, 11) as gone, left(tmp_path / "back", mark, 12) as back:
        ids = [found(watcher, {player.pids[1]})[0]["id"] for player in (gone, back)]
        made = watcher.call("cleanup_sessions", leaks=True, selection=",".join(ids), grace="0.2s")
        for key in keys(gone.pids):
            os.kill(key[0], 9)
            assert wait_until(lambda key=key: not alive(*key))
        me = proc.start_of(os.getpid())
        assert me is not None
        claude_entry(tmp_path / "back", conversation(12), os.getpid(), me)
        os.kill(back.pids[1], 9)
        assert wait_until(lambda: inspect(back.pids[1]) is None)
        outcomes = {row["id"]: row for row in watcher.call("cleanup_sessions", apply=made["plan"])["rows"]}
        assert (outcomes[ids[0]]["outcome"], outcomes[ids[0]]["why"]) == ("skipped", "it is gone already")
        assert outcomes[ids[1]]["outcome"] == "skipped"
        assert "changed" in outcomes[ids[1]]["why"]
        assert back.pids[0] in {one.pid for one in marked(mark)}


@pytest.mark.timeout(120)
@EVERY_STEP
def test_an_apply_survives_death_at_every_step(mortal: Engine, mark: str, tmp_path: Path, every: int) -> None:
    for death in deaths(mortal, every, least=4):
        with left(tmp_path / str(death.number), mark, 100 + death.number) as player:
            certain = found(mortal, set(player.pids))[0]
            made = mortal.call("cleanup_sessions", leaks=True, selection=certain["id"], grace="0.1s")
            death.arm()
            (row,) = mortal.call("cleanup_sessions", apply=made["plan"], key=uuid.uuid4().hex)["rows"]
            assert row["outcome"] == "ended"
            assert {each["pid"] for each in row["certificate"]["processes"]} == set(player.pids[:2])
            assert [one.pid for one in marked(mark)] == [player.pids[2]]
            os.kill(player.pids[2], 9)
            assert wait_until(lambda: none_left(mark))


def test_what_is_refused(watcher: Engine, mark: str) -> None:
    with pytest.raises(LampError) as caught:
        watcher.call("cleanup_sessions", leaks=True, selection="leak-00000000")
    assert caught.value.code is Code.NOT_FOUND
    with pytest.raises(LampError) as caught:
        watcher.call("cleanup_sessions", leaks=True, force=True)
    assert caught.value.code is Code.BAD_INPUT
    request = '{"id": 1, "op": "cleanup_sessions", "args": {"leaks": true}, "key": "k"}'
    code = f"""
import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(watcher.home.run)!r} + "/daemon.sock")
s.sendall({request!r}.encode() + b"\\n"); print(s.makefile().readline(), flush=True)"""
    started = watcher.start(sys.executable, "-c", code, headless=True)
    watcher.call("wait_session", session=started["id"], until="text=error", timeout="120s")
    assert "FORBIDDEN" in watcher.output(started["id"])


# -- the command


def test_the_command_says_what_to_do_next(watcher: Engine, mark: str, tmp_path: Path) -> None:
    with left(tmp_path, mark) as player:
        said = watcher.cli("scan").stdout
        assert "dead session" in said.splitlines()[0]
        assert f"claude {conversation(1)[:8]}" in said
        assert "lamp cleanup --leaks" in said
        leak = found(watcher, set(player.pids))[0]["id"]
        plan = watcher.cli("cleanup", "--leaks", leak)
        assert "1 leak, 2 processes" in plan.stdout
        done = watcher.cli("cleanup", "--leaks", leak, "--yes", "--grace", "0.2s")
        assert done.returncode == 0
        assert "2 processes gone" in done.stdout
