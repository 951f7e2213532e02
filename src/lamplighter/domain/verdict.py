"""What a session is doing, judged from evidence. Computed when asked for, never stored as truth. Knows no clock and no /proc."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lamplighter.domain.duration import format_duration


class Verdict(StrEnum):
    WORKING = "working"
    WAITING = "waiting"
    IDLE = "idle"
    FINISHED = "finished"
    STUCK = "stuck"
    ORPHANED = "orphaned"
    LEFTOVERS = "leftovers"
    UNKNOWN = "unknown"
    ENDED = "ended"


ACTIVE = frozenset({Verdict.WORKING, Verdict.WAITING, Verdict.UNKNOWN})
BUSY_CPU = 0.02


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen. Ages in seconds; None where nothing is known. `cpu_rate` is cores used since the last look."""

    ended: bool = False
    leftovers: bool = False
    processes: int = 0
    stopped: int = 0
    cpu_rate: float | None = None
    output_age: float | None = None
    input_age: float | None = None
    age: float = 0.0
    attached: int = 0
    parent_gone: bool = False
    quiet: float = 10.0


def judge(seen: Evidence) -> tuple[Verdict, list[str]]:
    """The verdict, and in words what it rests on. Where the evidence is thin it errs towards active: unknown never kills."""
    words = _words(seen)
    if seen.ended:
        return Verdict.ENDED, []
    if seen.processes == 0:
        return Verdict.UNKNOWN, ["its processes could not be read", *words]
    if seen.stopped == seen.processes:
        return Verdict.STUCK, ["all of its processes are stopped", *words]
    if seen.leftovers:
        return Verdict.LEFTOVERS, ["its command has exited, its children have not", *words]
    if _is_busy(seen):
        return Verdict.WORKING, words
    if seen.parent_gone:
        return Verdict.ORPHANED, ["the session that started it has ended", *words]
    if seen.cpu_rate is None:
        return Verdict.UNKNOWN, ["its CPU was not measured yet", *words]
    return Verdict.IDLE, words


def _is_busy(seen: Evidence) -> bool:
    recent = [age for age in (seen.output_age, seen.input_age, seen.age) if age is not None and age < seen.quiet]
    return bool(recent) or (seen.cpu_rate is not None and seen.cpu_rate >= BUSY_CPU)


def _words(seen: Evidence) -> list[str]:
    words: list[str] = []
    if seen.age < seen.quiet:
        words.append(f"started {_ago(seen.age)}")
    if seen.output_age is not None:
        words.append(f"output {_ago(seen.output_age)}")
    if seen.input_age is not None:
        words.append(f"input {_ago(seen.input_age)}")
    if seen.cpu_rate is not None:
        words.append(f"CPU {seen.cpu_rate:.0%}")
    if seen.stopped:
        words.append(f"{seen.stopped} of {seen.processes} processes stopped")
    if seen.attached:
        words.append(f"{seen.attached} attached")
    return words


def _ago(seconds: float) -> str:
    return "now" if seconds < 1 else f"{format_duration(seconds)} ago"


def is_active(verdict: Verdict, attached: int) -> bool:
    return verdict in ACTIVE or attached > 0
