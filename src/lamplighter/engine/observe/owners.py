"""Who a session belonged to, and whether that is gone: the session that started it, or a client outside every session.

A client that is started again within ten minutes finds what it started; then it is an orphan. Knows processes by
the sampler's last look; judges nothing.
"""

from __future__ import annotations

from lamplighter import lazy_re as re
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.observe.activity import Activity, ActivityTrack
from lamplighter.engine.observe.process_sampler import ProcessSampler

_PROCESS = re.compile(r"(client|agent:.*):(\d+)@(\d+)")
_RETURN_SECONDS = 600.0


class Owners:
    def __init__(self, registry: SessionRegistry, sampler: ProcessSampler, tracks: Activity) -> None:
        self.registry = registry
        self.sampler = sampler
        self.tracks = tracks

    def gone(self, session: Session) -> str | None:
        """Who is gone that it belonged to."""
        kind, _, name = session.owner.partition(":")
        if session.parent is not None and session.parent not in self.registry.live_sessions:
            return "the session that started it has ended"
        if kind == "session" and name not in self.registry.live_sessions:
            return "the session that started it has ended"
        client = _PROCESS.fullmatch(session.owner)
        if client is None or not self._has_left(client):
            return None
        if session.lease is None and self._left_for(session) < _RETURN_SECONDS:
            return None
        return f"the {client[1].removeprefix('agent:')} that started it (process {client[2]}) is gone"

    def see(self, session: str, track: ActivityTrack, now: float) -> None:
        """Take in one look: a client is gone since the first that did not find it."""
        live = self.registry.live_sessions.get(session)
        client = _PROCESS.fullmatch(live.session.owner) if live is not None else None
        track.left_at = (track.left_at or now) if client is not None and self._has_left(client) else 0.0

    def _has_left(self, client: re.Match[str]) -> bool:
        stat = self.sampler.processes.get(int(client[2]))
        return stat is None or stat.start != int(client[3]) or stat.state in "ZX"

    def _left_for(self, session: Session) -> float:
        track = self.tracks.tracks.get(session.id)
        return self.registry.clock.monotonic() - track.left_at if track is not None and track.left_at else 0.0
