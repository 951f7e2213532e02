"""Noting a fault of our own in the holder's log, without the modules that format tracebacks. Standard library only."""

from __future__ import annotations

import sys


def tell_fault() -> None:
    """The exception that is being handled, with its traceback, on standard error."""
    kind, error, trace = sys.exc_info()
    if kind is not None and error is not None:
        sys.__excepthook__(kind, error, trace)
