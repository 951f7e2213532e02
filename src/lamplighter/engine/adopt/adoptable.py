"""Which process may be taken under management by its pid: what it is, whose it is, and why it may not be.

Knows /proc and what is ours; knows nothing of how a session is recorded. A refusal changes nothing.
"""

from __future__ import annotations

import os

from lamplighter.agents import GENERIC
from lamplighter.domain.permission import Caller
from lamplighter.engine.adopt.process_group import AdoptedGroup, stranger_of
from lamplighter.engine.adopt.registration import adopted_already
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import Code, ConflictError, ForbiddenError, Hint, InputError, MissingError, Use
from lamplighter.holder import proc
from lamplighter.holder.cgroup import own_path
from lamplighter.holder.exempt import is_server

_MOST = 1 << 22  # no pid of Linux is larger


class AdoptableProcesses:
    def __init__(self, registry: SessionRegistry, keeper: KeeperClient) -> None:
        self.registry = registry
        self.keeper = keeper

    def find(self, target: str, caller: Caller, start: int | None = None) -> AdoptedGroup:
        """The process with this pid, and the rest of its agent if it is one; or why it may not be adopted. With `start`: only if
        it began then, as another may have got its pid since it was seen."""
        pid = int(target) if target.isascii() and len(target) < 10 else _MOST
        found = stranger_of(pid) if 0 < pid < _MOST else None
        if pid == 1 or proc.is_of_kernel(pid):
            raise InputError(
                Code.BAD_INPUT, f"process {pid} is the system's own", "name a process of yours: ps shows them"
            )
        if found is None:
            raise MissingError(Code.NOT_FOUND, f"there is no process {target[:20]}", "ps shows what runs")
        if start is not None and proc.start_of(pid) != start:
            raise MissingError(
                Code.NOT_FOUND,
                f"process {pid} is another one now: it did not start at {start}",
                Hint("the one that was seen is gone; ", Use("scan"), " shows what runs"),
            )
        self._check_ours(pid)
        if not found.is_own():
            raise ForbiddenError(
                Code.FORBIDDEN,
                f"process {pid} belongs to another user",
                "that user can adopt it with a Lamplighter of their own",
            )
        self._check_use(found, caller)
        return found

    def _check_ours(self, pid: int) -> None:
        """Neither a part of Lamplighter, nor above one, nor in a session already."""
        chain = proc.ancestors(pid)
        shims = self.registry.shims()
        inside = next((shims[stat.key] for stat in chain[1:] if stat.key in shims), None)
        if inside is not None:
            raise adopted_already(f"process {pid}", inside)
        own = [os.getpid(), *([self.keeper.pid] if self.keeper.pid else []), *(shim for shim, _ in shims)]
        if any(pid in (stat.pid for stat in proc.ancestors(one)) for one in own):
            raise InputError(
                Code.BAD_INPUT,
                f"process {pid} is a part of Lamplighter, or Lamplighter runs below it",
                "name the process of the agent itself",
            )

    def _check_use(self, found: AdoptedGroup, caller: Caller) -> None:
        pid = found.main.pid
        if is_server(found.main):
            raise ConflictError(
                Code.NOT_ATTACHABLE,
                f"process {pid} is a tmux server",
                Hint("adopt its sessions: ", Use("adopt", target="tmux:NAME")),
            )
        if caller.pid and any(stat.pid in (one.pid for one in found.processes) for stat in proc.ancestors(caller.pid)):
            raise InputError(
                Code.BAD_INPUT,
                f"process {pid} is above the one that asks: it would end you with it",
                "name the process of the agent itself, or ask from another terminal",
            )
        if found.agent == GENERIC and (unit := _service(pid)):
            raise InputError(
                Code.BAD_INPUT,
                f"process {pid} belongs to the service {unit}, which the system starts and stops",
                f"systemctl status {unit} says more of it",
            )


def _service(pid: int) -> str | None:
    """The systemd service that it is of. What a person starts is in a scope, or in none."""
    last = (own_path(pid) or "").rpartition("/")[2]
    return last if last.endswith(".service") else None
