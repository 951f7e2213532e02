"""The HTTP door on 127.0.0.1: what is let in, and MCP over it. A token always; Host and Origin on every route."""
