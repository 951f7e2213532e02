"""Endings and their certificates: the line a person likes, and survivors so that nobody misses them."""

from __future__ import annotations

from typing import Any

from lamplighter.domain.text.plural import counted
from lamplighter.frontends.cli.display.blocks import Block, TextLine
from lamplighter.frontends.cli.display.format import clean, named, took
from lamplighter.frontends.cli.views.handoffs import left, summary

_LISTED = 20
_NOTHING: dict[str, Any] = {"processes": [], "survivors": [], "seconds": 0.0, "guarantee": "-"}


def ended(result: dict[str, Any]) -> list[Block]:
    """What `end` and `kill` answer."""
    who = named(result)
    certificate = result["certificate"]
    if result["state"] == "ended":
        return [
            TextLine(
                ("ended", "good"),
                " ",
                (clean(result["name"]), "strong"),
                f" ({clean(result['id'])}): {gone(certificate)}",
            ),
            *proof(certificate),
            *left(result.get("handoff")),
            *summary(result.get("summary") or {}),
        ]
    if certificate["survivors"]:
        return proof(certificate, of=who)
    return [
        TextLine(
            ("ending", "warn"),
            f" {who}: it goes on by itself; lamp show {clean(result['id'])} has the certificate then",
        ),
        *left(result.get("handoff")),
    ]


def gone(certificate: dict[str, Any]) -> str:
    processes = counted(len(certificate["processes"]), "process", "processes")
    return f"{processes} gone in {took(certificate['seconds'])}, guarantee {clean(certificate['guarantee'])}"


def proof(certificate: dict[str, Any], *, of: str = "", full: bool = False) -> list[Block]:
    """The processes of a certificate where there was more than one, and every survivor, loudly."""
    processes = certificate["processes"]
    blocks: list[Block] = [TextLine(gone(certificate))] if full else []
    if full or len(processes) > 1:
        shown = processes if full else processes[:_LISTED]
        blocks += [_process(process) for process in shown]
        if len(processes) > len(shown):
            blocks.append(TextLine((f"  and {len(processes) - len(shown)} more; lamp show lists them all", "dim")))
    blocks += [TextLine(f"  spared: {survivor(item)}") for item in certificate.get("spared", ())]
    return blocks + survived(certificate["survivors"], of=of)


def survived(survivors: list[dict[str, Any]], *, of: str = "", loud: bool = True) -> list[Block]:
    """Every survivor, and nothing where there is none."""
    if not survivors:
        return []
    whose = f" of {of}" if of else ""
    words = f"SURVIVED: {counted(len(survivors), 'process', 'processes')}{whose}; it is tried on"
    return [TextLine((words, "bad"), loud=loud), *(TextLine(f"  {survivor(item)}", loud=loud) for item in survivors)]


def _process(process: dict[str, Any]) -> TextLine:
    signal, seconds = process.get("signal"), process.get("seconds")
    how = clean(signal) if signal else "-"
    return TextLine(
        f"  {clean(process.get('pid')):>8}  {how:<6}  {took(seconds):>7}  ", (clean(process.get("command", "")), "dim")
    )


def survivor(item: dict[str, Any]) -> str:
    why = f": {clean(item['why'])}" if item.get("why") else ""
    return f"{clean(item.get('pid'))} {clean(item.get('command', ''))}{why}"


def down(result: dict[str, Any]) -> list[Block]:
    """What `down` answers, one line a session."""
    blocks: list[Block] = []
    for row in result["ended"]:
        who = named(row)
        if row.get("error"):
            blocks.append(
                TextLine(("not ended ", "bad"), f"{who}: {clean(row['error'].get('message', ''))}", loud=True)
            )
            continue
        certificate: dict[str, Any] = row.get("certificate") or _NOTHING
        if certificate["survivors"]:
            blocks += proof(certificate, of=who)
        else:
            blocks.append(TextLine(("ended", "good"), f" {who}: {gone(certificate)}"))
    alive = result["alive"]
    rest = f"; {counted(alive, 'session')} {'goes' if alive == 1 else 'go'} on without it" if alive else ""
    return [*blocks, TextLine(f"the daemon has stopped{rest}")]


def left_behind(certificate: dict[str, Any] | None, main: int | None, command: str) -> list[str]:
    """What `run` says about what its command left: ended, or still there. Nothing when there was nothing."""
    if not certificate:
        return []
    left = [process for process in certificate["processes"] if process.get("pid") != main]
    lines: list[str] = []
    if left:
        named = ", ".join(f"{clean(item.get('pid'))} {clean(item.get('command', ''))}" for item in left[:_LISTED])
        more = f", and {len(left) - _LISTED} more" if len(left) > _LISTED else ""
        lines.append(
            f"lamp: ended {counted(len(left), 'process', 'processes')} that {command} left behind: {named}{more}"
        )
    for item in certificate["survivors"]:
        lines.append(f"lamp: SURVIVED: {survivor(item)}")
    return lines
