"""What /proc says of one process."""

from __future__ import annotations

import os
import subprocess

from lamplighter.holder import proc


def test_what_has_no_command_line_is_not_the_kernels_for_that() -> None:
    """One that is dead has none, nor what is just being executed; the kernel's threads are known by their flags."""
    with subprocess.Popen(["true"]) as over:
        os.waitid(os.P_PID, over.pid, os.WEXITED | os.WNOWAIT)
        assert (proc.words_of(over.pid), proc.is_of_kernel(over.pid)) == ([], False)
    assert not proc.is_of_kernel(os.getpid())
    kernels = [pid for pid in proc.all_pids() if proc.is_of_kernel(pid)]
    assert not any(proc.words_of(pid) for pid in kernels)
    assert proc.name_of(2) != "kthreadd" or 2 in kernels, "in a container there may be none"
