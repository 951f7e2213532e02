"""One module a way to run a session. The registry names them; each is imported on use."""

from __future__ import annotations

from importlib import import_module

from lamplighter.domain.session import Driver as Name
from lamplighter.drivers.driver import Driver

REGISTRY: dict[Name, str] = {
    Name.TERMINAL: "lamplighter.drivers.terminal:TerminalDriver",
    Name.TMUX: "lamplighter.drivers.tmux:TmuxDriver",
    Name.HEADLESS: "lamplighter.drivers.headless:HeadlessDriver",
    Name.ACP: "lamplighter.drivers.acp:AcpDriver",
    Name.LOGICAL: "lamplighter.drivers.logical:LogicalDriver",
    Name.REGISTERED: "lamplighter.drivers.registered:RegisteredDriver",
}


def driver_for(name: Name) -> Driver:
    module, _, attribute = REGISTRY[name].partition(":")
    return getattr(import_module(module), attribute)()
