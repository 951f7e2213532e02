"""What a scan found: what was left behind, by dead session; the agents that nobody manages; and what to do about both."""

from __future__ import annotations

import os
import time
from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, TextLine
from lamplighter.frontends.cli.display.format import ago, clean, size

_STYLES = {"certain": "bad", "likely": "warn"}
_WIDTH = 60
_LISTED = 12


def scanned(result: dict[str, Any]) -> list[Block]:
    """The sum first, then each leak with its reasons, then who is alive, then the next command."""
    if result["asked"]:
        return _asked(result["asked"])
    now, leaks = time.time(), result["leaks"]
    with_processes = [leak for leak in leaks if leak["processes"]]
    blocks: list[Block] = [_sum(result)]
    for leak in with_processes:
        blocks += [TextLine(), *_leak(leak, now)]
    files = [file for leak in leaks if not leak["processes"] for file in leak["files"]]
    if files:
        blocks += [TextLine(), TextLine(f"{counted(len(files), 'file')} of dead processes, ", (_files(files), "dim"))]
    if result["agents"]:
        blocks += [TextLine(), TextLine(("alive, and nobody manages them", "strong"))]
        blocks += [_agent(agent, now) for agent in result["agents"]]
    return [*blocks, *_next(result)]


def _asked(asked: dict[str, Any]) -> list[Block]:
    """One process alone: whether it is listed, and the reasons."""
    process = f"{asked['pid']} ({_near(asked['command'])[:_WIDTH]})"
    if not asked["leak"]:
        return [
            TextLine((f"process {process} is not listed", "strong")),
            TextLine(("  because ", "dim"), clean(asked["why"][0])),
        ]
    certainty = (clean(asked["certainty"]), _STYLES.get(asked["certainty"], ""))
    head = TextLine(certainty, f" process {process} is of ", (clean(asked["leak"]), "strong"))
    return [
        head,
        *_because(asked["why"], 2),
    ]


def _sum(result: dict[str, Any]) -> TextLine:
    sums = result["sums"]
    if not sums["processes"]:
        return TextLine(
            ("nothing was left behind", "good"), f" among {counted(result['seen'], 'process', 'processes')}"
        )
    hold = "holds" if sums["processes"] == 1 else "hold"
    processes = counted(sums["processes"], "process", "processes")
    return TextLine(
        (f"{processes} of {counted(sums['sessions'], 'dead session')} {hold} {size(sums['memory'])}", "strong"),
        f"  ({sums['certain']} certain, {sums['likely']} likely)",
    )


def _leak(leak: dict[str, Any], now: float) -> list[Block]:
    head = f" {clean(leak['name'])}: {counted(len(leak['processes']), 'process', 'processes')}, {size(leak['memory'])}"
    blocks: list[Block] = [
        TextLine(
            (f"{clean(leak['certainty']):<7}", _STYLES.get(leak["certainty"], "")),
            head,
            (f"  {clean(leak['id'])}", "dim"),
        )
    ]
    for each in leak["processes"][:_LISTED]:
        blocks.append(_process(each, now))
    more = len(leak["processes"]) - _LISTED
    if more > 0:
        blocks.append(
            TextLine((f"        and {counted(more, 'more process', 'more processes')}; --json lists them all", "dim"))
        )
    doubts = [reason for reason in leak["why"] if reason.startswith("but ")]
    blocks += _because([reason for reason in leak["why"] if reason not in doubts], 8)
    blocks += [TextLine(("        but ", "dim"), clean(doubt.removeprefix("but "))) for doubt in doubts]
    if leak["files"]:
        blocks.append(TextLine((f"        and {counted(len(leak['files']), 'file')}, ", "dim"), _files(leak["files"])))
    return blocks


def _because(reasons: list[str], margin: int) -> list[Block]:
    first, further = f"{'':{margin}}because ", f"{'':{margin + 8}}"
    return [TextLine((further if place else first, "dim"), clean(one)) for place, one in enumerate(reasons)]


def _process(each: dict[str, Any], now: float) -> TextLine:
    command = _near(each["command"])
    shown = command if len(command) <= _WIDTH else command[: _WIDTH - 1] + "…"
    kind = "" if each["kind"] == "child" else clean(each["kind"])
    return TextLine(f"  {each['pid']:>8}  {ago(each['since'], now):>8}  {size(each['memory']):>8}  {kind:<14}  ", shown)


def _files(files: list[dict[str, Any]]) -> str:
    return _near(files[-1]["path"]) if len(files) == 1 else f"such as {_near(files[-1]['path'])}"


def _near(text: str) -> str:
    """With ~ for the home folder, as people write it."""
    return clean(text).replace(f"{os.path.expanduser('~').rstrip('/')}/", "~/")


def _agent(agent: dict[str, Any], now: float) -> TextLine:
    where = (
        f"in {clean(agent['tmux'])}"
        if agent["tmux"]
        else "at a terminal"
        if agent["terminal"]
        else "without a terminal"
    )
    held = f"{counted(agent['processes'], 'process', 'processes')}, {size(agent['memory'])}"
    text = f"  {agent['pid']:>8}  {ago(agent['since'], now):>8}  {clean(agent['agent'])}, {held}, {where}, {_near(agent['cwd'])}"
    return TextLine(text)


def _next(result: dict[str, Any]) -> list[Block]:
    """What a person would do now."""
    sums, blocks = result["sums"], list[Block]()
    certain = any(leak["certainty"] == "certain" for leak in result["leaks"])
    likely = next((leak["id"] for leak in result["leaks"] if leak["certainty"] == "likely"), None)
    if certain:
        blocks.append(TextLine("to end what is certain: ", ("lamp cleanup --leaks", "strong"), " (a plan first)"))
    if likely:
        blocks.append(TextLine("to end a likely one too: ", (f"lamp cleanup --leaks {clean(likely)}", "strong")))
    alive = next((agent["tmux"] or str(agent["pid"]) for agent in result["agents"]), None)
    if alive:
        blocks.append(TextLine("to manage one: ", (f"lamp adopt {clean(alive)}", "strong")))
    return [TextLine(), *blocks] if blocks or sums["processes"] else []
