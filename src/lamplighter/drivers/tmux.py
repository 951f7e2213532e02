"""Sessions in a pane of the user's own tmux. Knows that tmux types there, and that it can never be asked whether it did."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from typing import Any

from lamplighter.drivers.terminal import TerminalDriver
from lamplighter.drivers.tmux_server import Server, TmuxError, TmuxSilentError
from lamplighter.errors import Code, ConflictError, UnavailableError
from lamplighter.line import Line


class TmuxDriver(TerminalDriver):
    async def type(self, line: Line, place: Mapping[str, Any], data: bytes, by: str, key: str) -> dict[str, Any]:
        """Noted by the shim before and after: what was noted only once may have been typed, and that is said."""
        answer, _ = await line.ask("typing", size=len(data), by=by, id=key)
        if answer.get("repeated"):
            if not answer.get("typed"):
                raise _unknown(place)
            return answer
        if data:
            await _paste(place, data)
        await line.ask("typed", id=key)
        return answer


async def _paste(place: Mapping[str, Any], data: bytes) -> None:
    """Every byte as it is: neither keys nor newlines are translated."""
    server, buffer = Server(str(place.get("socket"))), f"lamp-{uuid.uuid4().hex}"
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
            Code.ENDED, f"tmux cannot type into pane {place.get('pane')}: {error}", "lamp show says what it is doing"
        ) from None


def _unknown(place: Mapping[str, Any]) -> UnavailableError:
    return UnavailableError(
        Code.OUTCOME_UNKNOWN,
        f"whether tmux has typed this into pane {place.get('pane')} is not known: it was interrupted just then",
        "look at the screen with lamp read, and send it again with a new key if it is not there",
    )
