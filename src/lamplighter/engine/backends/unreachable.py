"""Sessions whose input and output are not ours. Knows that nothing can be typed there, read from there or asked there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Any

from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.engine.backends.base import Backend, Shown
from lamplighter.engine.core.registry import LiveSession
from lamplighter.errors import ConflictError


class UnreachableBackend(Backend):
    can_be_asked = False
    sees_typing = False
    metered = False

    @abstractmethod
    def refusal(self, session: Session) -> ConflictError:
        """Why it can neither be talked to nor read here, and what to do instead."""

    async def prompt(self, session: Session, text: str, *, keys: bool, by: Caller, key: str) -> dict[str, Any] | None:
        del text, keys, by, key
        raise self.refusal(session)

    async def type(self, session: Session, data: bytes, by: str, key: str, before: str | None = None) -> dict[str, Any]:
        del data, by, key, before
        raise self.refusal(session)

    async def typed_at(self, session: Session, key: str) -> int | None:
        del session, key

    async def feed(self, session: Session, data: bytes, by: Caller, key: str) -> None:
        del data, by, key
        raise self.refusal(session)

    def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        del mode, lines, since, limit, follow
        raise self.refusal(session)

    async def seat(self, session: Session, *, read_only: bool, **wish: Any) -> tuple[LiveSession, dict[str, Any], int]:
        del read_only, wish
        raise self.refusal(session)

    async def shown(self, session: Session, paste_mode: int) -> Shown | None:
        del session, paste_mode

    async def until_text(self, session: Session, text: str, since: int | None) -> int:
        del text, since
        raise self.refusal(session)
