"""A tree is found, frozen, killed and reaped to the last, by the kernel's lists of children and without them alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from lamplighter.holder import kill_ladder, lineage, proc
from lamplighter.holder.kill_ladder import KillLadder
from lamplighter.holder.shim_factory import _terminal_number  # pyright: ignore[reportPrivateUsage]
from lamplighter.holder.tree import Tree
from tests.support.engine import ESCAPEES
from tests.support.processes import none_left, wait_until

# What a shim does, without the rest of it: the subreaper of a tree that does not want to die kills it and reaps to ECHILD.
HOLDER = """
import os, signal, subprocess, sys
from lamplighter.holder import lineage, prctl
from lamplighter.holder.tree import Tree

how, *command = sys.argv[1:]
prctl.become_subreaper()
main = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
assert main.stdout.readline() == b"ready\\n"
if how == "scan":
    lineage.is_kept = lambda: False
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
tree = Tree("a session", None)
try:
    while True:
        tree.kill()
        while signal.sigtimedwait({signal.SIGCHLD}, 0.05) is not None:
            while (gone := os.waitpid(-1, os.WNOHANG))[0]:
                tree.reaped(*gone)
except ChildProcessError:
    pass
assert not tree.certificate("tree")["survivors"]
print(len(tree.deaths))
"""
# Two children, one of them a thread's, and each of those has a child.
FAMILY = """
import subprocess, sys, threading
nest = "import subprocess, sys; c = subprocess.Popen(['cat'], stdin=sys.stdin); print('up', flush=True); c.wait()"
def start():
    child = subprocess.Popen([sys.executable, "-S", "-c", nest, sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    return child
def start_and_stay():
    started.append(start())
    ready.set()
    threading.Event().wait()
started, ready = [start()], threading.Event()
threading.Thread(target=start_and_stay, daemon=True).start()
ready.wait()
print("ready", flush=True)
sys.stdin.read()
"""

NAMES = ("deaf", "stopped", "orphan", "setsid-scrubbed", "daemon-scrubbed", "hopper")

listed = pytest.mark.skipif(not lineage.is_kept(), reason="this kernel keeps no lists of children")


@contextmanager
def family(mark: str) -> Generator[int]:
    command = [sys.executable, "-S", "-c", FAMILY, mark]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
    assert wait_until(lambda: none_left(mark))


@pytest.mark.parametrize("how", [pytest.param("lists", marks=listed), "scan"])
def test_nothing_of_a_tree_is_left(mark: str, how: str) -> None:
    command = [sys.executable, "-c", HOLDER, how, sys.executable, ESCAPEES, *NAMES, "--mark", mark]
    holder = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert holder.returncode == 0, holder.stderr
    assert none_left(mark)
    assert int(holder.stdout) > len(NAMES)


@listed
def test_lists_name_whom_a_scan_finds(mark: str) -> None:
    with family(mark) as root:
        found = lineage.descendants(root, set())
        assert len(found) == 4  # a thread's children are children too
        scanned = proc.descendants(proc.scan(), {root})
        assert {stat.key for stat in found.values()} == {stat.key for stat in scanned.values()}
        first, second = lineage.children_of(root)
        below = set(lineage.children_of(second))
        assert len(below) == 1
        assert set(lineage.descendants(root, {first})) == {second, *below}


@listed
def test_who_is_gone_has_no_children() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert lineage.children_of(child.pid) == []
    assert lineage.descendants(child.pid, set()) == {}


def test_a_pid_that_is_gone_is_passed_over_no_longer() -> None:
    """It will be given out again, and then to one of the tree."""
    child = subprocess.Popen(["true"])
    child.wait()
    passed = {os.getpid(), child.pid}
    assert os.getpid() not in proc.scan_moving(passed)
    assert passed == {os.getpid()}


def test_nobody_survives_a_kill_that_was_not_sent_yet(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the freeze takes: not dying is counted from the KILL on."""
    monkeypatch.setattr(kill_ladder, "_STALL_SECONDS", 0.0)
    child = subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.stdin.read()", mark], stdin=subprocess.PIPE)
    tree = Tree("a session", None)
    tree.adopted, tree.roots = True, {(child.pid, proc.start_of(child.pid) or 0)}
    ladder = KillLadder(tree, adopted=True, keep_children=False)
    ladder.stop(0)
    assert (ladder.phase, ladder.ladder) == ("killing", ["KILL"])
    child.communicate()
    assert child.returncode == -signal.SIGKILL


def test_the_number_of_a_terminal_is_a_sign_only_while_it_is_held() -> None:
    """Closed, it is free: the next session to be started, of any home, gets it."""
    master, slave = os.openpty()
    take = (
        "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); print('taken', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-S", "-c", take]
    with subprocess.Popen(command, stdin=slave, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"taken\n"
        streams = {"terminal": master}
        for held in (True, False):
            tree = Tree("a session", None, lambda: _terminal_number(streams))
            tree.adopted = True
            assert (process.pid in tree.members()) is held
            streams.pop("terminal", None)  # as a shim does that closes it
        process.kill()
    os.close(slave)
    os.close(master)
