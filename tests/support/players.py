"""A program that behaves as sessions do, for tests of verdicts: it spins, asks, waits, serves, in the way it is told.

    python players.py ROLE

Standard library only. Each leaves by itself after ten minutes.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
import tty
from collections.abc import Callable

_LIFE_SECONDS = 600
_SERVER = [sys.executable, "-c", "import sys; sys.stdin.read()"]


def spinner() -> None:
    """Draws in place, for ever the same."""
    while True:
        for glyph in "⠋⠙⠹⠸":
            _say(f"\r\x1b[2K{glyph} Thinking… ({int(time.time())}s)")
            time.sleep(0.05)


def spinner_over_work() -> None:
    """The same picture, while a child computes."""
    subprocess.Popen([sys.executable, "-c", "while True: pass"])
    spinner()


def spinner_over_a_tool() -> None:
    """The same picture, while a child waits for the network."""
    subprocess.Popen([sys.executable, __file__, "network"], stdin=subprocess.DEVNULL)
    spinner()


def progress() -> None:
    """Draws in place, each time something else."""
    number = 0
    while True:
        number += 1
        name = "".join(chr(97 + int(digit)) for digit in str(number))
        _say(f"\r\x1b[2Kcompiling module{name} done")
        time.sleep(0.1)


def download() -> None:
    """Draws in place, always the same words, further each time."""
    share = 0.0
    while True:
        share = (share + 0.1) % 100
        _say(f"\r\x1b[2Kbig.tar.gz  {share:.1f}%  1.20MB/s  eta {int(100 - share)}s")
        time.sleep(0.05)


def log() -> None:
    """A server's log: always the same words, each in a new line."""
    while True:
        _say("GET /health 200\r\n")
        time.sleep(0.1)


def network() -> None:
    """Waits for an answer that does not come."""
    near, far = socket.socketpair()
    near.recv(1)
    far.close()


def rounds() -> None:
    """Sleeps, does next to nothing, sleeps."""
    while True:
        time.sleep(0.2)


def agent() -> None:
    """At its prompt, with the terminal to itself."""
    _take_keys()
    _say("\x1b[2J\x1b[HWelcome\r\n\r\n> ")
    _read_keys()


def agent_that_ticks() -> None:
    """At its prompt, with a timer that takes a little CPU now and then."""
    _take_keys()
    _say("Welcome\r\n\r\n> ")
    while True:
        if select.select([0], [], [], 0.25)[0]:
            os.read(0, 1)
        began = time.process_time()
        while time.process_time() - began < 0.002:
            pass


def agent_with_servers() -> None:
    """At its prompt, with two MCP servers that came with it, one behind a shell."""
    subprocess.Popen(_SERVER, stdin=subprocess.PIPE)
    subprocess.Popen(["sh", "-c", f"'{sys.executable}' -c 'import sys; sys.stdin.read()'; true"], stdin=subprocess.PIPE)
    agent()


def agent_at_a_tool() -> None:
    """Runs a silent command and shows nothing meanwhile."""
    subprocess.Popen(["sh", "-c", "sleep 500; true"], stdin=subprocess.DEVNULL)
    agent()


def agent_asks() -> None:
    """Asks for a permission, key by key."""
    _take_keys()
    _say("Run rm -rf build? [y/N] ")
    _read_keys()


def secret() -> None:
    """Asks without showing what is typed."""
    subprocess.run(["stty", "-echo"], check=True)
    _say("Password: ")
    sys.stdin.readline()


def asks_above() -> None:
    """The question in a line that it ended."""
    _say("Proceed? (y/n)\r\n")
    sys.stdin.readline()


def _say(text: str) -> None:
    os.write(1, text.encode())


def _take_keys() -> None:
    tty.setraw(0)


def _read_keys() -> None:
    """As event loops do: not in a read, but waiting until one would give something."""
    while True:
        select.select([0], [], [])
        os.read(0, 1)


ROLES: dict[str, Callable[[], None]] = {
    function.__name__: function
    for function in (
        spinner, spinner_over_work, spinner_over_a_tool, progress, download, log, network, rounds, agent, agent_that_ticks,
        agent_with_servers, agent_at_a_tool, agent_asks, secret, asks_above,
    )
}  # fmt: skip

if __name__ == "__main__":
    signal.alarm(_LIFE_SECONDS)
    ROLES[sys.argv[1]]()
