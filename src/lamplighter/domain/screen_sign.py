"""What an agent's screen says of it. Knows no agent and no terminal."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from lamplighter.lazy_dataclass import dataclass


class Sign(StrEnum):
    WORKING = "working"
    WAITING = "waiting"  # a dialog is open, and whatever is typed answers it
    PROMPT = "prompt"  # its turn is over, or it never had one: it takes the next request


@dataclass(frozen=True)
class ScreenReading:
    """`what` a dialog waits for. `turned`: the screen shows something of a turn that is over. `typed`: something stands in its
    input line; `line` is what is seen there, its own hint too. `leaves`: the key that closes the dialog, without consent to
    anything, when the agent is to leave. `error`: in the agent's own words, what its last turn failed with, or what it tries
    again after. `takes`: its input line is there, and a text that is submitted now is its next request."""

    sign: Sign
    what: str = ""
    turned: bool = False
    typed: bool = False
    leaves: str = "Escape"
    error: str = ""
    takes: bool = False
    line: str = field(default="", compare=False)

    @property
    def words(self) -> str:
        match self.sign:
            case Sign.WORKING if self.error:
                return f"it tries again after an error: {self.error}"
            case Sign.WORKING:
                return "its screen says that it works"
            case Sign.WAITING:
                return f"it waits for {self.what}"
            case Sign.PROMPT if self.error:
                return f"its last turn failed: {self.error}"
            case Sign.PROMPT:
                return "its turn is over, it waits for the next request" if self.turned else "it waits for a request"
