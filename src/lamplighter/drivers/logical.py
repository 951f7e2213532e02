"""Sessions without a process of ours. Knows that there is nothing to type into, to read from or to ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from lamplighter.errors import Code, ConflictError
from lamplighter.line import Line


def out_of_reach(who: str = "it") -> ConflictError:
    """Why a logical session can neither be talked to nor read."""
    return ConflictError(
        Code.NOT_ATTACHABLE,
        f"{who} is a logical session: an agent tells of itself, and no process of it is held here",
        "lamp show says what is known of it, lamp end closes it",
    )


class LogicalDriver:
    def encode(self, text: str, *, keys: bool, enter: bool) -> NoReturn:
        del text, keys, enter
        raise out_of_reach()

    async def type(self, line: Line, place: Mapping[str, Any], data: bytes, by: str, key: str) -> dict[str, Any]:
        del line, place, data, by, key
        raise out_of_reach()

    async def ask_to_stop(self, line: Line, place: Mapping[str, Any]) -> bool:
        del line, place
        return False
