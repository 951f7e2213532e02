"""`lamp doctor`: what is wrong on this machine."""

from __future__ import annotations

from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.views.machine import doctor


class DoctorCommand(Command):
    name = "doctor"
    view = staticmethod(doctor)
    examples = ("lamp doctor",)
    notes = "Exit status 3 when something is broken."
