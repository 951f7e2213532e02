"""`dataclass` as the standard library has it, but made when its class is first used.

A third of the daemon's start went into writing methods for two hundred classes, of which it needs forty before it is ready.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        if cls is None:
            return lambda decorated: _postponed(decorated, options)
        return _postponed(cls, options)


_making = threading.RLock()
_FIELDS = "__dataclass_fields__"


class _Fields:
    """In the place of a class's fields: whoever asks for them has the class made first."""

    def __init__(self, make: Callable[[], None]) -> None:
        self._make = make

    def __get__(self, _: object, owner: type) -> Any:
        self._make()
        return getattr(owner, _FIELDS)


def _postponed(cls: Any, options: dict[str, bool]) -> Any:
    """The class, whose methods are written when it is first called, asked for its fields, or the base of one that is."""
    if "__init__" in cls.__dict__:
        return dataclasses.dataclass(**options)(cls)

    def make() -> None:
        with _making:
            if isinstance(cls.__dict__.get(_FIELDS), _Fields):
                cls.__doc__ = cls.__doc__ or cls.__name__  # or a signature is worked out to be its docstring
                twin = _twin(cls)
                dataclasses.dataclass(**{**options, "repr": False, "eq": False, "order": False})(twin)
                dataclasses.dataclass(**{**options, "init": False})(cls)
                cls.__init__ = twin.__init__  # in one step: another thread finds this one or the one that waits

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        make()
        self.__init__(*given, **named)

    cls.__init__ = __init__
    setattr(cls, _FIELDS, _Fields(make))
    return cls


def _twin(cls: Any) -> Any:
    """The same class as it was written, so that the standard library writes the `__init__` that it has not."""
    own = ("__dict__", "__weakref__", "__init__", _FIELDS)
    return type(cls)(
        cls.__name__, cls.__bases__, {name: value for name, value in cls.__dict__.items() if name not in own}
    )
