"""A process that its session cannot kill: it belongs to root, and the session to an ordinary user. For tests only."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.support.ordinary import OrdinaryEngine
from tests.support.processes import marked

# Root's from all sides, or its starter could still signal it; deaf to the terminal's end, which the kernel tells everybody.
_SOURCE = """
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>
int main(void) {
    if (setresgid(0, 0, 0) || setresuid(0, 0, 0)) return 1;
    signal(SIGHUP, SIG_IGN);
    alarm(120);
    write(1, "root is here\\n", 13);
    for (;;) pause();
}
"""


def make_program(lit: OrdinaryEngine) -> str:
    """A program that is root whoever starts it. Skips the test where there can be none."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler to make a setuid program with")
    if os.statvfs(lit.folder).f_flag & os.ST_NOSUID:
        pytest.skip("the file system of the temporary folder is mounted nosuid")
    program = lit.folder / "helper"
    subprocess.run(["cc", "-x", "c", "-w", "-o", str(program), "-"], input=_SOURCE.encode(), check=True)
    os.chown(program, 0, 0)
    program.chmod(0o4755)
    return str(program)


def start_with(lit: OrdinaryEngine, program: str, mark: str) -> tuple[str, int]:
    """A session with root's process in it: its id, and that process."""
    session = lit.start("sh", "-c", f"{program} {mark} & exec sleep 300")["id"]
    lit.call("wait_session", session=session, until="text=root is here", timeout="120s")
    found = [process for process in marked(mark) if process.cmdline[0] == program]
    assert [os.stat(f"/proc/{process.pid}").st_uid for process in found] == [0]
    return session, found[0].pid
