"""What a test starts begins with the signals that a program expects, whatever the tests were started with."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys

import pytest

from tests.support.engine import Engine

# 32 and 33 are the C library's own: its posix_spawn ignores them, and nobody else can change them.
SEEN = """
import re
for mask in re.findall(r"Sig(?:Blk|Ign):\\s*(\\w+)", open("/proc/self/status").read()):
    print(f"{int(mask, 16) & ~(3 << 31):016x}", end=" ")
"""
# Python ignores PIPE and XFSZ as it starts.
PLAIN = f"{0:016x} {(1 << signal.SIGPIPE - 1) | (1 << signal.SIGXFSZ - 1):016x}"
CHILD = f"""
import subprocess, sys
from tests.support import dispositions
dispositions.be_plain()
sys.exit(subprocess.run([sys.executable, "-c", {SEEN!r}]).returncode)
"""
BEFORE = """
import os, signal, sys
for name in {names!r}:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {blocked!r})
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
EVERYTHING = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGCHLD", "SIGTSTP", "SIGRTMIN"]


def after(*words: str, names: list[str], blocked: list[int], **options: object) -> str:
    """What these words of Python print, when they are started with signals ignored and blocked."""
    command = [sys.executable, "-c", BEFORE.format(names=names, blocked=[int(number) for number in blocked]), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("names", "blocked"),
    [(["SIGHUP"], []), (EVERYTHING, []), ([], [signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP])],
    ids=["nohup", "everything ignored", "blocked"],
)
def test_what_tests_start_is_plain(names: list[str], blocked: list[int]) -> None:
    assert after("-c", CHILD, names=names, blocked=blocked).strip() == PLAIN
    assert after("-c", SEEN, names=names, blocked=blocked).strip() != PLAIN, "without it"


@pytest.mark.parametrize("driver", ["terminal", "headless"])
def test_a_sessions_command_begins_with_defaults(lit: Engine, driver: str) -> None:
    """Whatever whoever started the keeper ignores or blocks."""
    lamp = ["-m", "lamplighter.frontends.cli.main"]
    blocked = [signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGRTMIN]
    after(*lamp, "up", names=EVERYTHING, blocked=blocked, env=lit.environment)
    session = lit.start(sys.executable, "-c", SEEN, headless=driver == "headless")["id"]
    lit.call("wait_session", session=session, until="ended", timeout="120s")
    assert lit.output(session).strip() == PLAIN
    for pid, _ in (lit.daemon(), lit.keeper()):
        with open(f"/proc/{pid}/status") as file:
            blocked_there = next(line.split()[1] for line in file if line.startswith("SigBlk"))
        assert int(blocked_there, 16) == 0


def test_what_a_test_starts_has_no_terminal() -> None:
    """Though whoever runs the tests sits at one."""
    look = "print(open('/proc/self/stat').read().rpartition(')')[2].split()[4])"
    child = (
        "import subprocess, sys\nfrom tests.support import dispositions\n"
        f"subprocess.run([sys.executable, '-c', {look!r}])\n"
        f"dispositions.leave_terminal()\nsubprocess.run([sys.executable, '-c', {look!r}])"
    )
    words = shlex.join([sys.executable, "-c", child])
    said = subprocess.run(["script", "-qec", f"{words}; true", "/dev/null"], capture_output=True, text=True, check=True)
    before, after_it = map(int, said.stdout.split())
    assert before != 0
    assert after_it == 0
