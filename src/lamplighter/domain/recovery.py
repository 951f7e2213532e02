"""A recovery token: who has its secret may go on from one session that has ended, once, within a day. Knows no store."""

from __future__ import annotations

from lamplighter.lazy_dataclass import dataclass

LIFETIME = 86400.0


@dataclass(frozen=True)
class Recovery:
    """`digest` is the SHA-256 of the secret, which is nowhere here. It is bound to a session and to the agent whose it was."""

    digest: str
    session: str
    agent: str
    made_at: float
    expires_at: float
    used_at: float | None = None
    used_by: str | None = None

    def problem(self, agent: str, now: float) -> str | None:
        """Why it opens nothing for this agent now."""
        if self.agent != agent:
            return "is none of this agent's"
        if self.used_at is not None:
            return "was used already, and each is good for one use"
        return "has expired" if now >= self.expires_at else None
