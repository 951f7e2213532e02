"""The final summary of a session: a plain document, and the same as text for people and for search.

Pure composition from what was found by others; knows nothing of where it is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamplighter.agents.formats.transcript import Transcript
from lamplighter.domain.duration import format_duration
from lamplighter.domain.ending import Ending
from lamplighter.domain.memory.handoff import Handoff
from lamplighter.domain.session import Session
from lamplighter.domain.size import format_size
from lamplighter.domain.text.plural import counted
from lamplighter.engine.memory.inferred_handoff import last_lines, listed, why
from lamplighter.engine.repo.repository import Changes

_MOST_COMMITS = 5


def summarise(
    session: Session,
    ending: Ending,
    *,
    handoff: Handoff | None = None,
    transcript: Transcript | None = None,
    changes: Changes | None = None,
    screen: Sequence[str] = (),
    cpu: float | None = None,
    memory: int | None = None,
) -> dict[str, Any]:
    """How long, how it ended, what it used, what it left. What is not known is None. `cpu` is in seconds, `memory` in bytes."""
    return {
        "seconds": round(max(0.0, ending.at - (session.started_at or session.created_at)), 3),
        "how": ending.how.value,
        "by": ending.by,
        "why": why(session, ending),
        "exit": ending.exit.document() if ending.exit else None,
        "messages": dict(transcript.messages) if transcript else None,
        "messages_at_least": bool(transcript and transcript.at_least),
        "tokens": dict(transcript.tokens) if transcript and transcript.tokens else None,
        "cpu": cpu,
        "memory": memory,
        "stored": dict(handoff.stored) if handoff else {},
        "inferred": bool(handoff and handoff.inferred),
        "loops": {
            "carried": handoff.carried_count if handoff else 0,
            "resolved": len(handoff.resolved) if handoff else 0,
            "dropped": len(handoff.dropped) if handoff else 0,
        },
        "git": changes.document() if changes else None,
        "last_lines": last_lines(screen),
    }


def as_text(summary: dict[str, Any]) -> str:
    """The same in lines, each of them said only when there is something to say."""
    lines = [f"Ran for {format_duration(summary['seconds'])}; {summary['why']}."]
    lines += _usage(summary)
    lines += _left(summary)
    if summary["git"]:
        lines += _git(summary["git"])
    if summary["last_lines"]:
        lines += ["Last output:", *(f"  {line}" for line in summary["last_lines"])]
    return "\n".join(lines)


def _usage(summary: dict[str, Any]) -> list[str]:
    said: list[str] = []
    least = "at least " if summary["messages_at_least"] else ""
    if summary["messages"]:
        counts = ", ".join(f"{count} {role}" for role, count in summary["messages"].items())
        said.append(f"Messages: {least}{counts}.")
    if summary["tokens"]:
        said.append(f"Tokens: {least}{', '.join(f'{count} {kind}' for kind, count in summary['tokens'].items())}.")
    used = [f"{summary['cpu']:.1f} s of CPU"] if summary["cpu"] is not None else []
    used += [f"{format_size(summary['memory'])} of memory"] if summary["memory"] is not None else []
    return [*said, f"Used {' and '.join(used)}."] if used else said


def _left(summary: dict[str, Any]) -> list[str]:
    said: list[str] = []
    if summary["stored"]:
        counts = ", ".join(f"{count} {kind}" for kind, count in summary["stored"].items())
        said.append(f"Stored{' (inferred)' if summary['inferred'] else ''}: {counts}.")
    loops = ", ".join(f"{count} {what}" for what, count in summary["loops"].items() if count)
    return [*said, f"Open loops: {loops}."] if loops else said


def _git(git: dict[str, Any]) -> list[str]:
    where = f"branch {git['branch']}" if git["branch"] else f"at {git['head'][:12]}"
    cut = ", and maybe more" if git["cut"] else ""
    changed = f"{counted(git['commit_count'], 'commit')}, {counted(git['file_count'], 'file')}"
    counts = f"{changed}, +{git['insertions']} -{git['deletions']}"
    commits = [f"{commit['sha'][:12]} {commit['subject']}" for commit in git["commits"]]
    shown = listed(commits, git["commit_count"], _MOST_COMMITS)
    return [f"Git: {where}; {counts} since the start{cut}.", *(f"  {line}" for line in shown)]
