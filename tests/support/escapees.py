"""A program that leaves processes behind in every way we know, for tests of what ends them.

    python -m tests.support.escapees NAME…|all [--mark TOKEN] [--report FILE] [--exit N]

It becomes a session's main process, starts the escapees named, writes one line of JSON to the report (the pid and start
time of itself and of each of them), prints `ready`, and waits, or exits at once with `--exit`. Every process carries
the token in its command line, whatever becomes of its environment: that is how a test finds survivors. `hopper` is
reported where it began; where it is by now only a scan for the token can tell.

A failed test must not leave anything for ever: hopper and bomb end after a minute, all the others after five, also when
they are stopped. Standard library only, and runs as a plain file too. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import json
import os
import random
import signal
import struct
import sys
import threading
import time

TYPE_CHECKING = False  # as typing has it, which takes as long to import as half of what is needed here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

BOMB_SIZE = 300
_HOP_SECONDS = 0.003
_SHORT_LIVED = ("hopper", "bomb")
_EXIT_OF_A_THREAD = {"x86_64": 60, "aarch64": 93}
_DEAF_TO = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Run:
    """What all processes of one run share: it is passed on by fork, and through the arguments by exec.

    It lives `lifetime` where it rests, `short_lifetime` where it keeps forking; `report` is the pipe to the main process.
    """

    def __init__(self, mark: str, lifetime: float, short_lifetime: float, report: int) -> None:
        self.mark = mark
        self.lifetime = lifetime
        self.short_lifetime = short_lifetime
        self.report = report


# ── What each of them does, once it is a process of its own ──────────────────────────────────────────────────────────


def _plain(run: Run) -> NoReturn:
    _rest(run, "plain")


def _nohup(run: Run) -> NoReturn:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _rest(run, "nohup")


def _deaf(run: Run) -> NoReturn:
    _ignore_all()
    _rest(run, "deaf")


def _stopped(run: Run) -> NoReturn:
    _live_at_most(run.lifetime)
    _tell(run, "stopped")
    os.kill(os.getpid(), signal.SIGSTOP)
    _pause_for_ever()


def _background(run: Run) -> NoReturn:
    os.setpgid(0, 0)
    _rest(run, "background")


def _orphan(run: Run) -> NoReturn:
    _leave_parent()
    _rest(run, "orphan")


def _setsid(run: Run) -> NoReturn:
    os.setsid()
    _rest(run, "setsid")


def _setsid_scrubbed(run: Run) -> NoReturn:
    os.setsid()
    _exec_scrubbed(run, "setsid-scrubbed")


def _daemon(run: Run) -> NoReturn:
    _daemonize()
    _rest(run, "daemon")


def _daemon_scrubbed(run: Run) -> NoReturn:
    _daemonize()
    _exec_scrubbed(run, "daemon-scrubbed")


def _hopper(run: Run) -> NoReturn:
    """A new pid and a new session every few milliseconds; whoever saw the last one finds it gone."""
    hops = 0
    end = time.monotonic() + run.short_lifetime
    while (left := end - time.monotonic()) > 0:
        _live_at_most(left)
        time.sleep(_HOP_SECONDS)
        try:
            child = os.fork()
        except BlockingIOError:
            continue  # no process to be had just now: hop later
        if child:
            os._exit(0)
        os.setsid()
        hops += 1
        if hops == 1:
            _tell(run, "hopper")  # up means away: before, it was still in the main process's group
    os._exit(0)


def _bomb(run: Run) -> NoReturn:
    """Forks as long as fewer than BOMB_SIZE live, and again whenever one of them is killed.

    The count is the kernel's: each process holds the lock on a byte of a shared file, and the lock goes when it dies.
    """
    _ignore_all()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are reaped by the kernel
    file = os.memfd_create("bomb")
    slot = _take_slot(file, range(BOMB_SIZE))
    end = time.monotonic() + run.short_lifetime
    _live_at_most(run.short_lifetime)
    _tell(run, "bomb")
    while True:
        # A few tries, not all: 300 processes that look at 300 places each would do nothing else.
        free = _take_slot(file, random.sample(range(BOMB_SIZE), 8))
        if free is None:
            time.sleep(0.05)  # 300 that look every 10 ms keep two cores busy, and other tests waiting
        elif _fork_if_possible() == 0:
            if slot is not None:
                os.close(slot)  # it is the parent's
            slot = free
            random.seed()
            _live_at_most(end - time.monotonic())
            _tell(run, "bomb")
        else:
            os.close(free)  # the child holds it now


def _leaderless(run: Run) -> NoReturn:
    """The main thread has left: the kernel calls the process a zombie, and another thread works on, deaf as well."""
    _ignore_all()

    def work() -> None:
        _live_at_most(run.lifetime)
        while not _is_leaderless():
            time.sleep(0.001)
        _tell(run, "leaderless")
        threading.Event().wait()

    threading.Thread(target=work, daemon=True).start()
    _libc.syscall(_EXIT_OF_A_THREAD[os.uname().machine], 0)
    raise AssertionError("the thread that left is here")


def _is_leaderless() -> bool:
    with open(f"/proc/{os.getpid()}/stat", "rb") as file:
        stat = file.read()
    return stat[stat.rindex(b")") + 2 :][:1] == b"Z"


ESCAPEES: dict[str, Callable[[Run], NoReturn]] = {
    "plain": _plain,
    "nohup": _nohup,
    "deaf": _deaf,
    "stopped": _stopped,
    "background": _background,
    "orphan": _orphan,
    "setsid": _setsid,
    "setsid-scrubbed": _setsid_scrubbed,
    "daemon": _daemon,
    "daemon-scrubbed": _daemon_scrubbed,
    "leaderless": _leaderless,
    # The restless ones last: they would slow the others' start.
    "hopper": _hopper,
    "bomb": _bomb,
}
_ORPHANED = ("orphan", "daemon", "daemon-scrubbed")


# ── How they get there ───────────────────────────────────────────────────────────────────────────────────────────────


def _rest(run: Run, name: str) -> NoReturn:
    _live_at_most(run.lifetime)
    _tell(run, name)
    _pause_for_ever()


def _pause_for_ever() -> NoReturn:
    while True:
        signal.pause()


def _ignore_all() -> None:
    for number in _DEAF_TO:
        signal.signal(number, signal.SIG_IGN)


def _leave_parent() -> None:
    """Go on as an orphan in the same group."""
    if os.fork():
        os._exit(0)


def _daemonize() -> None:
    os.setsid()
    _leave_parent()
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    if nothing > 2:
        os.close(nothing)


def _exec_scrubbed(run: Run, name: str) -> NoReturn:
    """An empty environment needs an exec: /proc/<pid>/environ keeps what the process was started with."""
    os.set_inheritable(run.report, True)
    here = os.path.abspath(__file__)
    command = [sys.executable, "-I", "-S", here, f"--become={name}", f"--mark={run.mark}"]
    os.execve(sys.executable, [*command, f"--lifetime={run.lifetime}", f"--report-to={run.report}"], {})


def _fork_if_possible() -> int | None:
    try:
        return os.fork()
    except BlockingIOError:
        return None  # the machine's limit comes before ours


def _take_slot(file: int, candidates: list[int] | range) -> int | None:
    """Lock a free byte of the file; the descriptor that holds the lock, or None when none of the candidates is free."""
    # A descriptor of its own: such a lock belongs to the open file and passes to the child with it.
    slot = os.open(f"/proc/self/fd/{file}", os.O_RDWR)
    for place in candidates:
        try:
            fcntl.fcntl(slot, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
        except BlockingIOError:
            continue
        return slot
    os.close(slot)
    return None


# ── What they all need ───────────────────────────────────────────────────────────────────────────────────────────────

_libc = ctypes.CDLL(None, use_errno=True)


def _live_at_most(seconds: float) -> None:
    """Ask the kernel to KILL this process then. An alarm would not do: a stopped process never takes it."""
    # struct sigevent: value (8 bytes), signal, SIGEV_SIGNAL, padding. struct itimerspec: interval, value.
    event = struct.pack("qii48x", 0, signal.SIGKILL, 0)
    timer = ctypes.c_void_p()
    whole, part = divmod(max(int(seconds * 1e9), 1), 10**9)
    moment = struct.pack("llll", 0, 0, whole, part)
    if _libc.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)) != 0:
        raise OSError(ctypes.get_errno(), "timer_create")
    if _libc.timer_settime(timer, 0, moment, None) != 0:
        raise OSError(ctypes.get_errno(), "timer_settime")


def _identity() -> dict[str, int]:
    with open(f"/proc/{os.getpid()}/stat", "rb") as file:
        stat = file.read()
    return {"pid": os.getpid(), "start_ticks": int(stat[stat.rindex(b")") + 2 :].split()[19])}


def _tell(run: Run, name: str) -> None:
    """Say to the main process that this one is up."""
    line = json.dumps({"name": name, **_identity()}) + "\n"
    try:
        os.write(run.report, line.encode())
    except (BrokenPipeError, BlockingIOError):
        return  # one that was forked after all were up: nobody listens any more


# ── The main process ─────────────────────────────────────────────────────────────────────────────────────────────────


def main() -> NoReturn:
    options = _parse()
    for number in (*_DEAF_TO, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)  # whoever started us may have ignored them, and that is inherited
    if options.become:
        _rest(Run(options.mark, options.lifetime, options.lifetime, options.report_to), options.become)
    names = list(ESCAPEES) if "all" in options.names else [name for name in ESCAPEES if name in options.names]
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    run = Run(options.mark, options.lifetime, min(60.0, options.lifetime), writer)
    _live_at_most(run.lifetime)
    signal.alarm(30)  # an escapee that fails says nothing: do not wait for it long
    found = _start(run, names, reader)
    signal.alarm(0)
    os.close(reader)
    if options.report:
        with open(options.report, "w", encoding="utf-8") as file:
            file.write(json.dumps({"main": _identity(), "escapees": found}) + "\n")
    print("ready", flush=True)
    if options.exit is not None:
        os._exit(options.exit)
    _reap_for_ever()


def _parse() -> argparse.Namespace:
    known = [*ESCAPEES, "all"]
    parser = argparse.ArgumentParser(prog="escapees", description="Leave processes behind in every way we know.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--mark", default="", help="a token for every process's command line")
    parser.add_argument("--report", help="write the pids and start times to this file")
    parser.add_argument("--exit", type=int, metavar="N", help="exit with this status when all are up")
    parser.add_argument("--lifetime", type=float, default=300.0, metavar="S", help="end by themselves after this long")
    parser.add_argument("--become", default="", help=argparse.SUPPRESS)
    parser.add_argument("--report-to", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.become and (not options.names or set(options.names) - set(known)):
        parser.error(f"name one or more of {', '.join(known)}")
    return options


def _start(run: Run, names: list[str], reader: int) -> list[dict[str, object]]:
    """Start them one after another; what each said of itself when it was up."""
    found: list[dict[str, object]] = []
    with os.fdopen(os.dup(reader), encoding="utf-8") as lines:
        for name in names:
            child = os.fork()
            if child == 0:
                os.close(reader)
                os.close(lines.fileno())
                ESCAPEES[name](run)
            if name in _ORPHANED:
                os.waitpid(child, 0)  # the one between: only now has the escapee lost its parent
            expected = BOMB_SIZE if name == "bomb" else 1
            found += [json.loads(lines.readline()) for _ in range(expected)]
            if name == "stopped":
                os.waitpid(child, os.WUNTRACED)
    return found


def _reap_for_ever() -> NoReturn:
    """Leave no zombies: a test that looks for processes should find living ones."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.pause()


if __name__ == "__main__":
    main()
