"""The product, one module a capability: start, query, names, talk, end, host."""

from lamplighter.operations import end, host, names, query, start, talk
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "end", "host", "names", "query", "start", "talk"]
