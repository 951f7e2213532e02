"""A tmux session that is made for one of ours: its arguments, its marks, and where it is. Knows nothing of how ours end."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys

from lamplighter.domain.facts import TmuxPlace
from lamplighter.engine.backends.tmux.server import Setting, TmuxError, TmuxServer, TmuxSilentError, is_socket
from lamplighter.holder import proc, relay
from lamplighter.lazy_dataclass import dataclass

_SESSION_MARK, _PANE_MARK = "@lamplighter", "@lamplighter-pane"
_FORM = "\t".join(
    f"#{{{name}}}"
    for name in (_SESSION_MARK, _PANE_MARK, "session_id", "session_attached", "pane_id", "pane_pid", "pid", "session_name")
)  # fmt: skip


@dataclass(frozen=True)
class TmuxLocation:
    """Where a session is in tmux. `relay` is what the pane was made with, `server` the server, both pids."""

    socket: str
    name: str
    session: str
    pane: str
    relay: int
    server: int

    def document(self) -> TmuxPlace:
        """As it is kept: the server with its start time, as another may get its pid."""
        return {
            "socket": self.socket,
            "name": self.name,
            "session": self.session,
            "pane": self.pane,
            "relay": self.relay,
            "server": [self.server, proc.start_of(self.server) or 0],
        }


@dataclass(frozen=True)
class OwnedPane:
    """A pane in a tmux session that was made for one of ours, `owner`; `own` when it is the one that it was made with."""

    owner: str
    own: bool
    attached: int
    place: TmuxLocation


def tmux_name(name: str) -> str:
    """The name as tmux can have it: it keeps . and : for itself, and # begins a format."""
    return name.translate(str.maketrans(".:#", "---"))


async def find_marked(server: TmuxServer) -> list[OwnedPane]:
    """Every pane of every session that was made for one of ours; none when no server runs. TmuxSilentError when one does
    not answer."""
    if not is_socket(server.socket):
        return []
    try:
        text = await server.run("list-panes", "-a", "-F", _FORM)
    except TmuxSilentError:
        raise  # it is there, and does not say
    except TmuxError:
        return []
    rows = [line.split("\t", 7) for line in text.splitlines()]
    return [_marked(server, row) for row in rows if len(row) == 8 and row[0]]


def _marked(server: TmuxServer, row: list[str]) -> OwnedPane:
    owner, own, session, attached, pane, pid, server_pid, name = row
    place = TmuxLocation(server.socket, name, session, pane, int(pid or 0), int(server_pid or 0))
    return OwnedPane(owner, own == owner, int(attached or 0), place)


async def locate(server: TmuxServer, owner: str) -> TmuxLocation | None:
    """Where the pane is that was made for this session of ours."""
    return next((marked.place for marked in await find_marked(server) if marked.owner == owner and marked.own), None)


async def make(
    server: TmuxServer, owner: str, name: str, meeting: str, size: tuple[int, int], setting: Setting
) -> TmuxLocation | None:
    """Make a session with a relay in its pane, its output piped from the first byte on, in one command to tmux. None when
    it has gone again already. TmuxError when tmux refuses, as it does when it has a session of this name."""
    rows, cols = size
    with contextlib.suppress(
        OSError
    ):  # tmux makes it only for a socket that was not named, and says so if it is missing
        os.makedirs(os.path.dirname(server.socket), mode=0o700, exist_ok=True)
    program = [sys.executable, "-I", "-S", os.path.abspath(relay.__file__)]
    tap = [*program, "tap", meeting]
    target = f"={name}:"
    await server.run(
        *_plain(
            "new-session",
            "-d",
            "-s",
            _unformatted(name),
            "-x",
            str(cols),
            "-y",
            str(rows),
            "-c",
            _unformatted(setting.cwd),
        ),
        *_plain("--", *program, "pane", meeting),
        ";",
        *_plain("set-option", "-t", target, _SESSION_MARK, owner),
        ";",
        *_plain("set-option", "-p", "-t", target, _PANE_MARK, owner),
        ";",
        *_plain("pipe-pane", "-O", "-t", target, _unformatted(f"exec {shlex.join(tap)}").replace("%", "%%")),
        setting=setting,
    )
    return await locate(server, owner)


def is_name_taken(error: TmuxError) -> bool:
    return str(error).startswith("duplicate session")


def _plain(*arguments: str) -> list[str]:
    """Arguments whose last character is no separator to tmux."""
    return [f"{word[:-1]}\\;" if word.endswith(";") else word for word in arguments]


def _unformatted(text: str) -> str:
    """What tmux expands as a format and gives out as this text."""
    return text.replace("#", "##")
