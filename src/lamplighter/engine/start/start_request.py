"""What is to be started, as asked: the command or how to find it, and what the session shall be.

Knows what one can ask for; checks nothing and starts nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace

from lamplighter.domain.limits import NO_LIMITS, Limits
from lamplighter.domain.memory.exchange import Talk
from lamplighter.domain.session import Driver, Kind
from lamplighter.engine.core.planned_command import PlannedCommand
from lamplighter.engine.memory.succession import Legacy
from lamplighter.lazy_dataclass import dataclass

_NOTHING = PlannedCommand(())


@dataclass(frozen=True)
class Launch:
    """What is to be started, as asked."""

    command: tuple[str, ...]
    environment: dict[str, str]
    driver: Driver
    name: str | None = None
    kind: Kind = Kind.TASK
    parent: str | None = None
    cwd: str | None = None
    protect: bool = False
    keep_children: bool = False
    rows: int = 24
    cols: int = 80
    umask: int | None = None
    bound: bool = False
    limits: Limits = NO_LIMITS
    project: str | None = None
    agent: str | None = None
    labels: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])  # namespace → what it is called there
    discard: bool = False
    tmux_name: str | None = None
    find_legacy: Callable[[str | None], Awaitable[Legacy]] | None = None  # by the project that it is in
    legacy: Legacy | None = None  # what it goes on from
    find_order: Callable[[str], Awaitable[PlannedCommand]] | None = (
        None  # by its folder; without it the command is run as it is
    )
    order: PlannedCommand = _NOTHING
    talk: Talk | None = None  # with one that speaks ACP

    async def ordered(self, cwd: str) -> Launch:
        """With what is to be executed known."""
        order = PlannedCommand(self.command) if self.find_order is None else await self.find_order(cwd)
        command = order.command(handed=self.find_legacy is not None)
        return replace(self, order=order, command=command, agent=self.agent or order.agent)
