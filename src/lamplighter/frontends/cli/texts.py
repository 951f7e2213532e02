"""Words of help that several commands share, and how they spell a hand-off's fields."""

from __future__ import annotations

SELECTION = (
    "A SELECTION is a verdict (working waiting idle finished stuck orphaned leftovers unknown ended), active, "
    "protected, attached, mine, all, kind:X, agent:X, driver:X, state:X, project:X, owner:X, parent:X, name:X, "
    "or a name, an id or a pattern such as 'cron:*'. A comma means and, a plus means or: idle,kind:cron+orphaned."
)

WORDS_AFTER = (
    "The words after -- are the command, unchanged; with --agent they are added to the agent's own arguments. "
    "Without --, everything from the first non-option word is the command."
)

HANDOFF_OPTIONS = {
    "decisions": "--decision",
    "open_loops": "--open-loop",
    "preferences": "--preference",
    "constraints": "--constraint",
    "warnings": "--warning",
    "next_session_focus": "--focus",
    "resolved_loops": "--resolved",
    "dropped_loops": "--dropped",
    "transcript_path": "--transcript",
    "succession_policy": "--policy",
}
"""Lists are given one by one, so their options are called as one item is."""
