"""What hangs under a session and is not its own: a tmux server that was first started inside it serves others too.

A tmux session is somebody else's when the kernel says so: a client from outside the session is connected to the server and
attached to it, or a process from outside has the terminal of one of its panes. One that nobody is attached to now, but somebody
was, is left alone as well, and the certificate proves less for it. Whatever else such a server holds, the session made itself.
A server is known by its executable and its socket: what a process calls itself says nothing. Knows tmux and /proc; knows
nothing of killing. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

from lamplighter.holder import proc, unix_sockets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SPARED = "spared"
"""The cgroup, beside those of sessions, that the spared are moved to."""
UNSURE = "in that tmux server, in a session that somebody was attached to; who, is not known"
_SECONDS = 5.0
_ASKED = (
    ("list-panes", "-a", "-F", "pane #{session_id} #{pane_pid} #{pane_tty} #{session_last_attached}"),
    ("list-clients", "-F", "client #{session_id} #{client_pid}"),
)


def is_server(stat: proc.Stat) -> bool:
    """Whether this is a tmux server: one leads a session without a terminal, so few have to be looked at."""
    if stat.session != stat.pid or stat.terminal:
        return False
    executable = _executable(stat.pid)
    if os.path.basename(executable) != "tmux":
        return False
    tmux = _own_tmux()
    return tmux is not None and executable == os.path.realpath(tmux)


def _own_tmux() -> str | None:
    """The user's, as the PATH has it. Without `shutil`, which brings all that Python knows of compression into every shim."""
    paths = (f"{folder}/tmux" for folder in os.environ.get("PATH", os.defpath).split(os.pathsep))
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def find_spared(members: dict[int, proc.Stat]) -> dict[int, str]:
    """Which of a session's processes are others', each with the reason. Asks each tmux server among them."""
    found: dict[int, str] = {}
    for server in [stat for stat in members.values() if is_server(stat)]:
        held = _ask(server)
        others = {session: why for session in held if (why := _whose(held[session], server, members))}
        if not others:
            continue
        found[server.pid] = f"a tmux server that holds {_counted(len(others))} of others"
        for session, why in others.items():
            panes = {pid for pid in held[session].panes if pid in members}
            for pid in (*panes, *proc.descendants(members, panes)):
                found[pid] = why
    return found


class _Held:
    """One session of a tmux server: the processes and terminals of its panes, its clients, whether it ever had one."""

    __slots__ = ("clients", "panes", "terminals", "used")

    def __init__(self) -> None:
        self.panes: set[int] = set()
        self.terminals: set[int] = set()
        self.clients: set[int] = set()
        self.used = False


def _whose(held: _Held, server: proc.Stat, members: dict[int, proc.Stat]) -> str:
    """Why a tmux session is spared; nothing when it is the session's own."""
    outside = {pid for pid in held.clients - members.keys() if _is_client(pid, server)}
    if outside:
        return "in that tmux server, in a session that somebody outside is attached to"
    if any(stat.terminal in held.terminals for pid, stat in proc.scan().items() if pid not in members):
        return "in that tmux server, in a pane whose terminal belongs to somebody outside"
    return UNSURE if held.used and not held.clients else ""


def _is_client(pid: int, server: proc.Stat) -> bool:
    """Whether the kernel says that this process is connected to the server."""
    with contextlib.suppress(OSError):
        sockets = unix_sockets.read_all()
        served = set(unix_sockets.inodes_of(server.pid))
        return any(inode in sockets and sockets[inode].peer in served for inode in unix_sockets.inodes_of(pid))
    return False


def _executable(pid: int) -> str:
    """The program's file, by name, also when another has taken its place since."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""


def _ask(server: proc.Stat) -> dict[str, _Held]:
    """What the server holds, by the session; nothing when it does not answer."""
    path = _socket_of(server)
    if path is None:
        return {}
    held: dict[str, _Held] = {}
    for line in _answer(path).splitlines():
        kind, session, *words = line.split(" ")
        entry = held.setdefault(session, _Held())
        if kind == "pane" and len(words) == 3 and words[0].isdigit():
            entry.panes.add(int(words[0]))
            entry.used = entry.used or words[2].strip("0") != ""
            with contextlib.suppress(OSError):
                entry.terminals.add(os.stat(words[1]).st_rdev)
        elif kind == "client" and words and words[0].isdigit():
            entry.clients.add(int(words[0]))
    return held


def _socket_of(server: proc.Stat) -> str | None:
    """Where the server listens. A socket that was taken away is made again by the server when it is asked to with USR1."""
    with contextlib.suppress(OSError):
        sockets = unix_sockets.read_all()
        mine = (sockets.get(inode) for inode in unix_sockets.inodes_of(server.pid))
        path = next((os.fsdecode(each.name) for each in mine if each is not None and each.listens and each.name), None)
        if path is not None and not os.path.exists(path):
            proc.send_signal(server.pid, server.start, signal.SIGUSR1)
            deadline = time.monotonic() + 1.0
            while not os.path.exists(path) and time.monotonic() < deadline:
                time.sleep(0.01)  # nothing tells when it is there again
        return path
    return None


def _answer(path: str) -> str:
    """What the user's own tmux says of the server at this socket; nothing when that takes too long."""
    tmux = _own_tmux()
    if tmux is None:
        return ""
    command = [tmux, "-u", "-S", path, *_ASKED[0], ";", *_ASKED[1]]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    reader, writer = os.pipe2(os.O_CLOEXEC)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        streams = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in enumerate((nothing, writer, nothing))]
        pid = os.posix_spawn(tmux, command, environment, file_actions=streams, setsigmask=[])
    finally:
        os.close(writer)
        os.close(nothing)
    try:
        return _read(reader).decode(errors="replace")
    finally:
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # has no effect on one that has answered
        os.waitpid(pid, 0)


def _read(reader: int) -> bytes:
    """Until the other end is closed; nothing when that takes too long."""
    data, deadline = b"", time.monotonic() + _SECONDS
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while poll.poll(max(0.0, (deadline - time.monotonic()) * 1000)):
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            return data
        data += chunk
    return b""


def _counted(sessions: int) -> str:
    return "a session" if sessions == 1 else f"{sessions} sessions"


def documents(spared: Iterable[tuple[tuple[int, int], tuple[str, str]]]) -> list[dict[str, object]]:
    """As a certificate tells of them."""
    return [
        {"pid": pid, "start_ticks": start, "command": command, "why": why} for (pid, start), (command, why) in spared
    ]
