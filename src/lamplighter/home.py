"""Where Lamplighter's files are: under LAMPLIGHTER_HOME when that is set, else in the XDG folders.

Standard library only and cheap to import: the command line and the bridge need it before anything else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from lamplighter.errors import Code, InputError

_SOCKET_PATH_BYTES = 103  # 104 with the closing NUL on macOS, 108 on Linux
_LONGEST_SOCKET = "/s/00000000.sock"


class Home(NamedTuple):
    """The folders. `run` has the sockets, `state` the store and the logs, `config` the settings file."""

    state: str
    run: str
    config: str

    @property
    def daemon_socket(self) -> str:
        return f"{self.run}/daemon.sock"

    @property
    def keeper_socket(self) -> str:
        return f"{self.run}/keeper.sock"

    @property
    def http_file(self) -> str:
        """Says where the HTTP door is, while it is open."""
        return f"{self.run}/http.json"

    @property
    def database(self) -> str:
        return f"{self.state}/lamplighter.db"

    def shim_socket(self, session: str) -> str:
        return f"{self.run}/s/{session}.sock"

    def pane_socket(self, session: str) -> str:
        """Where a pane of tmux hands over what belongs to it, while its session starts."""
        return f"{self.run}/p/{session}"

    def session_folder(self, session: str) -> str:
        return f"{self.state}/sessions/{session}"

    def make(self) -> None:
        """Make the folders, the user's alone; refuse one that somebody else could have put there."""
        for folder in (self.state, f"{self.state}/sessions"):
            _make(folder)
        self.make_run()

    def make_run(self) -> None:
        """The folders of the sockets."""
        run = self.usable().run
        for folder in (run, f"{run}/s", f"{run}/p"):
            _make(folder)

    def usable(self) -> Home:
        """The same, with the sockets beside the state where their own folder cannot be: logind takes its part away for good."""
        return self if _can_be(self.run) else self._replace(run=f"{self.state}/run")


def _can_be(folder: str) -> bool:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return False
    return True


def _make(folder: str) -> None:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.stat(folder)
    if found.st_uid != os.getuid():
        raise InputError(
            Code.BAD_INPUT,
            f"{folder} belongs to another user (uid {found.st_uid})",
            "set LAMPLIGHTER_HOME to a folder of your own",
        )
    if found.st_mode & 0o077:
        os.chmod(folder, 0o700)


def find_home(environment: Mapping[str, str] | None = None) -> Home:
    """The folders that this environment names. HOME_TOO_LONG when a socket would not fit."""
    env = os.environ if environment is None else environment
    chosen = env.get("LAMPLIGHTER_HOME")
    if chosen:
        root = os.path.abspath(os.path.expanduser(chosen))
        home = Home(state=root, run=f"{root}/run", config=f"{root}/config.toml")
    else:
        home = _xdg(env)
    if len(os.fsencode(home.run + _LONGEST_SOCKET)) > _SOCKET_PATH_BYTES:
        raise InputError(
            Code.HOME_TOO_LONG,
            f"the path of the state folder is too long for a socket: {home.run[:60]}… has {len(os.fsencode(home.run))} bytes",
            f"set LAMPLIGHTER_HOME to a path of at most {_SOCKET_PATH_BYTES - len(_LONGEST_SOCKET) - 4} bytes",
        )
    return home


def _xdg(env: Mapping[str, str]) -> Home:
    user = env.get("HOME") or os.path.expanduser("~")
    state = env.get("XDG_STATE_HOME") or f"{user}/.local/state"
    config = env.get("XDG_CONFIG_HOME") or f"{user}/.config"
    runtime = env.get("XDG_RUNTIME_DIR")
    # Without a runtime folder the sockets stay beside the state: a folder under /tmp could be made by anyone before us.
    run = f"{runtime}/lamplighter" if runtime and os.path.isdir(runtime) else f"{state}/lamplighter/run"
    return Home(state=f"{state}/lamplighter", run=run, config=f"{config}/lamplighter/config.toml")
