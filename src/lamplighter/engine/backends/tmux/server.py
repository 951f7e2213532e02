"""A tmux server, spoken to through its own command. Knows tmux's arguments; knows nothing of sessions of ours."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
from collections.abc import Generator, Mapping
from typing import Any

from lamplighter.errors import Code, Hint, Option, UnavailableError
from lamplighter.lazy_dataclass import dataclass

_SECONDS = 10.0
_FORM = "\t".join(
    f"#{{{name}}}"
    for name in (
        "session_name", "session_id", "session_created", "session_attached", "window_id", "pane_id", "pane_pid", "pane_tty",
        "pane_dead", "pane_current_command", "pid", "session_group", "session_activity", "window_activity",
        "pane_current_path",
    )
)  # fmt: skip


class TmuxError(Exception):
    """What tmux itself said."""


class TmuxSilentError(TmuxError):
    """It said nothing in time: what was asked of it may still be done."""


@dataclass(frozen=True)
class Setting:
    """What a server that has to be started for a command takes over from whoever wants it."""

    environment: dict[str, str]
    cwd: str
    umask: int

    def options(self) -> dict[str, Any]:
        return {"env": self.environment or _environment(), "cwd": self.cwd, "umask": self.umask}


@dataclass(frozen=True)
class Pane:
    """One pane. `attached` counts the clients that are at its session now, `server` is the server's process; `group` names
    the sessions that show the same windows. `input_at` and `output_at` are Unix seconds."""

    session: str
    session_id: str
    created: int
    attached: int
    window: str
    id: str
    pid: int
    tty: str
    dead: bool
    command: str
    cwd: str
    server: int
    group: str
    input_at: int
    output_at: int


class TmuxServer:
    """One server, by its socket."""

    def __init__(self, socket: str) -> None:
        self.socket = socket

    async def run(
        self, *arguments: str, given: bytes = b"", setting: Setting | None = None, seconds: float = _SECONDS
    ) -> str:
        """What `tmux ARGUMENTS` prints on this server; TmuxError with its own words when it fails."""
        program = tmux_program()
        chosen: dict[str, Any] = {"env": _environment()} if setting is None else setting.options()
        # Files and no pipes: tmux hands them to its server, and a pipe that a server without an answer has open never ends.
        with _memory(given) as source, _memory() as output, _memory() as said:
            process = await asyncio.create_subprocess_exec(
                program,
                "-u",  # to a client that is not known to read UTF-8, tmux writes _ for a tab
                "-S",
                self.socket,
                *arguments,
                stdin=source,
                stdout=output,
                stderr=said,
                **chosen,
            )
            try:
                await asyncio.wait_for(process.wait(), seconds)
            except TimeoutError:
                process.kill()
                await process.wait()
                raise TmuxSilentError(f"tmux {arguments[0]} did not answer") from None
            if process.returncode:
                raise TmuxError(_text(said).strip() or f"tmux {arguments[0]} failed")
            return _text(output)

    async def pasting(self, target: str) -> str:
        """The flags with which this server pastes every byte as it is. From 3.7 on it writes control characters out, as `^C`,
        unless a flag says not to, which earlier ones do not know. So it is asked to paste with that flag what is not there: one
        that knows it says so. Refused: its version, which distributions name in their own ways; `list-commands`, which starts a
        server where there is none."""
        try:
            await self.run("paste-buffer", "-S", "-b", "lamp-none", "-t", target)
        except TmuxSilentError:
            raise
        except TmuxError as error:
            return "-rS" if str(error).startswith("no buffer") else "-r"
        return "-rS"

    async def panes(self) -> list[Pane]:
        """Every pane of every session; none when no server runs."""
        if not is_socket(self.socket):
            return []
        try:
            return await self.look()
        except TmuxError:
            return []

    async def look(self, seconds: float = _SECONDS) -> list[Pane]:
        """Every pane of every session; TmuxError when it cannot be told."""
        text = await self.run("list-panes", "-a", "-F", _FORM, seconds=seconds)
        return [_pane(line.split("\t")) for line in text.split("\n") if line.count("\t") >= _FORM.count("\t")]


@contextlib.contextmanager
def _memory(data: bytes = b"") -> Generator[int]:
    """A file in memory, to be read from its beginning."""
    descriptor = os.memfd_create("lamplighter-tmux")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _text(descriptor: int) -> str:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")


def _pane(fields: list[str]) -> Pane:
    name, identifier, created, attached, window, pane, pid, tty, dead, command, *more = fields
    server, group, input_at, output_at, *cwd = more
    return Pane(
        session=name,
        session_id=identifier,
        created=int(created or 0),
        attached=int(attached or 0),
        window=window,
        id=pane,
        pid=int(pid or 0),
        tty=tty,
        dead=dead == "1",
        command=command,
        cwd="\t".join(cwd),
        server=int(server or 0),
        group=group,
        input_at=int(input_at or 0),
        output_at=int(output_at or 0),
    )


def tmux_program() -> str:
    """Where tmux is; UNSUPPORTED when it is not installed."""
    found = shutil.which("tmux")
    if found is None:
        raise UnavailableError(
            Code.UNSUPPORTED,
            "tmux is not installed here",
            Hint("install it, or start without ", Option("tmux"), ": sessions need no tmux"),
        )
    return found


def server_for(environment: Mapping[str, str]) -> TmuxServer:
    """The server that a `tmux` command with this environment would speak to."""
    inside = environment.get("TMUX", "").partition(",")[0]
    return TmuxServer(inside or f"{_folder(environment)}/default")


def find_servers(environment: Mapping[str, str]) -> list[TmuxServer]:
    """Every server of this user that has a socket where tmux puts them."""
    folder = _folder(environment)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [TmuxServer(f"{folder}/{name}") for name in names if is_socket(f"{folder}/{name}")]


def is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _folder(environment: Mapping[str, str]) -> str:
    return f"{environment.get('TMUX_TMPDIR') or '/tmp'}/tmux-{os.getuid()}"


def _environment() -> dict[str, str]:
    """Without TMUX: a server that we speak to is not one that we are inside of."""
    return {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
