"""MCP: the server in the daemon, the bridge that agents start, the core tools, and the toolsets of other servers."""
