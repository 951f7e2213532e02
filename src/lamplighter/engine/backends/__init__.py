"""The ways to run a session, one backend each. Each is imported when the first session needs it.

Whoever is above asks for what a session can do, by its backend; nobody else asks which kind of session it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from lamplighter.domain.session import Driver, Session
from lamplighter.engine.backends.base import Backend, BackendContext, BackendListener, Key
from lamplighter.engine.core.registry import LiveSession
from lamplighter.store import exchanges

if TYPE_CHECKING:
    from lamplighter.domain.approval import Approval
    from lamplighter.holder import proc

_PACKAGE = "lamplighter.engine.backends"
_CLASSES: dict[Driver, str] = {
    Driver.TERMINAL: f"{_PACKAGE}.held:TerminalBackend",
    Driver.TMUX: f"{_PACKAGE}.tmux.backend:TmuxBackend",
    Driver.HEADLESS: f"{_PACKAGE}.held:HeadlessBackend",
    Driver.ACP: f"{_PACKAGE}.acp.backend:AcpBackend",
    Driver.LOGICAL: f"{_PACKAGE}.logical:LogicalBackend",
    Driver.REGISTERED: f"{_PACKAGE}.adopted.backend:AdoptedBackend",
}


class Backends:
    def __init__(self, context: BackendContext) -> None:
        self._context = context
        self._known: dict[Driver, Backend] = {}

    def listen(self, listener: BackendListener) -> None:
        """Have it told of what happens by itself."""
        self._context.listeners.append(listener)

    def of(self, session: Session) -> Backend:
        """How this session is run. One that was there before us is adopted, wherever it runs."""
        return self.running_in(Driver.REGISTERED if session.traced else session.driver)

    def running_in(self, driver: Driver) -> Backend:
        """For a session that is to be started this way."""
        backend = self._known.get(driver)
        if backend is None:
            module, _, name = _CLASSES[driver].partition(":")
            backend = self._known[driver] = getattr(import_module(module), name)(self._context)
        return backend

    def recover(self, live: LiveSession) -> bool:
        """Take it up again where it has no shim; False where it has one, which is to be looked for."""
        return self.of(live.session).recover(live)

    async def decided(self, approval: Approval) -> None:
        """The operator's word on what an agent has asked for."""
        live = self._context.registry.live_sessions.get(approval.session)
        if live is not None:
            await self.of(live.session).decided(approval)

    async def before_look(self) -> None:
        """Each time before processes are looked at."""
        for backend in list(self._known.values()):
            await backend.before_look()

    def after_look(self, seen: Mapping[str, Sequence[proc.Stat]]) -> None:
        """Each time afterwards: the processes of each session."""
        for backend in self._known.values():
            backend.after_look(seen)

    def known(self) -> set[Key]:
        """Every process that a session without a shim is known by."""
        return {key for backend in list(self._known.values()) for key in backend.known()}

    async def forget_old(self) -> None:
        """What is kept of conversations over ACP whose sessions have long ended."""
        await self._context.registry.store.write(exchanges.forget_ended)
