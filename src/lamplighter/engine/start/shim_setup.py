"""What a shim is told of the session that it holds, at its birth and when another takes it over.

Knows the settings and the session; the other end is `holder.shim`.
"""

from __future__ import annotations

from typing import Any

from lamplighter.agents.formats.shared_daemon import servers
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry


def holding_spec(registry: SessionRegistry, session: Session) -> dict[str, Any]:
    """What a shim must know to hold a session, without what only its birth needs."""
    home, settings = registry.settings.home, registry.settings
    return {
        "session": session.id,
        "command": " ".join(session.command)[:200],
        "driver": session.driver.value,
        "rows": 0,
        "cols": 0,
        "keep_children": session.keep_children,
        "shared": servers(),
        "bound": session.bound,
        "cgroup": settings.cgroup != "off",
        "max_memory": session.limits.memory,
        "grace": settings.grace,
        "folder": registry.folder(session.id),
        "socket": home.shim_socket(session.id),
        "run": home.run,
        "state": home.state,
        "log_limit": settings.log_limit,
        "log_segment": settings.log_segment,
    }
