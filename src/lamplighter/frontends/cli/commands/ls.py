"""`lamp ls`: the sessions there are."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.views.sessions import ls

SELECTION = (
    "A SELECTION is a verdict (working waiting idle finished stuck orphaned leftovers unknown ended), active, "
    "protected, attached, mine, all, kind:X, agent:X, driver:X, state:X, project:X, owner:X, parent:X, name:X, "
    "or a name, an id or a pattern such as 'cron:*'. A comma means and, a plus means or: idle,kind:cron+orphaned."
)


class LsCommand(Command):
    name = "ls"
    also = {"all": ("-a",)}
    elsewhere = {"-l": "lamp ls shows all there is to a line; lamp show ID shows one session in full"}
    view = staticmethod(ls)
    examples = (
        "lamp ls",
        "lamp ls --all --json",
        "lamp ls idle,kind:cron+orphaned",
        "lamp ls 'cron:*'",
    )
    notes = SELECTION
