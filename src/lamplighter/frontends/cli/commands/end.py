"""`lamp end`: ask a session to quit, then end it."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.commands.handoff import HANDOFF_OPTIONS
from lamplighter.frontends.cli.views.endings import ended


class EndCommand(Command):
    name = "end"
    spelt = HANDOFF_OPTIONS
    ends_one = True
    elsewhere = {
        "--note": "--checkpoint TEXT keeps what the session knew, --reason TEXT why it ended",
        **dict.fromkeys(
            ("--message", "-m"), "--reason TEXT says why it ended, --checkpoint TEXT keeps what the session knew"
        ),
        "--force": "lamp kill ID --force ends it without asking it first",
    }
    view = staticmethod(ended)
    examples = (
        "lamp end claude --reason 'done for today'",
        "lamp end claude --checkpoint 'dates are read; zones are not' --focus zones --open-loop 'who owns the fixtures?'",
        "lamp end nightly --approval ap-4k9dw2m7xq0tz5r8yhcn",
    )
