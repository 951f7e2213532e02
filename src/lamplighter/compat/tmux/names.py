"""Which tmux session a name means on a server, exactly, and whose it is: one of ours, or one that was made without us.

Knows what tmux shows and what the registry holds; who may is not asked here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamplighter.compat.tmux.windows import ANSWER_SECONDS, is_gone
from lamplighter.domain.facts import Facts, TmuxPlace
from lamplighter.domain.permission import OPERATOR
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.domain.states import Running, Starting
from lamplighter.engine.backends.tmux.multiplexers import HandMade
from lamplighter.engine.backends.tmux.server import Pane, TmuxError, TmuxServer, TmuxSilentError, is_socket
from lamplighter.errors import Code, ConflictError, MissingError, UnavailableError
from lamplighter.holder import proc
from lamplighter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lamplighter.app import App


@dataclass(frozen=True)
class NamedTmuxSession:
    """A tmux session as it is now. `session` is ours when all of it is; `stranger` stands for one that was made without us,
    with an id that no other ever has."""

    made: HandMade
    session: Session | None
    stranger: Session

    @property
    def dead(self) -> bool:
        """Nothing runs in it: tmux was told to keep its panes."""
        return all(pane.dead for pane in self.made.panes)


class TmuxNames:
    def __init__(self, app: App) -> None:
        self.registry = app.registry
        self.multiplexers = app.multiplexers

    async def find(self, socket: str, name: str) -> NamedTmuxSession:
        """The session of exactly this name, looked for by us: tmux itself takes beginnings, patterns and ids for names. NOT_FOUND
        when there is none. Nothing is waited for after the look."""
        place = os.path.realpath(socket)
        panes = [pane for pane in await self._look(place) if pane.session == name]
        if not panes:
            raise does_not_exist(name)
        made = HandMade(f"tmux:{name}", place, tuple(panes))
        return NamedTmuxSession(made, self._owner(place, panes), self._stranger(place, panes))

    async def pane(self, socket: str, name: str) -> tuple[str, Session]:
        """What to look at when this session is meant, as tmux can be told it: the pane that input goes to. And whose that is: one
        with panes of several is as if made by hand."""
        place = os.path.realpath(socket)
        panes = [pane for pane in await self._look(place) if pane.session == name]
        if not panes:
            raise does_not_exist(name)
        try:
            owner = self._owner(place, panes)
        except ConflictError:
            owner = None
        own = owner.place.get("pane") if owner and owner.shim else None
        return own or f"{panes[0].session_id}:", owner or self._stranger(place, panes)

    async def _look(self, socket: str) -> list[Pane]:
        if not is_socket(socket):
            return []
        try:
            return await TmuxServer(socket).look(ANSWER_SECONDS)
        except TmuxSilentError:
            raise silent(socket) from None
        except TmuxError as error:
            if is_gone(error):
                return []
            raise says(error) from None

    def _owner(self, socket: str, panes: Sequence[Pane]) -> Session | None:
        """The session of ours that this tmux session is; None when nothing in it is ours."""
        ours = self.multiplexers.ours(socket, panes[0].server)
        owners = {ours[pane.id] for pane in panes if pane.id in ours}
        if not owners:
            return self._starting(socket, panes[0].session)
        found = [self.registry.live_sessions[owner].session for owner in owners]
        whole = [one for one in found if panes[0].session_id in (one.place.get("session"), one.place.get("id"))]
        if len(found) == 1 and whole:
            return found[0]
        raise ConflictError(
            Code.ADOPTED,
            f'session "{panes[0].session}" holds panes that belong to other sessions: {", ".join(sorted(owners))}',
            "act on those sessions, or move the panes back with tmux",
        )

    def _starting(self, socket: str, name: str) -> Session | None:
        """One that is on its way to be it: which pane it has is known only when it has started."""
        for live in self.registry.live_sessions.values():
            place = live.session.place
            if (
                isinstance(live.session.state, Starting)
                and place.get("name") == name
                and os.path.realpath(place.get("socket", "")) == socket
            ):
                return live.session
        return None

    def _stranger(self, socket: str, panes: Sequence[Pane]) -> Session:
        pane = panes[0]
        start = proc.start_of(pane.server) or 0
        tmux: TmuxPlace = {
            "socket": socket,
            "session": pane.session,
            "id": pane.session_id,
            "server": [pane.server, start],
        }
        return Session(
            id=f"tmux:{pane.server}-{start}:{pane.session_id}",
            name=pane.session,
            kind=Kind.TASK,
            driver=Driver.TMUX,
            owner=OPERATOR.name,
            command=(pane.command,),
            cwd=pane.cwd,
            created_at=float(pane.created),
            boot=self.registry.boot,
            state=Running(),
            main=Process(pane.pid, proc.start_of(pane.pid) or 0),
            facts=Facts(tmux=tmux),
        )

    async def close(self, named: NamedTmuxSession) -> None:
        """Have tmux forget a session in which nothing runs. The server itself checks that it is the right one."""
        pane = named.made.first
        right = f"#{{==:#{{pid}},{pane.server}}}"
        try:
            await TmuxServer(named.made.socket).run("if-shell", "-F", right, f"kill-session -t '{pane.session_id}'")
        except TmuxSilentError:
            raise silent(named.made.socket) from None
        except TmuxError as error:
            if not is_gone(error):
                raise says(error) from None


def does_not_exist(name: str) -> MissingError:
    return MissingError(Code.NOT_FOUND, f'session "{name}" does not exist', "tmux ls lists what there is")


def silent(socket: str) -> UnavailableError:
    return UnavailableError(
        Code.HOLDER_UNREACHABLE, f"the tmux server at {socket} does not answer", "try again; look at it with tmux ls"
    )


def says(error: TmuxError) -> UnavailableError:
    return UnavailableError(Code.HOLDER_UNREACHABLE, f"tmux says: {error}", "look at it with tmux ls")
