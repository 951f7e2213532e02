"""The product, one module a capability: start, adopt, query, names, talk, end, tmux, cleanup, host."""

from lamplighter.operations import adopt, cleanup, end, host, names, query, start, talk, tmux
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "adopt", "cleanup", "end", "host", "names", "query", "start", "talk", "tmux"]
