"""Sessions that were there before us: in a tmux session made by hand, or in a terminal that is not ours.

Knows that tmux types and draws for the former, and that nothing can be typed into or read from the latter.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Driver, Session
from lamplighter.engine.backends.adopted.foreign_terminal import ForeignTerminals
from lamplighter.engine.backends.adopted.processes import AdoptedProcesses
from lamplighter.engine.backends.base import BackendContext, Key, Shown, has_ended
from lamplighter.engine.backends.unreachable import UnreachableBackend
from lamplighter.engine.core.registry import LiveSession
from lamplighter.errors import Code, ConflictError, Hint, LampError, Use
from lamplighter.holder import proc


class AdoptedBackend(UnreachableBackend):
    def __init__(self, context: BackendContext) -> None:
        super().__init__(context)
        self.processes = AdoptedProcesses(context)
        self.tmux = ForeignTerminals()

    # -- processes

    def recover(self, live: LiveSession) -> bool:
        self.processes.find(live)
        return True

    async def before_look(self) -> None:
        await self.processes.refresh()

    def after_look(self, seen: Mapping[str, Sequence[proc.Stat]]) -> None:
        self.processes.remember(seen)

    def known(self) -> set[Key]:
        return self.processes.known()

    async def stop(self, live: LiveSession) -> dict[str, Any]:
        return await self.processes.end(live)

    def forget(self, session: str) -> None:
        self.processes.forget(session)

    # -- a terminal of tmux's

    async def prompt(self, session: Session, text: str, *, keys: bool, by: Caller, key: str) -> None:
        del text, keys, by, key
        self._check_tmux(session)

    async def type(self, session: Session, data: bytes, by: str, key: str, before: str | None = None) -> dict[str, Any]:
        del by
        self._check_tmux(session)
        if not session.alive:
            raise has_ended(session)
        repeated = before is not None and await self.tmux.was_typed(session, key)
        await self.tmux.type(session, data, key, before=before)
        return {"cursor": 0, "repeated": repeated}

    async def typed_at(self, session: Session, key: str) -> int | None:
        return 0 if await self.tmux.was_typed(session, key) else None

    async def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        del since, limit
        self._check_tmux(session)
        yield await self.tmux.screen(session, mode, lines, follow=follow)

    async def shown(self, session: Session, paste_mode: int) -> Shown | None:
        """tmux does not say whether a program knows a paste, nor how much of its output a screen stands for."""
        del paste_mode
        if not session.place:
            return None
        try:
            shown = await self.tmux.screen(session, "screen", None, follow=False)
        except LampError:
            return None
        return Shown(shown["text"], shown["title"], None, None)

    async def seat(self, session: Session, *, read_only: bool, **wish: Any) -> tuple[LiveSession, dict[str, Any], int]:
        del read_only, wish
        self._check_tmux(session)
        if not session.alive:
            raise has_ended(session)
        raise self.tmux.refuse_attaching(session)

    async def until_text(self, session: Session, text: str, since: int | None) -> int:
        del text, since
        self._check_tmux(session)
        raise ConflictError(
            Code.NOT_ATTACHABLE,
            f"{session.name} ({session.id}) was adopted: there is no log of its output to find a text in",
            Hint("look at its screen with ", Use("read"), ", or wait for idle or ended"),
        )

    def _check_tmux(self, session: Session) -> None:
        if session.driver is Driver.REGISTERED:
            raise self.refusal(session)

    def refusal(self, session: Session) -> ConflictError:
        who = f"{session.name} ({session.id})"
        if not session.alive:
            return ConflictError(
                Code.ENDED,
                f"{who} has ended; its terminal was never ours, so its output was not kept",
                Hint(Use("show"), " says how it ended"),
            )
        terminal = session.facts.terminal
        where = (
            f"go to its own terminal, {terminal}"
            if terminal
            else "it has no terminal; whoever started it can talk to it"
        )
        return ConflictError(
            Code.NOT_ATTACHABLE,
            f"{who} was not started by Lamplighter: its terminal is not ours to type into or to read",
            Hint(f"{where}; ", Use("show"), " says what is known of it, ", Use("end"), " ends it"),
        )
