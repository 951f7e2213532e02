"""The eye on /proc sees what lives, and no more."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

from tests.support import fugitives, processes


def test_a_process_is_told_by_pid_and_start() -> None:
    me = processes.inspect(os.getpid())
    assert me is not None
    assert processes.alive(me.pid, me.start_ticks)
    assert not processes.alive(me.pid, me.start_ticks + 1)


def test_a_zombie_is_not_alive() -> None:
    token = uuid.uuid4().hex
    with subprocess.Popen([sys.executable, "-c", "input()", token], stdin=subprocess.PIPE) as child:
        # The arguments are there a moment after the exec is known to have worked.
        assert processes.wait_until(lambda: [process.pid for process in processes.marked(token)] == [child.pid])
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet reaped
        assert os.path.exists(f"/proc/{child.pid}")
        assert processes.marked(token) == []
        assert processes.none_left(token)


def test_waiting_says_whether_it_came_true() -> None:
    looks = iter([False, False, True])
    assert processes.wait_until(lambda: next(looks))
    assert not processes.wait_until(lambda: False, timeout=0.01)


def test_a_process_lives_while_any_thread_of_it_does(tmp_path: Path) -> None:
    """Its main thread has left by pthread_exit: /proc calls it a zombie, and it works on."""
    token, ready = uuid.uuid4().hex, tmp_path / "ready"
    command = [sys.executable, fugitives.__file__, "leaderless-main", "--mark", token, "--ready", str(ready)]
    with subprocess.Popen(command) as process:
        stat = Path(f"/proc/{process.pid}/stat")
        assert processes.wait_until(lambda: ready.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")
        [found] = processes.marked(token)
        assert found.pid == process.pid
        assert processes.alive(found.pid, found.start_ticks)
        assert processes.end_marked(token) == []
