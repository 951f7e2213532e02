"""Being attached to a session: getting there, getting there again after its holder was lost, and what became of it.

Knows the operations that this takes; knows no terminal. Only the first step may wait for the daemon: what comes later
must never hang because the daemon does.
"""

from __future__ import annotations

import base64
from typing import Any

from lamplighter.errors import Code, LampError
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.holder.wire import Channel
from lamplighter.home import Home

_FOR_EVER = (Code.NOT_FOUND, Code.ENDED, Code.FORBIDDEN, Code.NOT_ATTACHABLE)
_STEP = 2.0
AGAIN = 10.0
"""How long to look for a session whose holder was lost."""


class Attachment:
    """A channel to a session's holder, and what the daemon said of it."""

    __slots__ = ("channel", "result")

    def __init__(self, result: dict[str, Any], channel: Channel) -> None:
        self.result = result
        self.channel = channel

    @property
    def screen(self) -> bytes:
        return base64.b64decode(self.result.get("screen") or "")


class SessionRoute:
    """The way to one session."""

    def __init__(self, home: Home, request: dict[str, Any]) -> None:
        self.home = home
        self.request = request

    def go(self, **changes: Any) -> Attachment:
        """Attach, with all the patience there is."""
        return self._attach(DaemonClient(self.home), changes)

    def go_again(self, **changes: Any) -> Attachment | None:
        """One short try; None when it may work later. LampError when it never will."""
        try:
            return self._attach(DaemonClient(self.home, patience=0, limit=_STEP), changes)
        except LampError as error:
            if error.code in _FOR_EVER:
                raise
            return None

    def redraw(self) -> tuple[bytes, int] | None:
        """The screen as it is now and the cursor it stands for, if the daemon is there to say."""
        client = DaemonClient(self.home, start=False, patience=0, limit=1.0)
        try:
            page = client.call("read_output", {"session": self.request["session"], "mode": "vt"})
        except LampError:
            return None
        return base64.b64decode(page.get("base64") or ""), page["cursor"]

    def missed(self, cursor: int) -> tuple[bytes, int] | None:
        """A page of the log from this cursor on, and the cursor after it, if the daemon is there to say."""
        request = {"session": self.request["session"], "mode": "output", "since": cursor}
        try:
            page = DaemonClient(self.home, patience=0, limit=_STEP).call("read_output", request)
        except LampError:
            return None
        return page["text"].encode("utf-8", "replace"), page["cursor"]

    def fate(self) -> dict[str, Any] | None:
        """The session in full, if it has ended and the daemon is there to say."""
        try:
            found = DaemonClient(self.home, patience=0, limit=_STEP).call(
                "get_session", {"session": self.request["session"]}
            )
        except LampError:
            return None
        return found if found["state"] == "ended" else None

    def _attach(self, client: DaemonClient, changes: dict[str, Any]) -> Attachment:
        result, sock = client.call_for_socket("attach_session", {**self.request, **changes})
        self.request = {**self.request, "session": result["id"]}  # a name can be given anew while one looks away
        channel = Channel(sock)
        channel.send_json({"op": "here"})  # until we have spoken, the holder does not count on us
        return Attachment(result, channel)


class AttachOutcome:
    """How being attached was over: detached, ended, lost, broken (nobody reads our output), or stopped by a signal."""

    __slots__ = ("certificate", "exit", "how", "lost", "recovered", "signal")

    def __init__(
        self, how: str, exit: dict[str, Any] | None = None, certificate: dict[str, Any] | None = None, signal: str = ""
    ) -> None:
        self.how = how
        self.exit = exit
        self.certificate = certificate
        self.signal = signal
        self.lost = 0  # bytes of output that were never heard
        self.recovered = 0  # bytes that were read from the log instead


def outcome_of(session: dict[str, Any]) -> AttachOutcome:
    """The outcome, from a session that ended while nobody was connected to it."""
    ending: dict[str, Any] = session.get("ending") or {}
    return AttachOutcome("ended", session.get("exit") or ending.get("exit"), ending.get("certificate"))
