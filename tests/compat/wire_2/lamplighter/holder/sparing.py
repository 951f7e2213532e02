"""What hangs under a session and is not its own: a tmux server that was first started inside it serves others too.

Each process that such a server started says in TMUX which of its sessions it is of: number 0 is the one that the server was
started with, the session's own; the others may be anybody's. While one of those lives, it and the server are spared.
Knows tmux's marks and /proc; knows nothing of killing. Standard library only.
"""

from __future__ import annotations

from lamplighter.holder import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SPARED = "spared"
"""The cgroup, beside those of sessions, that the spared are moved to."""
_SERVER = "tmux: server"
_OWN = "0"


def is_server(stat: proc.Stat) -> bool:
    """Whether this is a tmux server: one leads a session without a terminal, so few have to be asked for their names."""
    return stat.session == stat.pid and not stat.terminal and proc.name_of(stat.pid) == _SERVER


def find_spared(members: dict[int, proc.Stat]) -> dict[int, str]:
    """Which of a session's processes are others', each with the reason."""
    found: dict[int, str] = {}
    for server in [stat for stat in members.values() if is_server(stat)]:
        children = [stat for stat in members.values() if stat.parent == server.pid and stat.state not in "ZX"]
        numbers = {child.pid: _number(child.pid, server.pid) for child in children}
        others = {number for number in numbers.values() if number not in (_OWN, None)}
        if not others:
            continue
        found[server.pid] = f"a tmux server that holds {_counted(len(others))} of others"
        kept = {pid for pid, number in numbers.items() if number != _OWN}
        for pid in (*kept, *proc.descendants(members, kept)):
            found[pid] = "in that tmux server, in a session of others"
    return found


def _number(pid: int, server: int) -> str | None:
    """The number of the server's session that this process is of; None when it does not say, as what the server runs for
    itself does not. One that has no environment any more is on its way out, and nobody's to spare."""
    if not proc.has_environment(pid):
        return _OWN
    _, _, marked = (proc.environment_of(pid, "TMUX") or "").rpartition(f",{server},")
    return marked if marked.isdigit() else None


def _counted(sessions: int) -> str:
    return "a session" if sessions == 1 else f"{sessions} sessions"


def documents(spared: Iterable[tuple[tuple[int, int], tuple[str, str]]]) -> list[dict[str, object]]:
    """As a certificate tells of them."""
    return [
        {"pid": pid, "start_ticks": start, "command": command, "why": why} for (pid, start), (command, why) in spared
    ]
