"""Where the door is: on 127.0.0.1 alone, said by the status, there again after a crash, and free of cost while nobody comes."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lamplighter.errors import InputError
from lamplighter.settings import load_settings
from tests.support.engine import Engine, engine
from tests.support.ports import free_port
from tests.support.processes import wait_until
from tests.support.web import Web, descriptors, port_of, web


def listening(pid: int) -> list[str]:
    """Local addresses of the TCP sockets that a process listens on, as /proc has them."""
    inodes = set(descriptors(pid))
    found: list[str] = []
    for table in ("tcp", "tcp6"):
        rows = [line.split() for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]]
        found += [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]
    return found


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_it_listens_on_loopback_alone_and_says_where(served: Engine) -> None:
    status = served.call("get_status")
    port = port_of(served)
    assert listening(status["pid"]) == [f"0100007F:{port:04X}"]
    assert f"http://127.0.0.1:{port}" in served.cli("status").stdout
    file = Path(served.home.http_file)
    assert json.loads(file.read_text()) == {"url": status["http"], "port": port, "pid": status["pid"]}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    served.call("stop_daemon")
    assert wait_until(lambda: not file.exists())


def test_off_is_off(lit: Engine) -> None:
    status = lit.call("get_status")
    assert (status["http"], status["http_problem"]) == (None, "")
    assert listening(status["pid"]) == []
    assert not Path(lit.home.http_file).exists()
    made = lit.call("create_token", name="early", scope="read")
    assert made["url"] is None
    assert "http_port is off" in made["note"]


def test_nothing_is_loaded_before_somebody_comes(served: Engine) -> None:
    """The SDK takes tens of megabytes: they are there once somebody came, and not before."""
    pid = served.call("get_status")["pid"]
    before = resident(pid)
    assert Web(port_of(served)).ask("GET", "/mcp").status == 401
    assert resident(pid) - before > 10 << 20


@contextmanager
def taken() -> Iterator[socket.socket]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port()))
        other.listen()
        yield other


def test_a_port_that_is_taken_does_not_keep_the_daemon_down() -> None:
    with taken() as other, engine(LAMPLIGHTER_HTTP_PORT=str(port := other.getsockname()[1])) as lit:
        status = lit.call("get_status")
        assert status["http"] is None
        assert str(port) in status["http_problem"]
        assert "http_port" in lit.cli("status").stdout
        assert not Path(lit.home.http_file).exists()
        other.close()
        assert wait_until(lambda: lit.call("get_status")["http"] == f"http://127.0.0.1:{port}")  # once it is free
        assert lit.call("get_status")["http_problem"] == ""
        assert web(lit).initialize().status == 200


def test_a_killed_daemon_comes_back_at_the_same_port_and_old_sessions_are_unknown() -> None:
    with engine(LAMPLIGHTER_HTTP_PORT=str(port := free_port())) as lit:
        client = web(lit)
        assert client.initialize().status == 200
        assert client.post("tools/list", {}).status == 200
        with client.open("GET", "/mcp") as stream:  # an open connection must not keep the port either
            assert stream.status == 200
            lit.kill(lit.daemon())
        assert port_of(lit) == port
        assert json.loads(Path(lit.home.http_file).read_text())["pid"] == lit.daemon()[0]
        assert client.post("tools/list", {}).status == 404
        client.session = None
        assert client.initialize().status == 200  # with the token of before
        assert "tools" in client.post("tools/list", {}).message["result"]


def test_a_daemon_with_open_streams_goes_when_told(served: Engine) -> None:
    client = web(served)
    client.initialize()
    with client.open("GET", "/mcp") as stream:
        daemon = served.daemon()
        served.call("stop_daemon")
        assert stream.read() == b""
        assert wait_until(lambda: not Path(f"/proc/{daemon[0]}").exists())
    assert "Traceback" not in (served.folder / "daemon.log").read_text()


@pytest.mark.parametrize("wrong", ["65536", "-1", "http", "", "80.5"])
def test_a_port_that_is_none_is_an_error(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="http_port"):
        load_settings({"LAMPLIGHTER_HOME": str(tmp_path), "LAMPLIGHTER_HTTP_PORT": wrong})
