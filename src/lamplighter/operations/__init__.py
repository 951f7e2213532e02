"""The product, one module a capability: start, spawn, adopt, query, names, aliases, talk, history, end, cleanup, host."""

from lamplighter.operations import adopt, aliases, cleanup, end, history, host, names, query, spawn, start, talk
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = [
    "OPERATIONS", "Operation", "adopt", "aliases", "cleanup", "end", "history", "host", "names", "query", "spawn", "start",
    "talk",
]  # fmt: skip
