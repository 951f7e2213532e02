"""How what is said to a session shows in what it prints. Knows texts alone."""

from __future__ import annotations

from enum import StrEnum


class Echo(StrEnum):
    """Typed at a terminal, which shows it as it is; quoted, as we write down a conversation; or none, as on pipes."""

    TYPED = "typed"
    QUOTED = "quoted"
    NONE = "none"


def without_echo(text: str, message: str, echo: Echo) -> str:
    """What was printed since this message was sent, without the message."""
    if echo is Echo.QUOTED:  # others may wait before it
        return text.rpartition("> " + message.rstrip("\n").replace("\n", "\n> ") + "\n")[2]
    if echo is Echo.TYPED:
        return text.removeprefix(message.rstrip("\n")).removeprefix("\n")
    return text
