"""Daemon and keeper without a descriptor left, for a while: whoever comes meanwhile is let in afterwards."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lamplighter.domain.call_key import new_key
from lamplighter.errors import LampError
from tests.support.engine import Engine, answer, send
from tests.support.processes import none_left, wait_until


@contextmanager
def out_of_descriptors(pid: int) -> Generator[None]:
    """It can open nothing more."""
    used = sorted(map(int, os.listdir(f"/proc/{pid}/fd")))
    free = next(number for number, held in enumerate([*used, -1]) if number != held)
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, usual[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)


def test_a_start_that_finds_no_descriptor_runs_once_or_not_at_all(lit: Engine, mark: str) -> None:
    """However far it comes: what was forked and cannot be held is ended, and counts as never started."""
    lit.start("true")
    for more in range(12):
        ran = lit.folder / f"ran-{more}"
        forks = (lit.child("lamp-template")[0], lit.child("lamp-spare")[0])
        usual = resource.prlimit(forks[0], resource.RLIMIT_NOFILE)
        for pid in forks:
            used = len(os.listdir(f"/proc/{pid}/fd"))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + more, usual[1]))
        try:
            started = lit.start("sh", "-c", f"echo ran >> {ran}; sleep 300; : {mark}", name=f"job-{more}")
        except LampError:
            started = None
        with suppress(ProcessLookupError):
            resource.prlimit(forks[0], resource.RLIMIT_NOFILE, usual)
        if started is None:
            assert wait_until(lambda: none_left(mark))
        else:
            assert wait_until(lambda ran=ran: ran.exists() and ran.read_text() == "ran\n")
            lit.call("kill_session", session=started["id"], force=True, grace="0s")
            assert ran.read_text() == "ran\n"
        assert none_left(mark)


def switches(pid: int) -> int:
    """How often it has gone to sleep."""
    said = Path(f"/proc/{pid}/status").read_text()
    return int(said.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def test_a_daemon_without_descriptors_lets_in_whoever_comes_afterwards(lit: Engine) -> None:
    lit.call("get_status")
    pid = lit.daemon()[0]
    with ExitStack() as visitors:
        with out_of_descriptors(pid):
            before = switches(pid)
            for _ in range(8):  # some of them one too many, whatever it closes meanwhile
                visitors.enter_context(socket.socket(socket.AF_UNIX)).connect(lit.home.daemon_socket)
            assert wait_until(lambda: switches(pid) > before + 3)  # it has tried, and waits
        with socket.socket(socket.AF_UNIX) as visitor:
            visitor.settimeout(120)
            visitor.connect(lit.home.daemon_socket)
            send(visitor, "get_status", new_key(), {})
            assert answer(visitor)["pid"] == pid


def test_a_keeper_without_descriptors_does_not_fill_its_log(lit: Engine) -> None:
    lit.call("get_status")
    pid, log = lit.keeper()[0], lit.folder / "keeper.log"
    with socket.socket(socket.AF_UNIX) as visitor:
        with out_of_descriptors(pid):
            before = switches(pid)
            visitor.connect(lit.home.keeper_socket)
            assert wait_until(lambda: switches(pid) > before + 10)
            size = log.stat().st_size
        visitor.settimeout(120)
        assert b'"hello"' in visitor.recv(65536)
    assert size < 1 << 16
