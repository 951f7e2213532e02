"""The product, one module a capability: start, query, talk, end, cleanup, host."""

from lamplighter.operations import cleanup, end, host, query, start, talk
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "cleanup", "end", "host", "query", "start", "talk"]
