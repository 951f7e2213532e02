"""A shim is forked once for each time that it is wanted, whoever is killed at whatever moment of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMON = """
import os, signal, sys
from lamplighter.holder import zygote
from lamplighter.holder.prctl import become_subreaper

become_subreaper()
file, ends = sys.argv[1], os.pipe()


def be_shim(message, given, over):
    with open(file, "a") as runs:
        runs.write(f"{os.getpid()}\\n")
    return 0


def all_gone():
    os.close(ends[1])
    assert os.read(ends[0], 1) == b""  # whatever came of a fork has had this end


def wait_for(pid, state):
    while open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != state:
        pass


def children_of(pid):
    return open(f"/proc/{pid}/task/{pid}/children").read().split()


def let_it_rest(template):
    # Until it waits, and for no fork of its own.
    while True:
        wait_for(template, "S")
        if not children_of(template):
            return


def spares():
    # Those that are ready, of the children that this process has by now.
    return [int(pid) for pid in children_of(os.getpid()) if open(f"/proc/{pid}/comm").read() == "lamp-spare\\n"]


def the_spare():
    while not (found := spares()):
        pass
    return found[0]


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
"""

DIES_WHEN_IT_HAS_FORKED = """
made = zygote.Zygote(be_shim)
usual = os.waitpid
os.waitpid = die  # in the template, which waits for its child then
made._start()
os.waitpid = usual
pid = made.fork(b"x", [ends[1]])
all_gone()
assert open(file).read().split() == [str(pid)]
"""

DIES_BEFORE_IT_FORKS = """
made = zygote.Zygote(be_shim)
usual, os.fork = os.fork, lambda: die() if os.getpid() != first else usual()
first = os.getpid()
made._start()
os.fork = usual
pid = made.fork(b"x", [ends[1]])
all_gone()
assert open(file).read().split() == [str(pid)]
"""

THE_SPARE_DIES = """
made = zygote.Zygote(be_shim)
made._start()
spare = the_spare()
os.kill(spare, signal.SIGSTOP)
wait_for(spare, "T")
os.kill(spare, signal.SIGKILL)
pid = made.fork(b"x", [ends[1]])
all_gone()
assert open(file).read().split() == [str(pid)] != [str(spare)]
"""

ITS_KEEPER_DIES_BEFORE_THE_SPARE_HEARS = """
told = os.pipe()
keeper = os.fork()
if keeper == 0:
    become_subreaper()
    made = zygote.Zygote(be_shim)
    made._start()
    spare = the_spare()
    os.kill(spare, signal.SIGSTOP)
    wait_for(spare, "T")
    os.write(told[1], str(spare).encode())
    made.fork(b"x", [ends[1]])
spare = int(os.read(told[0], 20))
wait_for(keeper, "S")  # it has asked
os.kill(keeper, signal.SIGKILL)
os.waitpid(keeper, 0)
os.kill(spare, signal.SIGCONT)
all_gone()
assert not os.path.exists(file)
"""

THE_NEXT_COMES_AFTERWARDS = """
goes_on = os.pipe()


def be_shim(message, given, over):
    os.read(given[1], 1)
    over()
    return 0


made = zygote.Zygote(be_shim)
first = made.fork(b"x", [ends[1], goes_on[0]])
let_it_rest(made.pid)
assert not spares()
assert made.fork(b"y", [ends[1], goes_on[0]]) != first  # it is wanted before
let_it_rest(made.pid)
assert not spares()
os.write(goes_on[1], b"..")
all_gone()
the_spare()
"""

ITS_KEEPER_DIES_FIRST = """
told = os.pipe()
keeper = os.fork()
if keeper == 0:
    made = zygote.Zygote(be_shim)
    made._start()
    os.kill(made.pid, signal.SIGSTOP)
    wait_for(made.pid, "T")
    os.write(told[1], str(made.pid).encode())
    made.fork(b"x", [ends[1]])
template = int(os.read(told[0], 20))
wait_for(keeper, "S")  # it has asked
os.kill(keeper, signal.SIGKILL)
os.waitpid(keeper, 0)
os.kill(template, signal.SIGCONT)
all_gone()
assert not os.path.exists(file)
"""


@pytest.mark.parametrize(
    "script",
    [
        DIES_WHEN_IT_HAS_FORKED,
        DIES_BEFORE_IT_FORKS,
        THE_SPARE_DIES,
        ITS_KEEPER_DIES_FIRST,
        ITS_KEEPER_DIES_BEFORE_THE_SPARE_HEARS,
    ],
    ids=[
        "the template once it has forked",
        "the template before it forks",
        "the spare",
        "the keeper before the template forks",
        "the keeper before the spare hears",
    ],
)
def test_lost_meanwhile(tmp_path: Path, script: str) -> None:
    run(tmp_path, script)


def test_the_next_spare_waits_until_the_start_is_over_or_it_is_wanted(tmp_path: Path) -> None:
    run(tmp_path, THE_NEXT_COMES_AFTERWARDS)


def run(tmp_path: Path, script: str) -> None:
    command = [sys.executable, "-c", COMMON + script, str(tmp_path / "runs")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert ran.returncode == 0, ran.stderr
