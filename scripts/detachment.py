"""Starts ./test again outside the AI agent that called it, and waits for its result.

Why: Lamplighter takes whoever has a known agent program among its ancestors, or an agent's marks in its environment,
for that agent and not for the operator. Tests of what an operator may do would then fail, rightly, when an agent runs
them. So the tests get a process of their own, double-forked into a session of its own and without the marks. They act
only on the daemons that they start themselves, under temporary homes.

What is detached must not outlive its caller: both hold one end of a socket. The caller reads the exit status from it;
when the caller goes (Ctrl-C, a kill, a timeout), the other end sees that and ends the whole process group.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

MARKS = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "COPILOT_CLI",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
    "OPENCODE",
    "OPENCODE_PID",
    "QWEN_CODE_SESSION_ID",
)
_LINK = "LAMPLIGHTER_TEST_LINK"


def needed() -> bool:
    """Whether an agent's marks are in the environment."""
    return any(mark in os.environ for mark in MARKS)


def relaunch() -> int:
    """Run this script again, detached, on the same standard streams; its exit status."""
    print("Called by an AI agent: the tests run as a process outside it.", flush=True)
    ours, theirs = socket.socketpair()
    middle = os.fork()
    if middle == 0:
        os.setsid()
        if os.fork() == 0:
            _become(theirs)
        os._exit(0)
    theirs.close()
    os.waitpid(middle, 0)
    answer = ours.recv(1)
    return answer[0] if answer else 1  # closed without a word: it was killed


def linked() -> socket.socket | None:
    """On the detached side: the socket to the caller, watched from now on. None when nothing was detached."""
    number = os.environ.pop(_LINK, None)
    if number is None:
        return None
    os.set_inheritable(int(number), False)  # our children must not keep the caller waiting
    link = socket.socket(fileno=int(number))
    threading.Thread(target=_end_with_caller, args=(link,), daemon=True).start()
    return link


def _become(link: socket.socket) -> None:
    """Exec, so that the marks are gone from /proc/<pid>/environ too."""
    environment = {name: value for name, value in os.environ.items() if name not in MARKS}
    environment[_LINK] = str(link.fileno())
    link.set_inheritable(True)
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def _end_with_caller(link: socket.socket) -> None:
    link.recv(1)  # the caller never writes: this returns when it is gone
    os.killpg(os.getpgrp(), signal.SIGTERM)
