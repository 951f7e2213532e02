"""Handing off: what a session leaves to the next, stored without ending anything. The same fields come with an end."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.domain.memory.handoff import Draft, Policy
from lamplighter.domain.memory.record import LONGEST, Source
from lamplighter.domain.permission import Act, Rank, check_reading
from lamplighter.domain.session import Session
from lamplighter.domain.text.redaction import redact_document
from lamplighter.engine.memory.handoff_writer import Prepared
from lamplighter.errors import Code, InputError
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, operation
from lamplighter.operations.permission import admitted, nameable, permitted
from lamplighter.operations.views.common import HandoffView

_MOST = 100


class HandoffFields(Request):
    """What a session leaves to the next."""

    checkpoint: str | None = Field(
        default=None,
        max_length=LONGEST,
        description="where the work stands: the most important thing for the next session",
    )
    decisions: list[str] = Field(
        default_factory=list, max_length=_MOST, description="decision, and the reason for it; repeatable"
    )
    open_loops: list[str] = Field(
        default_factory=list, max_length=_MOST, description="question or task that is not done; repeatable"
    )
    preferences: list[str] = Field(
        default_factory=list, max_length=_MOST, description="preference of the user; repeatable"
    )
    constraints: list[str] = Field(
        default_factory=list, max_length=_MOST, description="boundary that must not be crossed; repeatable"
    )
    warnings: list[str] = Field(
        default_factory=list, max_length=_MOST, description="what the next session should watch out for; repeatable"
    )
    relational_delta: str | None = Field(
        default=None, max_length=LONGEST, description="what changed in working together: trust, tension, tone"
    )
    next_session_focus: str | None = Field(
        default=None, max_length=LONGEST, description="where the next session should resume"
    )
    resolved_loops: list[str] = Field(
        default_factory=list, max_length=_MOST, description="id of an open loop that is done; repeatable"
    )
    dropped_loops: list[str] = Field(
        default_factory=list, max_length=_MOST, description="id of an open loop that nobody will pursue; repeatable"
    )
    project: str | None = Field(
        default=None, max_length=1000, description="project of the hand-off (default: the session's)"
    )
    transcript_path: str | None = Field(
        default=None, max_length=4096, description="file in which the agent keeps the conversation"
    )
    epitaph: str | None = Field(default=None, max_length=1200, description="last words, stored with the session")
    succession_policy: Policy | None = Field(
        default=None,
        description="whether a successor is forbidden, allowed (the default) or required",
    )

    def to_show(self) -> dict[str, Any]:
        """Without what may not be stored, as everything that is handed over."""
        shown = super().to_show()
        return redact_document(shown) if self.draft("") else shown

    def draft(self, reason: str) -> Draft:
        for name in ("decisions", "open_loops", "preferences", "constraints", "warnings"):
            if any(len(text) > LONGEST for text in getattr(self, name)):
                raise InputError(
                    Code.BAD_INPUT,
                    f"one of {name} is longer than {LONGEST:,} characters",
                    "shorten it; long texts belong into files, which a record can name",
                )
        return Draft(
            checkpoint=_worded(self.checkpoint),
            decisions=_all_worded(self.decisions),
            open_loops=_all_worded(self.open_loops),
            preferences=_all_worded(self.preferences),
            constraints=_all_worded(self.constraints),
            warnings=_all_worded(self.warnings),
            relational_delta=_worded(self.relational_delta),
            next_session_focus=_worded(self.next_session_focus),
            project=self.project,
            transcript_path=_worded(self.transcript_path),
            reason=reason,
            epitaph=_worded(self.epitaph),
            policy=self.succession_policy,
            resolved_loops=tuple(self.resolved_loops),
            dropped_loops=tuple(self.dropped_loops),
        )


def _worded(text: str | None) -> str | None:
    return (text or "").strip() or None


def _all_worded(texts: list[str]) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts if text.strip())


class HandOff(HandoffFields):
    session: str | None = Field(
        default=None, description="whose hand-off: id, unique prefix of an id, or name (default: the caller's session)"
    )
    reason: str = Field(default="", max_length=2000, description="reason")


async def prepared(
    call: Call, request: HandoffFields, session: Session, reason: str, *, ending: bool, source: Source | None = None
) -> Prepared | None:
    """The hand-off of a request, ready to be written; None when it hands over nothing. `source`: when it is another than how it
    comes would say."""
    draft = request.draft(reason)
    if not draft:
        return None
    if draft.items() or draft.resolved_loops or draft.dropped_loops:
        await admitted(call.app, call.caller, Act.HAND_OFF)  # to end is another scope of a token than to keep records
    if draft.transcript_path is not None:
        check_reading(call.caller)
        await nameable(call, "a transcript to be read")
    if source is None and ending:
        source = Source.END_SESSION
    elif source is None:
        source = Source.OPERATOR if call.caller.rank is Rank.OPERATOR else Source.AGENT
    project = await call.app.projects.of_session(session)
    if draft.project:
        project = await call.app.projects.resolve(draft.project, session.cwd, new=True)
    return await call.app.handoff_writer.prepare(draft, session, project, call.caller, source, ending=ending)


@operation(command=None, group="memory", positional=("session",), changes=True, act=Act.HAND_OFF)
async def hand_off(call: Call, request: HandOff) -> HandoffView:
    """Store what a session leaves to the next, and end nothing.

    Every text becomes a record that can be found, and is in the packet that a successor starts from. The same content again
    stores nothing and returns the first result; other content is a newer hand-off. Secrets of well-known forms are taken
    out, and what stands in <private>…</private> is never stored. To end the session too: end.
    """
    word = call.caller.session if request.session is None else request.session
    if word is None:
        raise InputError(
            Code.BAD_INPUT, "whose hand-off this is was not said, and the caller is in no session", "name the session"
        )
    session = await permitted(call, Act.HAND_OFF, word)
    found = await prepared(call, request, session, request.reason, ending=False)
    if found is None:
        raise InputError(
            Code.BAD_INPUT,
            "there is nothing to hand off",
            "give at least a checkpoint: where the work stands, in a sentence or two",
        )
    stored = await call.app.handoff_writer.store(found)
    if session.lease is not None:
        await call.app.logical_sessions.speak(session, call.caller, "renewed")
    return HandoffView.of(stored)
