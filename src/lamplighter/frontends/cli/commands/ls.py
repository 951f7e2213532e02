"""`lamp ls`: the sessions there are."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.texts import SELECTION
from lamplighter.frontends.cli.views.sessions import ls


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
