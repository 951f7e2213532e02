"""The product, one module a capability: start, query, talk, end, host."""

from lamplighter.operations import end, host, query, start, talk
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "end", "host", "query", "start", "talk"]
