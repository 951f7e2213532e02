"""The product, one module a capability: start, adopt, query, names, talk, end, cleanup, approve, host, tokens, kiro."""

from lamplighter.operations import (
    adopt,
    approve,
    cleanup,
    end,
    host,
    kiro,
    kiro_views,
    names,
    query,
    start,
    talk,
    tokens,
)
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = [
    "OPERATIONS",
    "Operation",
    "adopt",
    "approve",
    "cleanup",
    "end",
    "host",
    "kiro",
    "kiro_views",
    "names",
    "query",
    "start",
    "talk",
    "tokens",
]
