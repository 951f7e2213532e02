"""The table of a campaign: faults by kind, how many, what did not hold, seconds. Knows nothing of how they came."""

from __future__ import annotations

from collections import Counter

from faults.kinds import SHARES
from faults.lanes import Outcome

HEADINGS = ("kind", "scenes", "faults", "violations", "left out", "seconds")
NEVER = (
    "a reboot, a power cut, a kernel that crashes; disks that lose what they said was written",
    "the machine's real clock: the daemon's own is moved (`tests/support/clockwork.py`)",
    "memory that runs out, and the kernel's own choice of whom to kill for it",
    "agents' own shared daemons (Codex, Claude Code, opencode): `make test-agents` has the real programs",
    "holders of earlier versions under these faults: `tests/upgrade` has them one at a time",
    "sessions over ACP, adopted and registered ones, and the front doors HTTP and MCP",
    "hostile processes that write the store or the folders while it works, but for a forged `daemon.pid`",
    "other kernels and other file systems than the one above, network file systems (NFS), macOS",
    "a cgroup that systemd delegates to an ordinary user, a real logind that takes XDG_RUNTIME_DIR away at logout",
    "users that share a machine and attack each other; containers with seccomp or without /proc of the host",
)


def rows(outcomes: list[Outcome]) -> list[tuple[str, ...]]:
    made: list[tuple[str, ...]] = []
    for kind in SHARES:
        of_kind = [one for one in outcomes if one.scene.kind == kind]
        if of_kind:
            made.append(_row(kind, of_kind))
    return [*made, _row("all", outcomes)]


def _row(name: str, outcomes: list[Outcome]) -> tuple[str, ...]:
    skipped = sorted({word for one in outcomes for word in one.skipped})
    return (
        name,
        str(len(outcomes)),
        str(sum(sum(one.counted.values()) for one in outcomes)),
        str(sum(len(one.violations) for one in outcomes)),
        ", ".join(skipped) or "–",
        f"{sum(one.seconds for one in outcomes):.0f}",
    )


def faults_by_name(outcomes: list[Outcome]) -> list[tuple[str, int]]:
    """Each fault by its own name; trees of several by each of their parts."""
    found: Counter[str] = Counter()
    for one in outcomes:
        for name, times in one.counted.items():
            for part in name.split("+") if one.scene.kind == "trees" else [name]:
                found[f"{one.scene.kind}: {part}"] += times
    return sorted(found.items())


def plain(outcomes: list[Outcome]) -> str:
    lines = [HEADINGS, *rows(outcomes)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    lines.insert(1, tuple("─" * width for width in widths))
    return "\n".join(
        " │ ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def markdown(outcomes: list[Outcome]) -> str:
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *rows(outcomes)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    each = "\n".join(
        ["| fault | times |", "| --- | --- |", *(f"| {name} | {times} |" for name, times in faults_by_name(outcomes))]
    )
    broken = "\n".join(
        f"- {one.scene.kind}: {said['rule']}: {said['text']}" for one in outcomes for said in one.violations
    )
    never = "\n".join(f"- {one}" for one in NEVER)
    return f"{table}\n\n## What did not hold\n\n{broken or 'Nothing.'}\n\n## Each fault\n\n{each}\n\n## Never tested\n\n{never}\n"
