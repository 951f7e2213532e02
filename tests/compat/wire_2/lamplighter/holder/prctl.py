"""Two system calls that Python has no name for: prctl(2) and clone3(2). Standard library only."""

from __future__ import annotations

import ctypes
import errno
import os
import signal

_SET_NAME = 15
_SET_CHILD_SUBREAPER = 36
_CLONE3 = 435
_INTO_CGROUP = 0x200000000
_arguments = (ctypes.c_uint64 * 11)(_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD)  # struct clone_args; the last is the cgroup
_libc = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock: a fork must come back with it held


def become_subreaper() -> None:
    """From now on orphans below this process become its children."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def set_name(name: str) -> None:
    """What ps shows."""
    _prctl(_SET_NAME, name.encode())


def _prctl(option: int, value: int | bytes) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def fork_into(cgroup: int) -> int:
    """Fork, with the child born in a cgroup: moving it there afterwards makes the kernel wait for all its processors, for
    milliseconds. The child must execute a program soon, as nothing of Python knows of this fork."""
    _arguments[10] = cgroup
    pid = int(_libc.syscall(_CLONE3, _arguments, ctypes.sizeof(_arguments)))
    if pid >= 0:
        return pid
    if ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG, errno.EOPNOTSUPP):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return _fork_and_move(cgroup)


def _fork_and_move(cgroup: int) -> int:
    """Where the kernel is too old for that, or a sandbox forbids it."""
    pid = os.fork()
    if pid == 0:
        try:
            procs = os.open("cgroup.procs", os.O_WRONLY | os.O_CLOEXEC, dir_fd=cgroup)
            os.write(procs, b"0")
            os.close(procs)
        except OSError:
            os._exit(126)
    return pid
