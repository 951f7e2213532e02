"""`lamp show`: one session in full."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.views.detail import show


class ShowCommand(Command):
    name = "show"
    ended_too = True
    view = staticmethod(show)
    examples = ("lamp show nightly",)
