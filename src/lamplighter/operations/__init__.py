"""The product, one module a capability."""

from lamplighter.operations import (
    adopt,
    aliases,
    approve,
    cleanup,
    end,
    history,
    host,
    kiro,
    kiro_views,
    logical,
    names,
    query,
    spawn,
    start,
    talk,
    tmux,
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
    "kiro",
    "kiro_views",
    "logical",
    "names",
    "query",
    "spawn",
    "start",
    "talk",
    "tmux",
    "tokens",
]
