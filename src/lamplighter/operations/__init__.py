"""The product, one module a capability: start, query, names, talk, end, cleanup, host."""

from lamplighter.operations import cleanup, end, host, names, query, start, talk
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "cleanup", "end", "host", "names", "query", "start", "talk"]
