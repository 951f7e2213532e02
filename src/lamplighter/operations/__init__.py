"""The product, one module a capability: start, adopt, query, names, talk, end, tmux, cleanup, approve, host, tokens."""

from lamplighter.operations import adopt, approve, cleanup, end, host, names, query, start, talk, tmux, tokens
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = [
    "OPERATIONS",
    "Operation",
    "adopt",
    "approve",
    "cleanup",
    "end",
    "host",
    "names",
    "query",
    "start",
    "talk",
    "tmux",
    "tokens",
]
