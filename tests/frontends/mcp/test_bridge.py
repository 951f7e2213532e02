"""The bridge: it outlives daemons, never acts twice, ends with its client, and takes no harm from what it is fed."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import IO, Any

import pytest

from tests.support.engine import Engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mcp_client import (
    LEGACY,
    MODERN,
    McpClient,
    RpcError,
    ToolError,
    bridge_command,
    is_gone,
    outside,
)
from tests.support.processes import alive, inspect, wait_until

pytestmark = pytest.mark.shared

# -- daemons come and go


def stop(lit: Engine) -> tuple[int, int]:
    """Stop the daemon, as a person does; which it was."""
    daemon = lit.daemon()
    assert lit.cli("down").returncode == 0
    assert wait_until(lambda: not alive(*daemon))
    return daemon


@pytest.mark.alone
@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_a_killed_daemon_is_not_noticed(lit: Engine, protocol: str) -> None:
    with outside(lit, protocol=protocol) as (client, bridge):
        session = client.call("start_session", command=["cat"])["id"]
        for _ in range(3):
            lit.kill(lit.daemon())
            assert [row["id"] for row in client.call("list_sessions")["sessions"]] == [session]
        assert bridge.poll() is None


@pytest.mark.alone
def test_a_daemon_that_was_stopped_is_started_for_the_next_call(lit: Engine) -> None:
    with outside(lit) as (client, _):
        client.call("list_sessions")
        before = stop(lit)
        assert client.call("list_sessions")["sessions"] == []
        assert lit.daemon() != before


@pytest.mark.alone
def test_an_idle_bridge_starts_no_daemon(lit: Engine) -> None:
    """Whoever stops the daemon means it."""
    with outside(lit) as (client, bridge):
        client.call("list_sessions")
        stop(lit)
        assert bridge.poll() is None
        assert lit.cli("status").returncode != 0
        assert client.call("list_sessions")["sessions"] == []


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_wait_in_flight_goes_on_with_the_next_daemon(lit: Engine, number: signal.Signals) -> None:
    with outside(lit) as (client, _):
        session = client.call("start_session", command=["cat"])["id"]
        arguments = {"session": session, "until": "text=later", "timeout": "60s", "since": 0}
        waiting = client.begin("tools/call", {"name": "wait_session", "arguments": arguments})
        client.call("get_session", session=session)  # so that the call before it has been taken
        daemon = lit.daemon()
        os.kill(daemon[0], number)
        assert wait_until(lambda: not alive(*daemon))
        client.call("send_input", session=session, text="later")
        assert client.result(waiting)["structuredContent"]["met"] == "text=later"


def has_chosen(lit: Engine) -> bool:
    with closing(sqlite3.connect(f"file:{lit.home.database}?mode=ro", uri=True)) as db:
        return bool(db.execute("SELECT 1 FROM calls WHERE key LIKE '%/chosen'").fetchone())


@pytest.mark.alone
def test_a_wait_for_several_means_the_same_ones_after_a_break(lit: Engine) -> None:
    """What has ended matches no more, and the next daemon must not wait for fewer, or find none."""
    with outside(lit) as (client, _):
        jobs = [client.call("start_session", command=["cat"], name=f"job-{number}")["id"] for number in range(2)]
        arguments = {"session": "job-*", "timeout": "60s"}
        waiting = client.begin("tools/call", {"name": "wait_session", "arguments": arguments})
        assert wait_until(lambda: has_chosen(lit))
        lit.call("kill_session", session=jobs[0], force=True)
        lit.kill(lit.daemon())
        lit.call("kill_session", session=jobs[1], force=True)
        done = client.result(waiting)["structuredContent"]
        assert (done["met"], {row["id"] for row in done["sessions"]}) == ("ended", set(jobs))


@EVERY_STEP
@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_a_start_in_flight_happens_once_wherever_the_daemon_dies(
    mortal: Engine, mark: str, protocol: str, every: int
) -> None:
    file = mortal.folder / "die-at"
    with outside(mortal, protocol=protocol) as (client, _):
        begun = 0
        for number in range(1, 40, every):
            begun += 1
            file.write_text(str(number))
            command = ["sh", "-c", f"echo {mark} >> {mortal.folder}/runs; exec sleep 1000"]
            started = client.call("start_session", command=command, name=f"job-{number}")
            assert mortal.show(started["id"])["pid"] == started["pid"]
            if file.exists():
                file.unlink()
                break
        assert number > 4, "no step was ever reached"
        runs = mortal.folder / "runs"
        assert wait_until(lambda: runs.exists() and len(runs.read_text().split()) == begun)
        assert len(client.call("list_sessions")["sessions"]) == begun


@EVERY_STEP
def test_an_ending_in_flight_is_answered_wherever_the_daemon_dies(mortal: Engine, every: int) -> None:
    file = mortal.folder / "die-at"
    with outside(mortal) as (client, _):
        begun = 0
        for number in range(1, 40, every):
            begun += 1
            session = client.call("start_session", command=["sleep", "1000"])["id"]
            file.write_text(str(number))
            ended = client.call("kill_session", session=session, force=True, grace="1s")
            assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
            if file.exists():
                file.unlink()
                break
        actions = [event["action"] for event in mortal.events()]
        assert actions.count("kill") == actions.count("ended") == begun


def test_with_no_daemon_to_be_had_every_call_is_answered(lit: Engine) -> None:
    with outside(lit) as (client, bridge):
        client.call("list_sessions")
        stop(lit)
        with lit.without_sockets():
            with pytest.raises(RpcError, match=r"DAEMON_UNREACHABLE: .* this call was not carried out"):
                client.call("list_sessions")
            assert bridge.poll() is None

        def answered() -> bool:
            """A bridge waits only so long for a daemon, and on a busy machine one takes longer to come up."""
            with suppress(RpcError):
                return client.call("list_sessions")["sessions"] == []
            return False

        assert wait_until(answered)


@pytest.mark.alone
def test_a_call_that_a_lost_daemon_had_may_have_been_carried_out(lit: Engine) -> None:
    with outside(lit) as (client, _):
        session = client.call("start_session", command=["cat"])["id"]
        arguments = {"session": session, "timeout": "60s"}
        waiting = client.begin("tools/call", {"name": "wait_session", "arguments": arguments})
        client.call("list_sessions")  # after it: so the daemon has it
        daemon = lit.daemon()
        with lit.without_sockets():
            lit.kill(daemon)
            with pytest.raises(RpcError, match="look before you repeat it"):
                client.result(waiting)


# -- what must be said again


@pytest.mark.alone
def test_subscriptions_outlive_the_daemon(lit: Engine) -> None:
    with outside(lit) as (client, _):
        session = client.call("start_session", command=["cat"])["id"]
        client.request("resources/subscribe", {"uri": f"session://{session}/output"})
        lit.kill(lit.daemon())
        client.call("send_input", session=session, text="hello")
        updated = "notifications/resources/updated"
        assert wait_until(lambda: client.noticed(updated))
        assert client.noticed(updated)[0]["uri"] == f"session://{session}/output"


@pytest.mark.alone
def test_subscriptions_come_back_without_a_call(lit: Engine) -> None:
    with outside(lit) as (client, _):
        session = client.call("start_session", command=["cat"])["id"]
        client.request("resources/subscribe", {"uri": f"session://{session}"})
        lit.kill(lit.daemon())
        lit.call("kill_session", session=session, force=True)
        assert wait_until(lambda: client.noticed("notifications/resources/updated"))


@pytest.mark.alone
def test_an_old_answer_is_no_answer_to_a_new_question(lit: Engine) -> None:
    """A person's yes to one daemon's question must not be taken by the next for its own, whatever their numbers are."""
    lit.start("cat", name="theirs")
    with outside(lit, elicitation={"form": {}}) as (client, _):
        first = client.begin("tools/call", {"name": "kill_session", "arguments": {"session": "theirs", "force": True}})
        assert wait_until(lambda: len(client.questions) == 1)
        lit.kill(lit.daemon())
        assert wait_until(lambda: len(client.questions) == 2), "the call is repeated, and so is its question"
        yes = {"action": "accept", "content": {"grant": True}}
        client.send({"jsonrpc": "2.0", "id": client.questions[0]["id"], "result": yes})
        client.call("list_sessions")
        assert lit.show("theirs")["state"] == "running"
        no = {"action": "decline"}
        client.send({"jsonrpc": "2.0", "id": client.questions[1]["id"], "result": no})
        assert client.result(first)["isError"] is True
    assert lit.show("theirs")["state"] == "running"


# -- the client's end is its own


def test_it_ends_when_its_input_does(lit: Engine) -> None:
    with outside(lit) as (client, bridge):
        client.call("list_sessions")
    assert is_gone(bridge)
    assert bridge.returncode == 0


def test_it_ends_with_its_client_though_others_hold_its_pipes(lit: Engine) -> None:
    """A client that is killed may leave children that have inherited the ends of our pipes."""
    script = (
        "import os, subprocess, sys, time\n"
        "bridge = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "bridge.stdin.write(b'nonsense\\n'); bridge.stdin.flush(); bridge.stdout.readline()\n"  # it is up
        "holder = subprocess.Popen(['sleep', '1000'], stdin=bridge.stdout, close_fds=False, stdout=bridge.stdin)\n"
        "print(bridge.pid, holder.pid, flush=True)\n"
        "time.sleep(1000)\n"
    )
    command = [sys.executable, "-c", script, *bridge_command()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=lit.environment) as client:
        assert client.stdout is not None
        pid, holder = map(int, client.stdout.readline().split())
        try:
            found = inspect(pid)
            assert found is not None
            client.kill()
            client.wait()
            assert wait_until(lambda: not alive(found.pid, found.start_ticks))
        finally:
            os.kill(holder, signal.SIGKILL)


@pytest.mark.alone
def test_what_was_asked_before_the_end_of_input_is_answered(lit: Engine) -> None:
    """As in `printf … | lamp mcp`."""
    lit.call("get_status")
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    ran = subprocess.run(
        bridge_command(), input=text, capture_output=True, text=True, env=lit.environment, timeout=200, check=True
    )
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == [1, 2]


@pytest.mark.alone
def test_a_reader_that_went_away_ends_it(lit: Engine) -> None:
    lit.call("get_status")
    with subprocess.Popen(
        bridge_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=lit.environment
    ) as bridge:
        assert bridge.stdout is not None
        bridge.stdout.close()
        assert wait_until(lambda: bridge.poll() is not None)


def test_tools_that_do_not_exist(lit: Engine) -> None:
    ran = lit.cli("mcp", "--tools", "nothing")
    assert ran.returncode == 2
    assert "core" in ran.stderr


# -- what it is fed


def raw_answer(client: McpClient, data: bytes) -> dict[str, Any]:
    """What comes back for bytes that are no request of ours: an error without a number."""
    waiting = client._answers[None] = queue.Queue()  # pyright: ignore[reportPrivateUsage]
    client.send_bytes(data)
    return waiting.get(timeout=200)


@pytest.mark.parametrize(
    "garbage",
    [b"nonsense\n", b"[1, 2]\n", b'"text"\n', b"[" * 200_000 + b"\n", b"\xff\xfe\x00\n", b'{"jsonrpc": "2.0", \n'],
    ids=["text", "batch", "string", "deep", "bytes", "half"],
)
def test_garbage_is_answered_and_does_no_harm(lit: Engine, garbage: bytes) -> None:
    with outside(lit) as (client, bridge):
        assert raw_answer(client, garbage)["error"]["code"] in (-32700, -32600)
        assert client.call("list_sessions")["sessions"] == []
        assert bridge.poll() is None


def greeted(lit: Engine) -> tuple[socket.socket, IO[bytes]]:
    """A connection to the daemon as a bridge has one, for what no bridge does."""
    sock = lit.connect()
    sock.settimeout(120)
    file = sock.makefile("rb")
    sock.sendall(b'{"mcp": {"wire": 1, "tools": "core"}}\n')
    assert "mcp" in json.loads(file.readline())
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    sock.sendall(b"- " + request(0, "initialize", params))
    assert json.loads(file.readline())["id"] == 0
    return sock, file


def request(number: Any, method: str, params: dict[str, Any] | None = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}).encode() + b"\n"


def test_garbage_between_long_answers_breaks_no_line(lit: Engine) -> None:
    """Two tasks of the daemon write to one socket, which is full."""
    sock, file = greeted(lit)
    with sock, file:
        for number in range(1, 61):
            sock.sendall(b"- " + request(number, "tools/list") + b'- {"jsonrpc": "1.0", "id": "none"}\n')
        lit.call("list_sessions")  # by now the daemon has begun to answer, and nobody has read
        answers = [json.loads(file.readline()) for _ in range(120)]
    assert sorted(answer["id"] for answer in answers if "result" in answer) == list(range(1, 61))


def test_an_id_that_is_none_is_answered(lit: Engine) -> None:
    with outside(lit) as (client, _):
        for number in (b"null", b"1.0", b"true", b"[1]", b'{"a": 1}', b"NaN"):
            said = raw_answer(client, b'{"jsonrpc": "2.0", "id": %s, "method": "ping"}\n' % number)
            assert "the id of a request" in said["error"]["message"]


def test_only_so_many_requests_wait_at_once(lit: Engine) -> None:
    session = lit.start("cat")["id"]
    wait = {"name": "wait_session", "arguments": {"session": session, "until": "ended", "timeout": "60s"}}
    sock, file = greeted(lit)
    with sock, file:
        sock.sendall(b"".join(b"- " + request(number, "tools/call", wait) for number in range(1, 1002)))
        refused = json.loads(file.readline())
        assert (refused["id"], "1000 requests wait" in refused["error"]["message"]) == (1001, True)
        lit.call("kill_session", session=session, force=True)
        assert {json.loads(file.readline())["id"] for _ in range(1000)} == set(range(1, 1001))
        sock.sendall(b"- " + request(1002, "ping"))
        assert "result" in json.loads(file.readline())


def test_an_id_that_waits_is_not_used_twice(lit: Engine) -> None:
    """Of two with one id, an answer could not be told from the other's, nor could both be sent again to another daemon."""
    session = lit.start("cat")["id"]
    wait = {"name": "wait_session", "arguments": {"session": session, "until": "ended", "timeout": "60s"}}
    sock, file = greeted(lit)
    with sock, file, outside(lit) as (client, _):
        sock.sendall((b"- " + request(7, "tools/call", wait)) * 2)
        assert "with the id '7'" in json.loads(file.readline())["error"]["message"]
        assert "with this id" in raw_answer(client, request("x", "tools/call", wait) * 2)["error"]["message"]
        lit.call("kill_session", session=session, force=True)
        assert json.loads(file.readline())["id"] == 7


@pytest.mark.alone
def test_what_no_bridge_says_leaves_no_trace(lit: Engine) -> None:
    for line in (b"! []\n", b"! 5\n", b"! {}\n", b"! {\n", b"\n", b"\xff\n"):
        sock, file = greeted(lit)
        with sock, file:
            sock.sendall(line + b"- " + request(7, "ping"))
            assert any(json.loads(answer)["id"] == 7 for answer in file)
    assert "Traceback" not in (lit.folder / "daemon.log").read_text()


def test_a_line_without_end_is_cut_off(lit: Engine) -> None:
    sock, file = greeted(lit)
    with sock, file, pytest.raises(ConnectionError):
        sock.sendall(b"x" * (64 << 20))


def test_deep_arguments_are_refused(lit: Engine) -> None:
    with outside(lit) as (client, _):
        deep = '{"a":' * 400 + "1" + "}" * 400
        line = (
            f'{{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{{"name":"list_sessions","arguments":{deep}}}}}'
        )
        waiting = client._answers["d"] = queue.Queue()  # pyright: ignore[reportPrivateUsage]
        client.send_bytes(line.encode() + b"\n")
        answer = waiting.get(timeout=200)
        assert "error" in answer or answer["result"]["isError"] is True
        assert client.call("list_sessions")["sessions"] == []


@pytest.mark.parametrize("size", [20 << 20, 50 << 20, 80 << 20])
def test_a_message_that_is_too_long_is_refused_by_number_and_noted(lit: Engine, size: int) -> None:
    with outside(lit) as (client, bridge):
        session = client.call("start_session", command=["cat"])["id"]
        arguments = {"session": session, "text": "x" * size}
        if size > 64 << 20:
            waiting = client._answers[None] = queue.Queue()  # pyright: ignore[reportPrivateUsage]
            client.begin("tools/call", {"name": "send_input", "arguments": arguments})
            assert "BAD_INPUT" in waiting.get(timeout=200)["error"]["message"]
        else:
            with pytest.raises(RpcError, match="BAD_INPUT"):
                client.request("tools/call", {"name": "send_input", "arguments": arguments})
        assert client.call("read_output", session=session, mode="output")["text"] == ""
        assert bridge.poll() is None
    refused = [event for event in lit.events() if event["action"] == "refused"]
    assert [event["detail"]["code"] for event in refused] == ["BAD_INPUT"]


def test_a_client_that_does_not_read_holds_up_nobody_else(lit: Engine) -> None:
    with outside(lit) as (client, _), outside(lit) as (_, lazy):
        assert lazy.stdin is not None
        session = client.call("start_session", command=["sh", "-c", "seq 1 100000; exec cat"], headless=True)["id"]
        call = {
            "name": "read_output",
            "arguments": {"session": session, "mode": "output", "since": 0, "limit": 200_000},
        }
        os.kill(lazy.pid, signal.SIGSTOP)
        for number in range(100, 110):
            request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            lazy.stdin.write(json.dumps(request).encode() + b"\n")
        lazy.stdin.flush()
        assert client.call("get_session", session=session)["id"] == session
        os.kill(lazy.pid, signal.SIGCONT)


# -- many


@pytest.mark.alone
def test_fifty_bridges_at_once(lit: Engine) -> None:
    lit.call("get_status")

    def use(number: int) -> int:
        with outside(lit, protocol=MODERN if number % 2 else LEGACY) as (client, _):
            started = client.call("start_session", command=["cat"], name=f"job-{number}", headless=True)
            own = client.call("list_sessions")["sessions"]
            assert [row["id"] for row in own] == [started["id"]], "mine are mine alone"
            client.call("kill_session", session=started["id"], force=True, grace="0")
            return len(client.call("list_sessions")["sessions"])

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(use, range(50))) == [0] * 50


def test_what_is_not_the_clients_needs_the_operator(lit: Engine) -> None:
    lit.start("cat", name="theirs")
    with outside(lit) as (client, _), pytest.raises(ToolError) as refused:
        client.call("kill_session", session="theirs", force=True)
    assert refused.value.code == "APPROVAL_NEEDED"
