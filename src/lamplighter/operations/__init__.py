"""The product, one module a capability: start, adopt, query, names, talk, end, cleanup, approve, host."""

from lamplighter.operations import adopt, approve, cleanup, end, host, names, query, start, talk
from lamplighter.operations.operation import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "adopt", "approve", "cleanup", "end", "host", "names", "query", "start", "talk"]
