"""The product, one module a capability."""

from lamplighter.operations import (
    adopt,
    aliases,
    approve,
    cleanup,
    end,
    history,
    host,
    names,
    query,
    spawn,
    start,
    talk,
    tokens,
)
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = [
    "OPERATIONS",
    "Operation",
    "adopt",
    "aliases",
    "approve",
    "cleanup",
    "end",
    "history",
    "host",
    "names",
    "query",
    "spawn",
    "start",
    "talk",
    "tokens",
]
