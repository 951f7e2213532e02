"""Sessions in a pane of the user's own tmux, held by a shim of ours.

Knows that tmux types there, draws and lets people attach, and that it can never be asked whether it typed something.
"""

from __future__ import annotations

import contextlib
import shlex
import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from lamplighter.domain.ending import Certificate
from lamplighter.domain.facts import TmuxPlace
from lamplighter.domain.session import Session
from lamplighter.engine.backends.base import BackendContext, Kill
from lamplighter.engine.backends.held import TerminalBackend
from lamplighter.engine.backends.tmux.panes import Panes, intended
from lamplighter.engine.backends.tmux.server import TmuxError, TmuxServer, TmuxSilentError, tmux_program
from lamplighter.engine.core.holder_client import HolderClient
from lamplighter.engine.core.registry import LiveSession
from lamplighter.errors import Code, ConflictError, Hint, UnavailableError, Use


class TmuxBackend(TerminalBackend):
    sees_typing = False
    environment: ClassVar[Mapping[str, str]] = {}  # tmux says what its terminals are

    def __init__(self, context: BackendContext) -> None:
        super().__init__(context)
        self.panes = Panes(context.registry, context.keeper)

    # -- coming to be

    def check_start(self) -> None:
        tmux_program()

    def first_place(self, name: str, exact: str | None, given: bool, environment: Mapping[str, str]) -> TmuxPlace:
        return intended(name, exact, given, environment)

    async def open(self, session: Session) -> dict[str, int]:
        return await self.panes.open(session)

    async def born(self, session: Session) -> TmuxPlace:
        self.panes.settle(session.id)
        return await self.panes.place(session)

    async def take_back(self, session: Session) -> None:
        await self.panes.take_back(session)

    # -- typing

    async def put_in(self, session: Session, line: HolderClient, data: bytes, by: str, key: str) -> dict[str, Any]:
        """Noted by the shim before and after: what was noted only once may have been typed, and that is said."""
        place = session.place
        answer, _ = await line.ask("typing", size=len(data), by=by, id=key)
        if answer.get("repeated"):
            if not answer.get("typed"):
                raise _unknown(place)
            return answer
        if data:
            await _paste(place, data)
        await line.ask("typed", id=key)
        return answer

    async def took(self, session: Session, key: str) -> int | None:
        """That it was noted does not say that it was typed."""
        del session, key

    # -- seeing

    async def screen(self, session: Session, mode: str, lines: int | None) -> dict[str, Any]:
        await self.panes.measure(session)
        return await super().screen(session, mode, lines)

    async def before_submit(self, session: Session) -> None:
        await self.panes.measure(session)

    async def seat(self, session: Session, *, read_only: bool, **wish: Any) -> tuple[LiveSession, dict[str, Any], int]:
        del wish
        self.living(session)
        raise _attaches_itself(session, await self.panes.place(session), read_only=read_only)

    # -- ending

    async def clear(self, session: Session, certificate: Certificate, *, others: bool, kill: Kill) -> Certificate:
        return await self.panes.clear(session, certificate, others=others, kill=kill)


async def _paste(place: TmuxPlace, data: bytes) -> None:
    """Every byte as it is: neither keys nor newlines are translated."""
    server, buffer = TmuxServer(str(place.get("socket"))), f"lamp-{uuid.uuid4().hex}"
    load = ("load-buffer", "-b", buffer, "-")
    try:
        pane = str(place.get("pane"))
        paste = ("paste-buffer", "-d", await server.pasting(pane), "-b", buffer, "-t", pane)
        await server.run(*load, ";", *paste, given=data)
    except TmuxSilentError:
        raise _unknown(place) from None
    except TmuxError as error:
        with contextlib.suppress(TmuxError):
            await server.run("delete-buffer", "-b", buffer)
        raise ConflictError(
            Code.ENDED,
            f"tmux cannot type into pane {place.get('pane')}: {error}",
            Hint(Use("show"), " says what it is doing"),
        ) from None


def _unknown(place: TmuxPlace) -> UnavailableError:
    return UnavailableError(
        Code.OUTCOME_UNKNOWN,
        f"whether tmux has typed this into pane {place.get('pane')} is not known: it was interrupted just then",
        Hint("look at the screen with ", Use("read"), ", and send it again with a new key if it is not there"),
    )


def _attaches_itself(session: Session, place: TmuxPlace, *, read_only: bool) -> ConflictError:
    command = [
        "tmux",
        "-S",
        place.get("socket", ""),
        "attach-session",
        *(["-r"] if read_only else []),
        "-t",
        f"={place.get('name', '')}",
    ]
    return ConflictError(
        Code.NOT_ATTACHABLE,
        f"{session.name} ({session.id}) is in tmux, which attaches to it by itself",
        shlex.join(command),
        command=command,
        **place,
    )
