"""Hand-offs: the packet to the letter, what was stored, which wait for somebody, and who went on from whom."""

from __future__ import annotations

import time
from typing import Any

from lamplighter.domain.duration import format_duration
from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, Branch, Forest, Span, Table, TextLine, facts, grow
from lamplighter.frontends.cli.display.format import ago, clean, cpu, size

_LONGEST = 100
_DEEPEST = 30


def packet(result: dict[str, Any]) -> list[Block]:
    """Its text is what a successor reads, to the letter."""
    blocks: list[Block] = [TextLine(line) for line in result["text"].splitlines()]
    if not result["receipt_kept"]:
        blocks.append(
            TextLine(("note: ", "warn"), "the store cannot be written, so no receipt of this is kept", loud=True)
        )
    return blocks


def saved(handoff: dict[str, Any]) -> list[Block]:
    """What `handoff --save` answers."""
    return [TextLine(("stored", "good"), f" {_stored(handoff)}"), *notes(handoff)]


def left(handoff: dict[str, Any] | None) -> list[Block]:
    """What an ending says of what was handed over."""
    if handoff is None:
        return []
    if handoff["source"] == "inferred":
        basis = ", ".join(map(clean, handoff["basis"]))
        return [TextLine("handed off: nothing was said; ", (f"inferred from {basis}", "dim"))]
    return [TextLine(f"handed off: {_stored(handoff)}"), *notes(handoff), *_evidence(handoff)]


def _evidence(handoff: dict[str, Any]) -> list[Block]:
    """What had been inferred before it was said."""
    return [
        TextLine((f"evidence: inferred from {', '.join(map(clean, one['basis']))}", "dim"))
        for one in handoff.get("evidence", ())
    ]


def notes(handoff: dict[str, Any]) -> list[Block]:
    """What a reader should not miss about a hand-off."""
    found: list[Block] = []
    if handoff["redacted"]:
        found.append(
            TextLine((f"{counted(handoff['redacted'], 'secret')} taken out before anything was stored", "warn"))
        )
    if handoff["withheld"]:
        found.append(TextLine(f"{counted(handoff['withheld'], 'private passage')} not stored"))
    loops = [f"{len(handoff[how])} {how}" for how in ("resolved", "dropped") if handoff[how]]
    loops += [f"{handoff['carried_count']} carried"] if handoff["carried_count"] else []
    if loops:
        found.append(TextLine(f"open loops: {', '.join(loops)}"))
    return found


def _stored(handoff: dict[str, Any]) -> str:
    count = counted(handoff["stored_count"], "record")
    kinds = ", ".join(f"{number} {clean(kind)}" for kind, number in handoff["stored"].items())
    return f"{count} ({kinds})" if kinds else f"{count}: all of it was there already"


def summary(found: dict[str, Any], *, full: bool = False) -> list[Block]:
    """The account of a session's life; in full with its last output."""
    if not found:
        return []
    pairs: list[tuple[str, Span | str]] = [("ran for", f"{format_duration(found['seconds'])}; {clean(found['why'])}")]
    used = [cpu(found["cpu"]) + " of CPU"] if found["cpu"] is not None else []
    used += [f"{size(found['memory'])} at most in one process"] if found["memory"] else []
    if used:
        pairs.append(("used", ", ".join(used)))
    for name in ("messages", "tokens"):
        if found[name]:
            least = "at least " if found["messages_at_least"] else ""
            pairs.append((name, least + ", ".join(f"{count} {clean(kind)}" for kind, count in found[name].items())))
    if found["git"]:
        pairs.append(("git", _git(found["git"])))
    blocks = facts(pairs)
    if found["git"]:
        blocks += [
            TextLine((f"  {commit['sha'][:10]} ", "dim"), clean(commit["subject"]))
            for commit in found["git"]["commits"][:5]
        ]
    if full and found["last_lines"]:
        blocks += [
            TextLine("last output"),
            *(TextLine((f"  {clean(line)}", "dim")) for line in found["last_lines"][-5:]),
        ]
    return blocks


def _git(git: dict[str, Any]) -> str:
    where = clean(git["branch"] or git["head"][:10] or "no commit yet")
    if not (git["commit_count"] or git["file_count"] or git["cut"]):
        return f"{where}, unchanged"
    changed = f"{counted(git['commit_count'], 'commit')}, {counted(git['file_count'], 'file')}"
    return f"{where}: {changed}, +{git['insertions']} -{git['deletions']}{', and maybe more' if git['cut'] else ''}"


def listed(result: dict[str, Any]) -> list[Block]:
    rows = result["handoffs"]
    if not rows:
        return [TextLine("nothing has been handed over; lamp end and lamp handoff --save do")]
    now = time.time()
    table: list[list[Span | str]] = []
    for row in rows:
        state: Span | str = "-"
        if row["successor"]:
            state = f"taken up by {clean(row['successor'])}"
        elif row["waiting"]:
            state = ("waits for a successor", "warn")
        said = clean(row["summary"]) or ("inferred" if row["source"] == "inferred" else "-")
        table.append(
            [clean(row["session"] or "-"), clean(row["name"] or "-"), ago(row["at"], now), state, said[:_LONGEST]]
        )
    return [Table(["SESSION", "NAME", "LEFT", "SUCCESSOR", "SAID"], table)]


def lineage(result: dict[str, Any]) -> list[Block]:
    """The line as a tree: the first at the root; a fork only where the operator forced one. A long one that has no fork is a
    list: no terminal is wide enough for hundreds of generations."""
    now = time.time()
    found = result["generations"]
    more: list[Block] = (
        [TextLine(("the line is longer; ask for its first or last here", "warn"))] if result["cut"] else []
    )
    if len(found) > _DEEPEST and len({one["predecessor"] for one in found}) == len(found):
        return [*(TextLine(*_generation(one, now)) for one in found), *more]
    nodes = {one["id"]: Branch(*_generation(one, now)) for one in found}
    return [Forest(grow(nodes, {one["id"]: one["predecessor"] or "" for one in found})), *more]


def _generation(one: dict[str, Any], now: float) -> list[Span | str]:
    when = f"{clean(one['how'])} {ago(one['ended_at'], now)}" if one["ended_at"] else clean(one["state"])
    spans: list[Span | str] = [
        (clean(one["name"]), "strong" if one["asked"] else ""),
        f" ({clean(one['id'])}, {clean(one['agent'])}): {when}",
    ]
    if one["succession_policy"] != "successor_allowed":
        spans.append((f", {clean(one['succession_policy'])}", "warn"))
    if one["handoff"] or one["inferred"]:
        said = clean(one["handoff"] or "")[:_LONGEST]
        spans.append((f"  {'inferred' if one['inferred'] else said}", "dim"))
    return spans
