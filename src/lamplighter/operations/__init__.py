"""The product, one module a capability: start, adopt, query, talk, end, host."""

from lamplighter.operations import adopt, end, host, query, start, talk
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "adopt", "end", "host", "query", "start", "talk"]
