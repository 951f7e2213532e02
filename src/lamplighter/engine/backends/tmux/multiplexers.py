"""What the tmux servers of this user hold, and which of it no session of ours stands for.

Knows where servers are found and how long they are waited for; knows nothing of how a session is adopted or ended.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache

from lamplighter.engine.backends.tmux.server import (
    Pane,
    TmuxError,
    TmuxServer,
    TmuxSilentError,
    find_servers,
    is_socket,
    server_for,
)
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import LampError
from lamplighter.lazy_dataclass import dataclass

FRESH_SECONDS = 0.3
_PATIENCE_SECONDS = 0.5  # of whoever lists
_ANSWER_SECONDS = 3.0
_DEAD_SECONDS = 10.0
_SILENT_SECONDS = 30.0


@dataclass(frozen=True)
class HandMade:
    """A tmux session with panes that are not ours. `id` is what it is adopted by."""

    id: str
    socket: str
    panes: tuple[Pane, ...]

    @property
    def first(self) -> Pane:
        return self.panes[0]


@dataclass
class _Post:
    """What is remembered of one server between two looks."""

    socket: str
    panes: list[Pane] = field(default_factory=list[Pane])
    answered: bool = False
    silent: bool = False
    next_look: float = 0.0
    file: tuple[int, int] | None = None
    looking: asyncio.Task[None] | None = None


class Multiplexers:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry
        self._posts: dict[str, _Post] = {}

    async def look(
        self,
        fresh: float = FRESH_SECONDS,
        patience: float = _PATIENCE_SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, list[Pane]]:
        """The panes of every server that answers, by its socket, not older than `fresh` seconds. With an environment also of
        those that a tmux with it would find.

        Without a socket nothing is run. A server that did not answer is asked again after a while, and nobody waits for it.
        """
        sockets = self._sockets(environment)
        for gone in self._posts.keys() - sockets:
            del self._posts[gone]
        posts = [self._posts.setdefault(socket, _Post(socket)) for socket in sorted(sockets)]
        waits = [task for post in posts if (task := self._ask(post, fresh)) and (not post.silent or fresh == 0.0)]
        if waits:
            await asyncio.wait(waits, timeout=patience)
        return {post.socket: post.panes for post in posts if post.answered}

    async def look_at(self, socket: str) -> list[Pane] | None:
        """One server as it is now; None when it does not say."""
        if not is_socket(socket):
            return None
        post = self._posts.setdefault(socket, _Post(socket))
        if post.looking is not None and not post.looking.done():
            await asyncio.wait([post.looking])  # it may have asked before what we want to see happened
        if post.silent and time.monotonic() < post.next_look:
            return None
        task = self._ask(post, 0.0)
        if task is not None:
            await asyncio.wait([task])
        return post.panes if post.answered else None

    async def made_by_hand(self) -> list[HandMade]:
        """Every tmux session that has panes of nobody's, oldest first."""
        return self.strangers(await self.look())

    def strangers(self, seen: dict[str, list[Pane]]) -> list[HandMade]:
        left: dict[str, list[Pane]] = {}
        for socket, panes in seen.items():
            ours = self.ours(socket, panes[0].server) if panes else {}
            left[socket] = [pane for pane in panes if pane.id not in ours]
        return self.all_sessions(left)

    def all_sessions(self, seen: dict[str, list[Pane]]) -> list[HandMade]:
        """Every tmux session of what was seen, ours or not, oldest first."""
        found: list[HandMade] = []
        for socket, panes in seen.items():
            by_session: dict[str, list[Pane]] = {}
            for pane in panes:
                by_session.setdefault(pane.session_id, []).append(pane)
            found += [
                HandMade(word_of(socket, of[0].session, os.environ), socket, tuple(of)) for of in by_session.values()
            ]
        return sorted(found, key=lambda made: (made.first.created, made.id))

    def ours(self, socket: str, server: int) -> dict[str, str]:
        """The panes of a server that a living session of ours stands for, with that session's id.

        A server that was started anew at the same place counts its panes from 0 again: those are not the ones that we know.
        """
        real = _real(socket)
        found: dict[str, str] = {}
        for live in self.registry.live_sessions.values():
            tmux = live.session.place
            if tmux and tmux.get("server", [server])[0] == server and _real(tmux.get("socket", "")) == real:
                panes: Iterable[str] = live.panes if live.session.traced else [tmux.get("pane", "")]
                found.update(dict.fromkeys(panes, live.session.id))
        return found

    def _sockets(self, environment: Mapping[str, str] | None) -> set[str]:
        places: list[str] = []
        for known in (os.environ, *([] if environment is None else [environment])):
            places += [server_for(known).socket, *(server.socket for server in find_servers(known))]
        known_places = (live.session.place for live in self.registry.live_sessions.values())
        places += [found.get("socket", "") for found in known_places if found]
        return {os.path.realpath(place) for place in dict.fromkeys(places) if is_socket(place)}

    def _ask(self, post: _Post, fresh: float) -> asyncio.Task[None] | None:
        """The look that goes on, or a new one when it is time."""
        if post.looking is not None and not post.looking.done():
            return post.looking
        now = time.monotonic()
        waited = now >= post.next_look + (fresh if post.answered else 0.0)
        if fresh == 0.0 or waited or post.file != _file(post.socket):
            post.looking = asyncio.get_running_loop().create_task(self._look(post), name=f"look at {post.socket}")
            return post.looking
        return None

    async def _look(self, post: _Post) -> None:
        post.file = _file(post.socket)
        pause = _DEAD_SECONDS
        try:
            post.panes = await TmuxServer(post.socket).look(_ANSWER_SECONDS)
            post.answered, post.silent, pause = True, False, 0.0
        except (TmuxError, LampError, OSError, ValueError) as error:
            post.panes, post.answered = [], False
            post.silent = isinstance(error, TmuxSilentError)
            pause = _SILENT_SECONDS if post.silent else _DEAD_SECONDS
        post.next_look = time.monotonic() + pause


def word_of(socket: str, session: str, environment: Mapping[str, str]) -> str:
    """How a tmux session is named to whoever has this environment: by its server too, when that is not the usual one there."""
    own = os.path.realpath(server_for({**environment, "TMUX": ""}).socket)
    if socket == own:
        return f"tmux:{session}"
    folder, _, name = socket.rpartition("/")
    return f"tmux:{name if folder == own.rpartition('/')[0] else socket}/{session}"


@lru_cache(64)
def _real(path: str) -> str:
    """The same place by one name; kept, as a thousand sessions may name it."""
    return os.path.realpath(path)


def _file(path: str) -> tuple[int, int] | None:
    """Which file this is: another server at the same place has another one."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns
