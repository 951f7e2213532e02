"""What sessions are called, for whoever completes a word: no verdicts and no measures, so a thousand cost next to nothing."""

from __future__ import annotations

from pydantic import Field

from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.store import sessions


class ListNames(Request):
    ended: int = Field(default=0, ge=0, le=10_000, description="also this many of those that have ended, the newest")


class Names(Result):
    names: list[tuple[str, str, str, str, str, str]] = Field(
        description="id, name, state, kind, project and owner of each; the living first, the newest first"
    )


@operation(command=None, group="sessions")
async def list_names(call: Call, request: ListNames) -> Names:
    """What the sessions are called, as completion wants it. With verdicts: list_sessions."""
    living = (live.session for live in call.app.registry.live_sessions.values())
    found = [(s.id, s.name, s.state.word, s.kind.value, s.project or "", s.owner) for s in living]
    found.sort(reverse=True)
    if request.ended:
        found += await call.app.registry.store.read(lambda db: sessions.ended_names(db, request.ended))
    return Names.model_construct(names=found)
