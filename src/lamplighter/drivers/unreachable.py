"""Sessions whose input and output are not ours. Knows that nothing can be typed there, read from there or asked there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NoReturn

from lamplighter.errors import ConflictError
from lamplighter.line import Line


class UnreachableDriver(ABC):
    @abstractmethod
    def refusal(self) -> ConflictError:
        """Why it cannot be talked to, and what to do instead."""

    def encode(self, text: str, *, keys: bool, enter: bool) -> NoReturn:
        del text, keys, enter
        raise self.refusal()

    async def type(self, line: Line, place: Mapping[str, Any], data: bytes, by: str, key: str) -> dict[str, Any]:
        del line, place, data, by, key
        raise self.refusal()

    async def ask_to_stop(self, line: Line, place: Mapping[str, Any]) -> bool:
        del line, place
        return False
