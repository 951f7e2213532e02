"""On a daemon's PYTHONPATH: it has one toolset more, for the conformance suite. Nothing is loaded before it is asked for."""

from lamplighter.frontends.mcp.toolsets import TOOLSETS

TOOLSETS["everything"] = "everything.server:TOOLSET"
