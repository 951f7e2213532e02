"""What may and may not be taken for a part of a session that has no holder. Real processes, on terminals of their own."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lamplighter.engine.backends.adopted.identity import SessionIdentity, TracedTree
from lamplighter.holder import proc
from tests.support.processes import inspect, wait_until


@contextmanager
def on_a_terminal(**environment: str) -> Iterator[tuple[proc.Stat, str]]:
    """A session leader on a new terminal, and that terminal's name. No child of ours: what is below us is never a member."""
    master, slave = pty.openpty()
    told, tell = os.pipe()
    command = ["setsid", "--fork", "--ctty", "sh", "-c", "echo $$; exec sleep 300"]
    surroundings = {**os.environ, **environment}
    subprocess.run(command, stdin=slave, stdout=tell, env=surroundings, check=True)
    stat = proc.read_stat(int(os.read(told, 20)))
    assert stat is not None
    try:
        assert stat.session == stat.pid
        assert wait_until(
            lambda: proc.command_of(stat.pid) == "sleep 300"
        )  # amid an exec there is no environment to read
        yield stat, os.ttyname(slave)
    finally:
        assert proc.send_signal(*stat.key, signal.SIGKILL) == "sent"
        assert wait_until(lambda: not proc.is_alive(*stat.key))
        for descriptor in (master, slave, told, tell):
            os.close(descriptor)


def members(trail: SessionIdentity) -> set[int]:
    return set(TracedTree(trail, set).members())


def test_a_terminal_that_was_freed_is_no_sign() -> None:
    assert any(_freed_terminal_is_no_sign() for _ in range(20)), "others took each of the terminals"


def _freed_terminal_is_no_sign() -> bool:
    """False when somebody else on this machine has the terminal by now. The kernel gives the lowest number that is free."""
    with on_a_terminal() as (pane, name):
        trail = SessionIdentity("0" * 8, roots={pane.key}, leaders={pane.pid: pane.start})
        assert members(trail) == {pane.pid}
    with ExitStack() as held:
        for _ in range(int(name.removeprefix("/dev/pts/")) + 1):
            stranger, same = held.enter_context(on_a_terminal())
            if same == name:
                assert stranger.terminal == pane.terminal
                assert members(trail) == set()
                return True
    return False


def test_a_session_id_counts_while_its_leader_lives_and_is_that_one() -> None:
    with on_a_terminal() as (pane, _):
        assert members(SessionIdentity("0" * 8, leaders={pane.pid: pane.start})) == {pane.pid}
        assert members(SessionIdentity("0" * 8, leaders={pane.pid: pane.start - 1})) == set()
        assert members(SessionIdentity("0" * 8, roots={(pane.pid, pane.start - 1)})) == set()


def test_the_environment_counts_for_the_right_server_session_and_pane() -> None:
    server = proc.read_stat(os.getpid())
    assert server is not None

    def trail(**other: object) -> SessionIdentity:
        known: dict[str, object] = {"server": server.key, "socket": "/tmp/x", "number": "3", "panes": {"%1"}, **other}
        return SessionIdentity("0" * 8, **known)  # type: ignore[arg-type]

    with on_a_terminal(TMUX=f"/tmp/x,{server.pid},3", TMUX_PANE="%7") as (pane, _):
        assert members(trail()) == {pane.pid}
        assert members(trail(number="4")) == set()
        assert members(trail(number="4", panes={"%7"})) == {pane.pid}
        assert members(trail(foreign={"%7"})) == set()
        assert members(trail(socket="/tmp/y")) == set()
        assert members(trail(server=(server.pid, server.start - 1))) == set()
        assert inspect(pane.pid) is not None
    with on_a_terminal(TMUX=f"/tmp/x,{server.pid},3", TMUX_PANE="%1", LAMPLIGHTER_SESSION="other") as (pane, _):
        assert members(trail()) == set()
        assert members(trail(mark="other")) == {pane.pid}
    for garbage in ("", ",", ",,", "x", f"{server.pid}", f",{server.pid},"):
        with on_a_terminal(TMUX=garbage, TMUX_PANE="%1"):
            assert members(trail()) == set()
