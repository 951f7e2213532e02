"""What the numbers were measured on: enough to read them by, and nothing that names the machine."""

from __future__ import annotations

import os
import platform
import subprocess


def facts() -> dict[str, str]:
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = int(file.readline().split()[1]) / (1 << 20)
    return {
        "cores": str(os.cpu_count()),
        "processor": _processor(),
        "memory": f"{memory:.0f} GiB",
        "kernel": platform.release().partition("-")[0],
        "Python": platform.python_version(),
        "tmux": tmux_version() or "none",
        "user": "root" if os.getuid() == 0 else "ordinary",
        "load before": f"{os.getloadavg()[0]:.1f}",
    }


def tmux_version() -> str | None:
    try:
        said = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return said.split()[-1]


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
