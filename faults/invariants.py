"""What must hold whatever happened: pure rules over what the clients know (ledger) and what was found from outside (facts)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from faults.ledger import Held, Ledger
from faults.outside import Facts


@dataclass(frozen=True)
class Violation:
    rule: str
    text: str


def starts(ledger: Ledger, facts: Facts) -> Iterator[Violation]:
    """Every acknowledged start exists once, and no command runs twice, acknowledged or not."""
    for nonce, identifier in ledger.starts.items():
        runs = [line for line in facts.witnesses.get(nonce, []) if line.startswith("run ")]
        if len(runs) > 1:
            yield Violation("no command runs twice", f"{nonce} ran {len(runs)} times: {runs}")
        if facts.keys.get(nonce, 0) > 1:
            yield Violation("a start exists once", f"{facts.keys[nonce]} sessions have the key {nonce}")
        if identifier is None:
            continue
        if not runs and not _was_there(ledger.sessions.get(identifier), facts):
            yield Violation("a start exists once", f"{identifier} was acknowledged and its command never ran")
        if identifier not in facts.sessions:
            yield Violation("a start exists once", f"{identifier} was acknowledged and is not in the store")


def _was_there(held: Held | None, facts: Facts) -> bool:
    """Whether it was ended before its command came to its first line, and the certificate names its processes."""
    if held is None or not held.end_asked:
        return False
    ending: dict[str, dict[str, object]] = facts.sessions.get(held.id, {}).get("ending") or {}
    return bool(ending.get("certificate", {}).get("processes"))


def sends(ledger: Ledger, facts: Facts) -> Iterator[Violation]:
    """What was sent arrives once; it may be missing where the session was ended, or a shim lost, before it was read."""
    for held in ledger.sessions.values():
        heard = [line for line in facts.witnesses.get(held.nonce, []) if not line.startswith("run ")]
        for text, acknowledged in held.sends.items():
            times = heard.count(text)
            excused = held.end_asked or held.may_be_lost or text in held.unheard
            if times > 1 or (acknowledged and times == 0 and not excused):
                yield Violation("an input arrives once", f"{text} arrived {times} times in {held.id}")


def endings(ledger: Ledger, facts: Facts) -> Iterator[Violation]:
    """Every acknowledged end has one certificate, one event and one hand-off."""
    ends = [session for _, session, action in facts.events if action == "ended"]
    for held in ledger.sessions.values():
        row = facts.sessions.get(held.id)
        if row is None:
            continue
        if ends.count(held.id) > 1:
            yield Violation("one end a session", f"{held.id} ended {ends.count(held.id)} times")
        if held.ended is not None and held.ended.get("state") == "ended" and row["state"] != "ended":
            yield Violation("one certificate an end", f"{held.id} was acknowledged as ended and is {row['state']}")
        if row["state"] == "ended":
            yield from _ended(held, row["ending"], ends.count(held.id), facts)


def _ended(held: Held, ending: dict[str, object] | None, events: int, facts: Facts) -> Iterator[Violation]:
    if not ending or not ending.get("certificate"):
        yield Violation("one certificate an end", f"{held.id} has ended and has no certificate")
    if events != 1:
        yield Violation("one end a session", f"{held.id} has ended with {events} events of it")
    left = [(source, document) for session, source, document in facts.handoffs if session == held.id]
    inferred = [source for source, _ in left if source == "inferred"]
    if not left or len(inferred) > 1:
        yield Violation("one hand-off an end", f"{held.id} has {len(left)} hand-offs, {len(inferred)} of them inferred")
    for word in held.said:
        times = sum(word in document for _, document in left)
        if times != 1:
            yield Violation("one hand-off an end", f"what {held.id} handed off ({word}) is there {times} times")


def records(ledger: Ledger, facts: Facts) -> Iterator[Violation]:
    for content, acknowledged in ledger.records.items():
        times = facts.records.get(content, 0)
        if times > 1 or (acknowledged and times == 0):
            yield Violation("no record is lost or doubled", f"the record {content!r} is there {times} times")


def events(ledger: Ledger, facts: Facts) -> Iterator[Violation]:
    """Numbered without gaps, and what a client was told of is there as it was told."""
    numbers = [number for number, _, _ in facts.events]
    if numbers != list(range(1, len(numbers) + 1)):
        missing = sorted(set(range(1, max(numbers, default=0) + 1)) - set(numbers))
        yield Violation("events without gaps", f"missing or doubled: {missing[:10]}")
    found = {number: (session, action) for number, session, action in facts.events}
    for number, told in ledger.events.items():
        if found.get(number) != told:
            yield Violation("events without gaps", f"event {number} was told as {told} and is {found.get(number)}")


def healthy(ledger: Ledger, facts: Facts) -> Iterator[Violation]:
    """What nobody asked to end and does not exit by itself goes on."""
    for held in ledger.sessions.values():
        if held.end_asked or held.may_be_lost or held.lines is not None:
            continue
        state = facts.sessions.get(held.id, {}).get("state")
        if not facts.living.get(held.nonce):
            yield Violation(
                "healthy sessions go on", f"nobody ended {held.id}, and its processes are gone; it is {state}"
            )
        elif state not in ("running", "starting"):
            yield Violation("healthy sessions go on", f"{held.id} runs, and the store says {state}")


def processes(ledger: Ledger, facts: Facts) -> Iterator[Violation]:
    """Nothing of a session that has ended is left but what its certificate names."""
    for held in ledger.sessions.values():
        row: dict[str, Any] = facts.sessions.get(held.id) or {}
        told: dict[str, Any] = held.ended or {}
        if row.get("state") != "ended" and told.get("state") != "ended":
            continue
        ending: dict[str, Any] = row.get("ending") or {}
        certificate: dict[str, Any] = told.get("certificate") or ending.get("certificate") or {}
        yield from left_over(held.id, facts.living.get(held.nonce, []), certificate)


def left_over(session: str, living: list[tuple[int, int]], certificate: dict[str, object]) -> Iterator[Violation]:
    named: list[dict[str, int]] = certificate.get("survivors") or []  # type: ignore[assignment]
    survivors = {(one["pid"], one["start_ticks"]) for one in named}
    unnamed = [process for process in living if process not in survivors]
    if unnamed:
        guarantee = certificate.get("guarantee")
        yield Violation(
            "no process is left unnamed", f"{session} has ended ({guarantee}), and of it live {unnamed}, unnamed"
        )


def output(ledger: Ledger, facts: Facts) -> Iterator[Violation]:
    """Every line once and in order. A shim that is lost may take along what it had read and not written, once for each loss."""
    for held in ledger.sessions.values():
        found = facts.outputs.get(held.id)
        if held.lines is None or found is None or held.may_be_lost or held.end_asked:
            continue
        text = found.text.replace(b"\r", b"").decode()
        numbers = [int(line[5:]) for line in text.splitlines() if line.startswith("line ") and line[5:].isdigit()]
        breaks = sum(
            after != before + 1 for before, after in zip([0, *numbers], [*numbers, held.lines + 1], strict=True)
        )
        allowed = held.shims_lost + (1 if found.lost else 0)
        if breaks > allowed or len(set(numbers)) != len(numbers) or found.jumps > allowed:
            yield Violation(
                "output is complete",
                f"{held.id} printed {held.lines} lines; {len(numbers)} are in its log, with {breaks} breaks, {found.jumps} jumps",
            )


def answers(ledger: Ledger, _facts: Facts) -> Iterator[Violation]:
    for said in ledger.unanswered:
        yield Violation("every call is answered", said)


RULES: tuple[Callable[[Ledger, Facts], Iterator[Violation]], ...] = (
    starts, sends, endings, records, events, healthy, processes, output, answers,
)  # fmt: skip


def judge(ledger: Ledger, facts: Facts, without: tuple[str, ...] = ()) -> list[Violation]:
    """`without` names rules that a fault makes senseless."""
    return [found for rule in RULES if rule.__name__ not in without for found in rule(ledger, facts)]
