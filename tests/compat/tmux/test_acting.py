"""The tmux toolset's tools that act: sessions made, typed into and killed, by those who may."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lamplighter.errors import Code, LampError
from tests.support.engine import ESCAPEES, Engine, send
from tests.support.mcp_client import MODERN, Inhabitant, McpClient, ToolError, inhabitant, outside
from tests.support.processes import alive, marked, none_left, wait_until
from tests.support.tmux import Tmux

pytestmark = pytest.mark.shared

READER = """
import os, sys, tty
tty.setraw(0)
print("reading", end="\\r\\n", flush=True)
left, file = int(sys.argv[1]), open(sys.argv[2], "wb", buffering=0)
while left:
    data = os.read(0, 65536)
    file.write(data)
    left -= len(data)
"""
TYPED = (
    "Up",
    "-l",
    "--",
    ";",
    "a;",
    "a\\;",
    "C-c now",
    "C-",
    "S-x",
    "Enter",
    "$(id)",
    "#{pid}",
    "two\nlines\n",
    "😀 ключ",
    "'\"`",
    " ",
    "x" * 100_000,
)


PRESSED = (
    ("C-c", True, b"\x03\r"),
    ("C-d", False, b"\x04"),
    ("Escape", False, b"\x1b"),
    ("M-Left", False, b"\x1b[1;3D"),
)
START_FILE = """
alias greet='echo alias:'
marked() { echo "function: $1"; }
"""


def agent(lit: Engine, start_file: str = "", **arguments: Any) -> Inhabitant:
    """An agent in a session, whose tmux is the test's."""
    environment = {"PATH": os.environ["PATH"], "SHELL": "/bin/sh", "PS1": "$ ", "ENV": start_file}
    own = {"LAMPLIGHTER_HOME": str(lit.folder), "TMUX_TMPDIR": str(lit.folder)}
    return Inhabitant(lit, tools="tmux", environment={**environment, **own}, **arguments)


def socket_of(lit: Engine) -> str:
    return f"{lit.folder}/tmux-{os.getuid()}/default"


def said(client: McpClient, tool: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        client.call(tool, **arguments)
    return caught.value.text


def shows(client: McpClient, name: str, text: str) -> bool:
    return wait_until(lambda: text in client.call("capture_pane", name=name)["text"])


# -- new_session


@pytest.mark.alone
def test_a_session_with_a_shell(lit: Engine, client: McpClient, tmux: Tmux) -> None:
    made = client.call("new_session", name="work", cwd="/usr")
    assert {key: made[key] for key in ("name", "cwd", "command", "status")} == {
        "name": "work",
        "cwd": "/usr",
        "command": "/bin/sh",
        "status": "running",
    }
    assert "attach -t =work" in made["hint"]
    assert tmux.sessions() == ["work"]
    assert client.call("send_keys", name="work", keys="echo in $PWD") == {
        "session": "work",
        "keys": "echo in $PWD",
        "enter": True,
    }
    assert shows(client, "work", "in /usr")
    assert lit.show("work")["driver"] == "tmux"
    assert client.call("kill_session", name="work") == {"session": "work", "killed": True}
    assert tmux.sessions() == []
    assert said(client, "kill_session", name="work") == 'session "work" does not exist'


@pytest.mark.alone
def test_a_command_and_what_became_of_it(client: McpClient, tmux: Tmux) -> None:
    assert client.call("new_session", name="slow", command="sleep 1000")["status"] == "running"
    failed = client.call("new_session", name="failed", command="echo why not; (exit 3)")
    assert (failed["status"], failed["command"]) == ("running", "echo why not; (exit 3)")
    assert shows(client, "failed", "\nwhy not")
    client.call("send_keys", name="failed", keys="echo still $((1+1)) here")
    assert shows(client, "failed", "still 2 here")
    client.call("send_keys", name="slow", keys="C-c")
    client.call("send_keys", name="slow", keys="echo back $((1+1)) here")
    assert shows(client, "slow", "back 2 here")
    left = client.call("new_session", name="left", command="exit 4")
    assert left["status"] in ("running", "exited with code 4")  # as far as it was when it was looked at
    assert wait_until(lambda: sorted(tmux.sessions()) == ["failed", "slow"])


def test_a_command_is_typed_into_the_shell_of_the_session(lit: Engine, tmux: Tmux) -> None:
    """With what its start files define; and what the command changes stays changed."""
    start_file = lit.folder / "start_file"
    start_file.write_text(START_FILE)
    inside = agent(lit, str(start_file), name="user")
    try:
        client = inside.client()
        client.call("new_session", name="work", command="greet yes; marked yes; cd /usr; export KEPT=kept", cwd="/")
        client.call("send_keys", name="work", keys="echo then $PWD $KEPT")
        for text in ("alias: yes", "function: yes", "then /usr kept"):
            assert shows(client, "work", text)
    finally:
        inside.close()


@pytest.mark.alone
def test_what_cannot_be_made_leaves_nothing(lit: Engine, client: McpClient, tmux: Tmux) -> None:
    assert "no folder '/no/such'" in said(client, "new_session", name="work", cwd="/no/such")
    assert "folder" in said(client, "new_session", name="work", cwd="relative")
    assert "NUL" in said(client, "new_session", name="work", command="a\0b")
    tmux.new("hand", "cat")
    assert said(client, "new_session", name="hand") == 'session "hand" already exists'
    client.call("new_session", name="work")
    assert said(client, "new_session", name="work") == 'session "work" already exists'
    assert sorted(tmux.sessions()) == ["hand", "work"]
    assert [row["name"] for row in lit.call("list_sessions", all=True)["sessions"]] == ["work"]


@pytest.mark.parametrize("name", ["-x", "a#{pid}", "=x", "a'b\"c", "a;", "😀", "%1", "@1", "x" * 100])
def test_names_are_kept_as_they_are(client: McpClient, tmux: Tmux, name: str) -> None:
    client.call("new_session", name=name)
    assert tmux.sessions() == [name]
    assert client.call("has_session", name=name)["exists"] is True
    client.call("send_keys", name=name, keys="echo o''k")
    assert shows(client, name, "ok")
    assert client.call("kill_session", name=name)["killed"] is True
    assert tmux.sessions() == []


def test_a_name_of_another_kind_of_session_is_free(lit: Engine, client: McpClient, tmux: Tmux) -> None:
    other = lit.start("cat", name="work")["id"]
    client.call("new_session", name="work")
    assert tmux.sessions() == ["work"]
    assert client.call("kill_session", name="work")["killed"] is True
    assert lit.show(other)["state"] == "running"


@pytest.mark.alone
def test_two_at_once_are_one_winner(lit: Engine, tmux: Tmux) -> None:
    with outside(lit, tools="tmux") as (first, _), outside(lit, tools="tmux", protocol=MODERN) as (second, _):
        for number in range(3):
            params = {"name": "new_session", "arguments": {"name": f"work-{number}"}}
            begun = [(client, client.begin("tools/call", params)) for client in (first, second, first, second)]
            results = [client.result(asked) for client, asked in begun]
            lost = [result["content"][0]["text"] for result in results if result.get("isError")]
            assert lost == [f'session "work-{number}" already exists'] * 3
    assert sorted(tmux.sessions()) == ["work-0", "work-1", "work-2"]
    assert len(lit.call("list_sessions", all=True)["sessions"]) == 3


def test_a_name_with_what_tmux_keeps_for_itself(lit: Engine, client: McpClient, tmux: Tmux) -> None:
    lit.start("cat", name="cron:x.y", tmux=True, environment=lit.environment)
    assert tmux.sessions() == ["cron-x-y"]
    assert lit.show("cron:x.y")["state"] == "running"
    assert client.call("has_session", name="cron-x-y")["exists"] is True
    assert 'may not kill "cron:x.y" (' in said(client, "kill_session", name="cron-x-y")
    lit.call("kill_tmux", socket=socket_of(lit), name="cron-x-y")
    assert lit.show("cron:x.y")["state"] == "ended"


# -- send_keys


@pytest.mark.parametrize("hand", [False, True])
def test_keys_are_typed_literally(lit: Engine, client: McpClient, tmux: Tmux, hand: bool) -> None:
    """Into a session of ours by its client, and into one that was made by hand by the operator. Names of keys press them."""
    file = lit.folder / "typed"
    expected = "".join(f"{keys}\r" for keys in TYPED).encode() + b"end" + b"".join(sent for _, _, sent in PRESSED)
    words = (sys.executable, "-c", READER, str(len(expected)), str(file))
    line = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    if hand:
        tmux.new("work", *words)
    else:
        client.call("new_session", name="work", command=line)
    assert shows(client, "work", "reading")
    pressed = [(keys, enter) for keys, enter, _ in PRESSED]
    for keys, enter in [*((keys, True) for keys in TYPED), ("end", False), *pressed]:
        if hand:
            named = (keys, enter) in pressed
            lit.call("type_in_tmux", socket=socket_of(lit), name="work", text=keys, keys=named, enter=enter)
        else:
            assert client.call("send_keys", name="work", keys=keys, enter=enter)["keys"] == keys
    assert wait_until(lambda: file.exists() and len(file.read_bytes()) >= len(expected))
    assert file.read_bytes() == expected


def test_keys_that_are_none(client: McpClient, tmux: Tmux) -> None:
    tmux.new("work", "cat")
    assert "keys" in said(client, "send_keys", name="work")
    assert "keys" in said(client, "send_keys", name="work", keys=["Up"])
    client.call("new_session", name="own")
    assert "keys" in said(client, "send_keys", name="own", keys="", enter=False)


def test_the_end_of_input_is_a_key(client: McpClient, tmux: Tmux) -> None:
    client.call("new_session", name="work", command="cat; echo over $((1+1))")
    client.call("send_keys", name="work", keys="a line")
    assert shows(client, "work", "a line\na line")
    client.call("send_keys", name="work", keys="C-d", enter=False)
    assert shows(client, "work", "over 2")


# -- kill_session


def test_nothing_is_left_of_a_kill(client: McpClient, tmux: Tmux, mark: str) -> None:
    escapees = " ".join([sys.executable, ESCAPEES, "nohup", "setsid", "daemon", "deaf", "--mark", mark])
    client.call("new_session", name="work", command=escapees)
    assert shows(client, "work", "ready")
    client.call("send_keys", name="work", keys="\u0003", enter=False)
    client.call("send_keys", name="work", keys="echo back $((1+1)) here")
    assert shows(client, "work", "back 2 here")
    assert len(marked(mark)) >= 3  # they stay when the command is gone
    assert client.call("kill_session", name="work") == {"session": "work", "killed": True}
    assert none_left(mark)
    assert tmux.sessions() == []


@pytest.mark.parametrize("hand", [False, True])
def test_hup_comes_first(lit: Engine, client: McpClient, tmux: Tmux, hand: bool, mark: str) -> None:
    """Then TERM, then KILL; a program has time to leave by HUP. Off the terminal, where the kernel sends none of its own."""
    lines = lit.folder / "heard"
    deaf = f'for s in HUP TERM; do trap "echo $s >> {lines}" $s; done; echo set; while :; do sleep 0.1; done'
    polite = f'trap "sleep 0.3; echo bye > {lines}.bye; exit" HUP; echo set; while :; do sleep 0.1; done'
    tmux.new("other", "cat")  # first: the words that start a server stay in its command line
    for name, text in (("deaf", deaf), ("polite", polite)):
        command = f"setsid -w sh -c '{text}' {mark}"
        if hand:
            tmux.new(name, command)
        else:
            client.call("new_session", name=name, command=command)
        assert shows(client, name, "set")
        if hand:
            assert lit.call("kill_tmux", socket=socket_of(lit), name=name)["state"] == "ended"
        else:
            assert client.call("kill_session", name=name)["killed"] is True
    assert lines.read_text().split() == ["HUP", "TERM"]
    assert Path(f"{lines}.bye").read_text() == "bye\n"
    assert none_left(mark)


def test_one_made_by_hand_dies_whole_for_the_operator(lit: Engine, tmux: Tmux, mark: str) -> None:
    tmux.new("other", "cat")  # first: the words that start a server stay in its command line
    tmux.new("work", f"{sys.executable} {ESCAPEES} nohup setsid --mark {mark}; cat")
    tmux.new("worker", "cat")
    assert wait_until(lambda: len(marked(mark)) >= 2)
    socket = socket_of(lit)
    killed = lit.call("kill_tmux", socket=socket, name="work")
    assert (killed["state"], killed["survivors"]) == ("ended", [])
    assert none_left(mark)
    assert sorted(tmux.sessions()) == ["other", "worker"]
    shown = lit.show(killed["id"])
    assert (shown["owner"], shown["ending"]["certificate"]["guarantee"]) == ("operator", "best_effort")
    assert [event["action"] for event in lit.events(killed["id"])] == ["adopt", "kill", "ended"]
    with pytest.raises(LampError) as caught:
        lit.call("kill_tmux", socket=socket, name="work")
    assert caught.value.code is Code.NOT_FOUND


def test_one_in_which_nothing_runs(lit: Engine, client: McpClient, tmux: Tmux) -> None:
    tmux.new("other", "cat")
    tmux.new("work", "cat")
    tmux.run("set-option", "-t", "=work:", "remain-on-exit", "on")
    tmux.run("send-keys", "-t", "=work:", "C-d")
    assert wait_until(lambda: tmux.run("list-panes", "-t", "=work:", "-F", "#{pane_dead}") == "1")
    assert 'may not kill "work" (' in said(client, "kill_session", name="work")
    assert lit.call("kill_tmux", socket=socket_of(lit), name="work")["state"] == "ended"
    assert tmux.sessions() == ["other"]


# -- who may


def test_what_others_made_is_beyond_a_caller(lit: Engine, client: McpClient, tmux: Tmux) -> None:
    pid = tmux.new("hand", "cat")
    first, second = agent(lit, name="first"), agent(lit, name="second")
    try:
        own, other = first.client(), second.client(MODERN)
        own.call("new_session", name="work", command="cat")
        client.call("new_session", name="outside", command="cat")
        beyond = [(other, "work"), (client, "work"), (own, "outside"), (own, "hand"), (other, "hand"), (client, "hand")]
        for caller, name in beyond:
            for tool, more in (("send_keys", {"keys": "evil"}), ("kill_session", {})):
                assert f'may not {"send to" if more else "kill"} "{name}" (' in said(caller, tool, name=name, **more)
            assert "evil" not in caller.call("capture_pane", name=name)["text"]
        assert own.call("send_keys", name="work", keys="good")["session"] == "work"
        assert shows(other, "work", "good")
        assert tmux.panes("hand") == [pid]
        assert own.call("kill_session", name="work")["killed"] is True
        assert client.call("kill_session", name="outside")["killed"] is True
        assert tmux.sessions() == ["hand"]
        asked = [event["detail"]["caller"] for event in lit.events() if event["action"] == "approval asked"]
        assert len(asked) == 2 * len(beyond)
    finally:
        first.close()
        second.close()


def test_an_agent_that_kills_its_own_session(lit: Engine, tmux: Tmux) -> None:
    inside = agent(lit, name="self", headless=False, tmux=True)
    try:
        caller = inside.client()
        assert caller.call("has_session", name="self")["exists"] is True
        assert caller.call("kill_session", name="self") == {"session": "self", "killed": False}
    finally:
        inside.close()
    lit.call("wait_session", session=inside.session, until="ended", timeout="120s")
    assert tmux.sessions() == []


def test_adopted_ones_and_moved_panes(lit: Engine, client: McpClient, tmux: Tmux) -> None:
    tmux.new("hand", "cat")
    adopted = lit.call("adopt_session", target="tmux:hand")["id"]
    assert 'may not kill "hand" (' in said(client, "kill_session", name="hand")
    client.call("new_session", name="work", command="cat")
    client.call("new_session", name="stays", command="cat")
    tmux.run("join-pane", "-d", "-s", "=work:", "-t", "=hand:")
    assert "belong to other sessions" in said(client, "kill_session", name="hand")
    assert client.call("capture_pane", name="hand")["session"] == "hand"
    lit.call("kill_session", session="work", force=True)
    lit.call("kill_session", session=adopted, force=True)
    assert client.call("kill_session", name="stays")["killed"] is True


# -- a daemon that is lost


@pytest.mark.alone
def test_a_kill_goes_on_without_the_daemon(lit: Engine, client: McpClient, tmux: Tmux, mark: str) -> None:
    escapees = " ".join([sys.executable, ESCAPEES, "deaf", "nohup", "--mark", mark])
    client.call("new_session", name="work", command=escapees)
    assert shows(client, "work", "ready")
    number = client.begin("tools/call", {"name": "kill_session", "arguments": {"name": "work"}})
    assert wait_until(lambda: any(event["action"] == "kill" for event in lit.events()))
    lit.kill(lit.daemon())
    assert client.result(number)["structuredContent"] == {"session": "work", "killed": True}
    assert none_left(mark)
    assert [event["action"] for event in lit.events()].count("kill") == 1
    assert tmux.sessions() == []


@pytest.mark.alone
@pytest.mark.parametrize("hand", [False, True])
def test_a_kill_that_is_over_when_it_is_asked_again(lit: Engine, tmux: Tmux, hand: bool) -> None:
    """The session is gone from tmux by then, and what was begun is still known by its key."""
    slow = "trap 'sleep 2; exit' HUP; trap '' TERM; echo set; while :; do sleep 0.1; done"
    if hand:
        tmux.new("work", slow)
    else:
        lit.start("sh", "-c", slow, tmux=True, name="work", environment=lit.environment)
    assert wait_until(lambda: "set" in tmux.run("capture-pane", "-p", "-t", "=work:"))
    with lit.connect() as sock:
        send(sock, "kill_tmux", "the-key", {"socket": socket_of(lit), "name": "work"})
        assert wait_until(lambda: any(event["action"] == "kill" for event in lit.events()))
        lit.kill(lit.daemon())
    assert wait_until(lambda: lit.call("get_status") and tmux.sessions() == [])
    again = lit.call("kill_tmux", key="the-key", socket=socket_of(lit), name="work")
    assert (again["state"], again["survivors"]) == ("ended", [])
    assert [event["action"] for event in lit.events()].count("kill") == 1


@pytest.mark.alone
@pytest.mark.parametrize("rounds", [1, pytest.param(4, marks=pytest.mark.deep)])
def test_the_daemon_killed_at_any_moment(
    lit: Engine, client: McpClient, tmux: Tmux, chance: random.Random, rounds: int
) -> None:
    for number in range(rounds):
        name = f"work-{number}"
        for tool, given in (("new_session", {"command": "cat"}), ("send_keys", {"keys": "once"}), ("kill_session", {})):
            lit.call("get_status")  # the one before may just have been killed
            victim = lit.daemon()
            timer = threading.Timer(chance.random() * 0.2, os.kill, (victim[0], signal.SIGKILL))
            asked = client.begin("tools/call", {"name": tool, "arguments": {"name": name, **given}})
            timer.start()
            result = client.result(asked)
            timer.join()
            assert wait_until(lambda old=victim: not alive(*old))
            text = result["content"][0]["text"]
            assert not result.get("isError") or (tool == "send_keys" and "not known" in text), text
            if tool == "new_session":
                assert tmux.sessions() == [name]
            elif tool == "send_keys" and not result.get("isError"):
                assert shows(client, name, "once")
                assert client.call("capture_pane", name=name)["text"].split().count("once") <= 2  # its echo, and cat's
        assert tmux.sessions() == []
    started = [event for event in lit.events() if event["action"] == "start"]
    assert len(started) == rounds


def test_the_inhabitants_fixture_knows_this_toolset(lit: Engine) -> None:
    with inhabitant(lit, tools="tmux") as inside:
        assert "sessions" in inside.client().call("list_sessions")
