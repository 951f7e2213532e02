"""What processes cost, by the kernel's account: CPU time and memory.

Knows /proc and the CPU clocks; knows nothing of what the processes are for.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

_PROCESS_CLOCK = 2  # CPUCLOCK_SCHED: the time that the scheduler gave to all threads of a process, the dead ones too


def cpu_of(pid: int) -> float:
    """CPU seconds of a living process, user and system, to the nanosecond; 0 when it is gone.

    /proc/PID/stat has the same in ticks of 10 ms, rounded down: a thousand shims of 4 ms each would be a
    thousand times nothing.
    """
    try:
        return time.clock_gettime((~pid << 3) | _PROCESS_CLOCK)
    except OSError:
        return 0.0


def reaped_by(pid: int) -> float:
    """CPU seconds of the children that this process has waited for, in ticks of 10 ms."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[13]) + int(fields[14])) / 100


def cpu_of_all(pids: Iterable[int]) -> float:
    return sum(cpu_of(pid) + reaped_by(pid) for pid in pids)


def memory_of(pid: int) -> dict[str, int]:
    """Bytes by the names of smaps_rollup: Pss is what it has alone and its part of what it shares."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        lines = [line.split() for line in file if line.endswith("kB\n")]
    return {line[0].rstrip(":"): int(line[1]) * 1024 for line in lines}


def pss_of(pid: int) -> int:
    return memory_of(pid)["Pss"]


def private_of(pid: int) -> int:
    memory = memory_of(pid)
    return memory["Private_Clean"] + memory["Private_Dirty"]
