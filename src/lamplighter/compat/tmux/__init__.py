"""Compatible with claude-sessions-mcp: tools on the user's own tmux server, by the names that it has for them."""

from __future__ import annotations

from lamplighter.slices import Slice

SLICE = Slice(operations={"operations": ("list_tmux_windows", "type_in_tmux", "read_tmux", "kill_tmux")})
