"""What a session is doing, judged from evidence. Computed when asked for, never stored as truth. Knows no clock and no /proc.

Where the evidence is thin it errs towards active: a verdict that is wrong must not cost anybody's work.
"""

from __future__ import annotations

from enum import StrEnum

from lamplighter.domain.duration import format_duration
from lamplighter.domain.screen_sign import ScreenReading, Sign
from lamplighter.domain.text.output_tail import Tail
from lamplighter.lazy_dataclass import dataclass


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


class Rest(StrEnum):
    """What the process in front does while it does nothing."""

    INPUT = "input"  # it reads its terminal or its standard input
    KEYS = "keys"  # it has the terminal to itself, key by key, as editors, shells at their prompt and agents do
    CHILD = "child"  # it waits for a process that it started
    TIMER = "timer"  # it sleeps until a time
    RUNNING = "running"  # none of these: it is at something right now
    OTHER = "other"  # the network, a lock, a file


ACTIVE = frozenset({Verdict.WORKING, Verdict.WAITING, Verdict.UNKNOWN})
BUSY_CPU = 0.02
SPINNING_CPU = 0.25
"""Cores: more than this is more than drawing a spinner takes."""
QUESTION_SECONDS = 1.0
"""A question that nothing followed for so long waits for its answer."""
_DEEP_SECONDS = 60.0


@dataclass(frozen=True)
class Thresholds:
    """Seconds. `quiet`: without any sign of life. `stall`: when what is not at rest has done nothing for so long that it will
    not. `spin`: when output that only repeats itself stops counting. `settle`: without output or input, when an agent's screen
    shows that its turn is over, and nothing of it is at work."""

    quiet: float = 10.0
    stall: float = 1800.0
    spin: float = 600.0
    settle: float = 2.0


@dataclass  # not frozen, which would take thrice as long to make, and a thousand are made at once
class Evidence:
    """What was seen. Ages in seconds that the machine was awake; None where nothing is known.

    `cpu_rate` is cores used over the last seconds, `behind_rate` those of all but the process in front, `still_for` how long
    next to no CPU was used. `halted` names the process in front when it is stopped. `repeats_for`: how long the output has said
    nothing new. `front` names the process whose `rest` is told, `background` one that may work beside it; `sleeps` that what is
    waited for sleeps until a time; `connected` that it has sockets open. `busy_age`, `heavy_age`: since its CPU was more than now
    and then, and more than drawing takes; since the first look where that was never seen.
    `deep_for`: how long something of it has been in the kernel. `told`: what an agent's screen says; `blind`: nothing that is
    known of this agent's. `editor`: a program that an agent has opened for a person to type in. `resumed`: it goes on with what
    was said before it started, and its screen shows that; `prompted`: it was given its first request when it
    started. `gone`: which owner is.
    """

    ended: bool = False
    leftovers: bool = False
    processes: int = 0
    stopped: int = 0
    halted: str | None = None
    cpu_rate: float | None = None
    behind_rate: float | None = None
    cpu_age: float | None = None
    busy_age: float | None = None
    heavy_age: float | None = None
    still_for: float = 0.0
    output_age: float | None = None
    input_age: float | None = None
    repeats_for: float = 0.0
    age: float = 0.0
    rest: Rest | None = None
    front: str | None = None
    sleeps: bool = False
    background: str | None = None
    connected: bool = False
    woke_age: float | None = None
    deep_for: float = 0.0
    tail: Tail | None = None
    told: ScreenReading | None = None
    blind: bool = False
    editor: str | None = None
    resumed: bool = False
    prompted: bool = False
    terminal: bool = True
    closed: bool = False
    attached: int = 0
    gone: str | None = None


def judge(seen: Evidence, limits: Thresholds) -> tuple[Verdict, list[str]]:
    """The verdict, and in words what it rests on, the weightiest first."""
    if seen.ended:
        return Verdict.ENDED, []
    verdict, reason = _judge(seen, limits)
    rest = _words(seen, limits)
    if seen.gone and seen.gone not in reason:
        rest.append(seen.gone)
    error = seen.told.words if seen.told and seen.told.error else ""
    return verdict, [*dict.fromkeys(word for word in (error, reason) if word), *rest]


def quiet_for(seen: Evidence, limits: Thresholds) -> float:
    """Seconds since the last input, new output or CPU above what drawing takes. Sleeping and waiting are none of these, nor is
    output that has only repeated itself for long enough. What cannot be seen is not quiet."""
    if seen.processes == 0:
        return 0.0
    output = seen.repeats_for if seen.repeats_for >= limits.spin else seen.output_age
    ages = (seen.age, seen.input_age, output, seen.heavy_age if _draws(seen, limits) else seen.busy_age)
    return min(age for age in ages if age is not None)


def judge_logical(silent_for: float, left: float, gone: str | None, limits: Thresholds) -> tuple[Verdict, list[str]]:
    """Of one that only tells of itself: nobody can see whether it is at work, until it has said nothing for long enough."""
    verdict = Verdict.IDLE if silent_for >= limits.stall else Verdict.UNKNOWN
    spoke = f"logical: no process of it is held here; it last spoke {_ago(silent_for)}"
    return verdict, [spoke, f"its lease runs out in {format_duration(left)}", *([gone] if gone else [])]


def _judge(seen: Evidence, limits: Thresholds) -> tuple[Verdict, str]:
    if seen.processes == 0:
        return Verdict.UNKNOWN, "its processes could not be read"
    if seen.leftovers:
        return _left(seen, limits), "its command has exited, its children have not"
    if seen.stopped == seen.processes or (seen.halted and not _computes(seen, limits)):
        return _or_orphaned(seen, Verdict.STUCK, f"{seen.halted or 'all of it'} is stopped")
    if seen.told and seen.told.sign is Sign.WAITING and not seen.gone:
        return Verdict.WAITING, seen.told.words
    if _asks_now(seen):
        return Verdict.WAITING, _asked(seen)
    if seen.editor and not seen.gone:
        return Verdict.WAITING, f"{seen.editor} is open, and waits for a person"
    spins = seen.repeats_for >= limits.spin and seen.behind_rate is not None
    if _computes(seen, limits) or (_is_lively(seen, limits) and not spins):
        return Verdict.WORKING, ""
    if seen.cpu_rate is None:
        return Verdict.UNKNOWN, "its CPU was not measured yet"
    if spins and _is_lively(seen, limits):
        return _or_orphaned(seen, *_spinning(seen, limits))
    verdict, reason = _at_rest(seen, limits)
    says_so = seen.rest is Rest.RUNNING or (seen.told is not None and seen.told.sign is Sign.WORKING)
    return (verdict, reason) if verdict is Verdict.WORKING and says_so else _or_orphaned(seen, verdict, reason)


def _left(seen: Evidence, limits: Thresholds) -> Verdict:
    """What outlives its command is left over, unless it computes: then somebody wanted it to."""
    if _computes(seen, limits):
        return Verdict.WORKING
    return Verdict.LEFTOVERS if seen.cpu_rate is not None else Verdict.UNKNOWN


def _computes(seen: Evidence, limits: Thresholds) -> bool:
    """By its CPU: more than now and then; behind a spinner, or at an agent's prompt, more than drawing that takes."""
    if _draws(seen, limits):
        return (seen.cpu_rate or 0.0) >= SPINNING_CPU or (seen.behind_rate or 0.0) >= BUSY_CPU
    return (seen.cpu_rate or 0.0) >= BUSY_CPU or (seen.cpu_age is not None and seen.cpu_age < limits.quiet)


def _draws(seen: Evidence, limits: Thresholds) -> bool:
    """A little CPU of it is drawing and no more: it only repeats itself, or shows an agent's prompt."""
    return (seen.repeats_for >= limits.spin or _is_at_prompt(seen)) and seen.behind_rate is not None


def _is_at_prompt(seen: Evidence) -> bool:
    """An agent whose turn is over by its screen, and that takes keys: opencode uses a little CPU there all the time."""
    return seen.told is not None and seen.told.sign is Sign.PROMPT and seen.rest in (Rest.INPUT, Rest.KEYS)


def _is_lively(seen: Evidence, limits: Thresholds) -> bool:
    over = _is_over(seen, limits)
    quiet = min(limits.settle, limits.quiet) if over else limits.quiet
    recent = (seen.output_age, seen.input_age)
    return any(age is not None and age < quiet for age in recent) or (seen.age < limits.quiet and not over)


def _is_over(seen: Evidence, limits: Thresholds) -> bool:
    """By its screen no turn goes on, and nothing else of it runs. One that was resumed shows a turn that was over before;
    one that was given its first request, and shows none of it, may be about to begin."""
    if seen.told is None or not _is_at_prompt(seen) or seen.background:
        return False
    return not (seen.resumed and seen.age < limits.quiet) if seen.told.turned else not seen.prompted


def _spinning(seen: Evidence, limits: Thresholds) -> tuple[Verdict, str]:
    """A spinner turns while something is waited for. When that is a process of its own, it may come back yet."""
    behind = seen.front if seen.rest is Rest.CHILD else seen.background
    if behind and (seen.repeats_for < limits.stall or (seen.rest is Rest.CHILD and seen.sleeps)):
        return Verdict.WORKING, f"waits for {behind}"
    repeated = f"its output has only repeated itself for {format_duration(seen.repeats_for)}"
    return Verdict.STUCK, repeated


def _at_rest(seen: Evidence, limits: Thresholds) -> tuple[Verdict, str]:
    """Nothing has moved for a while. Is it done, or is something still to come?"""
    stalled = seen.still_for >= limits.stall
    nothing = f"nothing for {format_duration(seen.still_for)}"
    if seen.rest is Rest.RUNNING:
        return Verdict.WORKING, f"{seen.front} runs right now"
    if seen.told and seen.told.sign is Sign.WORKING:
        if not stalled:
            return Verdict.WORKING, seen.told.words
        return Verdict.STUCK, f"{seen.told.words}, and it has done {nothing}"
    if seen.rest is Rest.CHILD:
        if seen.sleeps or not stalled:
            return Verdict.WORKING, f"waits for {seen.front}"
        return Verdict.STUCK, f"waits for {seen.front}, which has done {nothing}"
    if seen.rest is Rest.TIMER and seen.woke_age is not None and seen.woke_age < limits.stall:
        return Verdict.WORKING, f"{seen.front} sleeps between rounds"
    if seen.rest not in (Rest.INPUT, Rest.KEYS) and not stalled:
        return Verdict.WORKING, f"{seen.front} waits for {_awaited(seen)}, reads no input"
    if seen.background and not stalled:
        return Verdict.WORKING, f"{seen.background} runs in its background"
    if seen.closed and not seen.connected:
        return Verdict.FINISHED, "it has closed its output and is still there"
    if seen.deep_for >= _DEEP_SECONDS:
        return Verdict.STUCK, f"stuck in the kernel for {format_duration(seen.deep_for)}"
    if seen.stopped:
        return Verdict.STUCK, ""
    if seen.told and _is_at_prompt(seen):
        return Verdict.FINISHED if seen.told.turned else Verdict.IDLE, seen.told.words
    if _asks(seen):
        return Verdict.WAITING, _asked(seen)
    if seen.blind and seen.rest is Rest.KEYS:
        return Verdict.UNKNOWN, "its screen is none that is known of it"
    if seen.rest not in (Rest.INPUT, Rest.KEYS):
        return Verdict.IDLE, f"{seen.front} has done {nothing}"
    return Verdict.IDLE, f"{seen.front} waits for input"


def _asks_now(seen: Evidence) -> bool:
    """A question is the last thing that it printed, and it takes input: a moment is enough to know that it waits. Only where no
    screen tells better, its owner is there, and nothing runs beside it."""
    if seen.told or seen.gone or seen.background or not seen.terminal or seen.tail is None or not seen.tail.asks:
        return False
    if any(age is not None and age < QUESTION_SECONDS for age in (seen.output_age, seen.input_age)):
        return False
    rate = seen.cpu_rate or 0.0
    return (seen.rest is Rest.INPUT and rate < SPINNING_CPU) or (seen.rest is Rest.KEYS and rate < BUSY_CPU)


def _asked(seen: Evidence) -> str:
    said = f": {seen.tail.line}" if seen.tail and seen.tail.line else ""
    return f"{seen.front} waits for an answer{said}"


def _asks(seen: Evidence) -> bool:
    """A program that reads its terminal line by line wants an answer, unless it is a shell at its prompt. One that takes key
    by key is at rest in between, unless what it shows is a question."""
    if seen.rest is Rest.INPUT and seen.terminal:
        return seen.tail is None or not seen.tail.prompt
    return seen.rest is Rest.KEYS and seen.tail is not None and seen.tail.asks


def _awaited(seen: Evidence) -> str:
    return "a time" if seen.rest is Rest.TIMER else "something"


def _or_orphaned(seen: Evidence, verdict: Verdict, reason: str) -> tuple[Verdict, str]:
    """Nobody waits for it any more, and it neither computes nor prints anything new."""
    if not seen.gone:
        return verdict, reason
    at_rest = not reason or verdict in (Verdict.IDLE, Verdict.WAITING)
    return Verdict.ORPHANED, seen.gone if at_rest else f"{seen.gone}; {reason}"


def _words(seen: Evidence, limits: Thresholds) -> list[str]:
    words: list[str] = []
    if seen.age < limits.quiet:
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
