"""What a tmux server shows of its sessions, windows and screens. Knows tmux's formats; knows nothing of sessions of ours."""

from __future__ import annotations

from lamplighter.engine.backends.tmux.server import TmuxError, TmuxServer, TmuxSilentError, is_socket
from lamplighter.lazy_dataclass import dataclass

_FORM = "\t".join(
    f"#{{{name}}}"
    for name in (
        "session_id", "session_name", "session_created", "session_activity", "session_attached", "window_activity",
        "window_index", "window_active", "window_panes", "window_name",
    )
)  # fmt: skip
ANSWER_SECONDS = 5.0
_GONE = ("no server running", "error connecting to", "server exited", "lost server")


@dataclass(frozen=True)
class Window:
    """One window of a session; `attached` counts the clients at that. Times are Unix seconds, input or output."""

    session_id: str
    session: str
    created: int
    activity: int
    attached: int
    index: int
    active: bool
    panes: int
    name: str


async def find_windows(server: TmuxServer) -> list[Window]:
    """Every window of every session, in the order of sessions and windows; none when no server runs. TmuxError when a server
    does not say."""
    if not is_socket(server.socket):
        return []
    try:
        text = await server.run("list-windows", "-a", "-F", _FORM, seconds=ANSWER_SECONDS)
    except TmuxSilentError:
        raise
    except TmuxError as error:
        if is_gone(error):
            return []
        raise
    rows = [line.split("\t", 9) for line in text.split("\n")]
    return [_window(row) for row in rows if len(row) == 10]


def is_gone(error: TmuxError) -> bool:
    """Whether it says that no server runs."""
    return str(error).startswith(_GONE)


def _window(row: list[str]) -> Window:
    identifier, session, created, active_at, attached, output_at, index, active, panes, name = row
    activity = max(int(active_at or 0), int(output_at or 0))
    return Window(
        identifier,
        session,
        int(created or 0),
        activity,
        int(attached or 0),
        int(index),
        active == "1",
        int(panes),
        name,
    )


async def capture(server: TmuxServer, session: str, target: str, lines: int) -> str | None:
    """The last lines of a pane's history and screen, the blank ones below its text left out. None when the target is not, or
    not any more, in a session of this name: a server that was started anew counts its ids from 0 again."""
    named = ("display-message", "-p", "-t", target, "#{session_name}")
    drawn = ("capture-pane", "-p", "-t", target, "-S", f"-{lines}")
    try:
        text = await server.run(*named, ";", *drawn, seconds=ANSWER_SECONDS)
    except TmuxSilentError:
        raise
    except TmuxError:
        return None
    name, _, shown = text.partition("\n")
    kept = shown.rstrip().split("\n")[-lines:]
    return "\n".join(kept) if name == session else None
