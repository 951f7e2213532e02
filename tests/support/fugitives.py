"""Processes that are harder to end than escapees, each of a kind that needs something of its own; for tests of what ends them.

    python fugitives.py NAME --mark TOKEN --ready FILE [--folder FOLDER] [--namespace PID]
    python fugitives.py trace --target PID --mark TOKEN --ready FILE

The first becomes a session's main process, starts the fugitive, makes the file once it is up, and waits. The second is the
tracer of somebody else's process, for outside the session. Every process carries the token in its command line. All of them end
by themselves after two minutes. Standard library only, and runs as a plain file. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

LIFETIME = 120.0
_PTRACE_SEIZE = 0x4206
_PR_SET_NAME = 15
_CLONE_NEWPID = 0x20000000
_CLONE_NEWUSER = 0x10000000
_ROOT_CGROUP = "/sys/fs/cgroup/cgroup.procs"
_libc = ctypes.CDLL(None, use_errno=True)


def leaderless(options: argparse.Namespace) -> None:
    """A child whose main thread leaves by pthread_exit, while another works on."""
    if os.fork() == 0:
        _lose_leader(options.ready)
    _await(options.ready)


def leaderless_main(options: argparse.Namespace) -> None:
    """The session's own main process does."""
    _lose_leader(options.ready)


def namespaced(options: argparse.Namespace) -> None:
    """An orphan in a pid namespace that was there before: it belongs to that namespace's init."""
    is_root = os.getuid() == 0  # inside, an ordinary user may be called root
    if os.fork() == 0:
        _enter(options.namespace)
        if os.fork():
            os._exit(0)
        os.setsid()
        if is_root:
            with open(_ROOT_CGROUP, "w") as file:
                file.write("0")
        _touch(options.ready)
        _rest()
    os.wait()
    _await(options.ready)


def fake_tmux(options: argparse.Namespace) -> None:
    """A daemon that calls itself a tmux server, with a child that says that it is in a second session of it."""
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.setsid()
        _libc.prctl(_PR_SET_NAME, b"tmux: server", 0, 0, 0)
        subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, "rest", "--mark", options.mark, "--ready", options.ready],
            env={"TMUX": f"/tmp/none,{os.getpid()},1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _rest()
    os.wait()
    _await(options.ready)


def own_tmux(options: argparse.Namespace) -> None:
    """Two sessions in a tmux server of the session's own."""
    socket = f"{options.folder}/{options.mark[-12:]}"
    resting = f"exec {sys.executable} -I -S {__file__} rest --mark {options.mark}"
    for name in ("one", "two"):
        words = ["tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-s", f"{name}-{options.mark}"]
        # Not the shell of whoever has none, as an ordinary user of the system may.
        usual = {**os.environ, "SHELL": "/bin/sh"}
        subprocess.run([*words, f"{resting} --ready {options.ready}.{name}"], check=True, env=usual)
    for name in ("one", "two"):
        _await(f"{options.ready}.{name}")
    _touch(options.ready)


def gone_folder(options: argparse.Namespace) -> None:
    """One whose folder is deleted."""
    if os.fork() == 0:
        folder = tempfile.mkdtemp(dir=str(options.folder))
        os.chdir(folder)
        os.rmdir(folder)
        os.setsid()
        _touch(options.ready)
        _rest()
    _await(options.ready)


def respawning(options: argparse.Namespace) -> None:
    """Each TERM, HUP or INT makes two more of them, up to sixteen."""
    if os.fork() == 0:
        _respawn([])
        _touch(options.ready)
        _rest()
    _await(options.ready)


def flooding(options: argparse.Namespace) -> None:
    """Prints without a pause, deaf to TERM; 16 MB at most."""
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        _touch(options.ready)
        try:
            for _ in range(4096):
                os.write(1, b"x" * 4095 + b"\n")
        except OSError:
            pass  # nobody reads any more
        _rest()
    _await(options.ready)


def rest(options: argparse.Namespace) -> None:
    _touch(options.ready)


def trace(options: argparse.Namespace) -> None:
    if _libc.ptrace(_PTRACE_SEIZE, options.target, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    _touch(options.ready)


FUGITIVES: dict[str, Callable[[argparse.Namespace], None]] = {
    "leaderless": leaderless,
    "leaderless-main": leaderless_main,
    "namespaced": namespaced,
    "fake-tmux": fake_tmux,
    "own-tmux": own_tmux,
    "gone-folder": gone_folder,
    "respawning": respawning,
    "flooding": flooding,
    "rest": rest,
    "trace": trace,
}


def _lose_leader(ready: str) -> NoReturn:
    def work() -> None:
        _touch(ready)
        time.sleep(LIFETIME)
        os._exit(0)

    threading.Thread(target=work, daemon=True).start()
    _libc.pthread_exit(None)
    raise AssertionError("a thread that has left goes on")


def _enter(init: int) -> None:
    """Into the pid namespace of this process, through its user namespace where we are not root."""
    if os.getuid() != 0:
        _setns(f"/proc/{init}/ns/user", _CLONE_NEWUSER)
    _setns(f"/proc/{init}/ns/pid", _CLONE_NEWPID)


def _setns(path: str, kind: int) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    if _libc.setns(descriptor, kind) != 0:
        raise OSError(ctypes.get_errno(), f"setns {path}")
    os.close(descriptor)


def _respawn(made: list[int]) -> None:
    def again(_number: int, _frame: object) -> None:
        for _ in range(2):
            if len(made) < 4 and os.fork() == 0:
                os.setsid()
                made[:] = [0] * 4  # its children make no more: sixteen at most
                _rest()
            made.append(0)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, again)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666))


def _await(path: str) -> None:
    end = time.monotonic() + 30
    while not Path(path).exists() and time.monotonic() < end:
        time.sleep(0.005)


def _rest() -> NoReturn:
    end = time.monotonic() + LIFETIME
    while (left := end - time.monotonic()) > 0:
        time.sleep(left)  # a signal that is handled cuts it short
    os._exit(0)


def main() -> NoReturn:
    parser = argparse.ArgumentParser(prog="fugitives", description="Leave processes that are hard to end.")
    parser.add_argument("name", choices=list(FUGITIVES))
    parser.add_argument("--mark", required=True, help="a token for every process's command line")
    parser.add_argument("--ready", required=True, help="the file that says that it is up")
    parser.add_argument("--folder", default="/tmp", help="where it may make files")
    parser.add_argument("--namespace", type=int, default=0, help="the init of the pid namespace to enter")
    parser.add_argument("--target", type=int, default=0, help="the process to trace")
    options = parser.parse_args()
    FUGITIVES[options.name](options)
    _rest()


if __name__ == "__main__":
    main()
