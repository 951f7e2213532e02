"""Captures: what a session's transcript says now, kept for whoever looks later. Nothing of the session is touched.

Read and cleaned of secrets in a thread, then kept in one transaction; the same content is kept once. Knows transcripts and
captures; who may is not asked here.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any

from lamplighter.agents.formats.transcript import Transcript
from lamplighter.domain.capture import Capture, digest_of, within_bounds
from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.domain.text.redaction import redact
from lamplighter.engine.agents_io import transcripts
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.errors import Code, MissingError
from lamplighter.store import captures, events

_LONGEST_ITEM = 2000


class Captures:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry

    async def taken(self, key: str) -> Capture | None:
        """What came of a call that a crash of ours made come again: the transcript may say more by now."""
        return await self.registry.store.get(lambda db: captures.by_key(db, key))

    async def take(self, session: Session, path: str | None, reason: str, caller: Caller, key: str) -> Capture:
        """What the transcript says now; the one that is kept already where it says the same."""
        found = None
        with contextlib.suppress(TimeoutError):
            found = await transcripts.of_session(session, self.registry.clock.now(), path)
        if found is None:
            raise _unreadable(session, path)
        wanted = await asyncio.to_thread(self._prepared, session, found, reason, caller)

        def write(db: sqlite3.Connection) -> Capture:
            known = captures.find(db, session.id, wanted.digest)
            if known is not None:
                return known
            captures.insert(db, wanted, key)
            events.append(db, wanted.at, session.id, caller.name, "captured", capture=wanted.id)
            return wanted

        return await self.registry.write(write)

    async def find(self, word: str) -> Capture:
        """By id, or by the unique beginning of one."""
        found = await self.registry.store.get(lambda db: captures.by_prefix(db, word)) if word.isalnum() else []
        exact = [capture for capture in found if capture.id == word] or found
        if len(exact) == 1:
            return exact[0]
        if exact:
            shown = ", ".join(capture.id for capture in exact[:5])
            raise MissingError(
                Code.AMBIGUOUS, f"{word} begins more than one capture's id: {shown}", "give more of the id"
            )
        raise MissingError(
            Code.NOT_FOUND, f"there is no capture {word[:60]!a}", "list_captures has the ids of those there are"
        )

    async def newest(self, session: str | None, limit: int) -> tuple[list[Capture], int]:
        """The newest first, and how many there are."""
        return await self.registry.store.read(
            lambda db: (captures.newest(db, session, limit), captures.count(db, session))
        )

    def _prepared(self, session: Session, found: Transcript, reason: str, caller: Caller) -> Capture:
        counts = [0, 0]

        def clean(text: str) -> str:
            cleaned = redact(text)
            counts[0] += cleaned.secrets
            counts[1] += cleaned.private
            return cleaned.text

        document = _document(found, clean)
        now = self.registry.clock.now()
        return Capture(
            id=self.registry.ids.new("c", now),
            session=session.id,
            at=now,
            by=caller.name,
            reason=clean(reason).strip(),
            path=found.path,
            digest=digest_of({**document, "path": found.path}),
            document=document,
            redacted=counts[0],
            withheld=counts[1],
        )


def _document(found: Transcript, clean: Callable[[str], str]) -> dict[str, Any]:
    said = [{"role": one.role, "text": one.text, "at": one.at} for one in found.said if one.text]
    kept, left_out = within_bounds(said)
    return {
        "agent": found.agent,
        "conversation": found.conversation,
        "messages": dict(found.messages),
        "at_least": found.at_least,
        "tokens": dict(found.tokens),
        "last_at": found.last_at,
        "last_request": redact(found.last_request or "").text,  # counted where it is among what was said
        "last_answer": redact(found.last_answer or "").text,
        "running": clean((found.running or "")[:_LONGEST_ITEM]),
        "todos": [clean(todo[:_LONGEST_ITEM]) for todo in found.todos],
        "files": [clean(file[:_LONGEST_ITEM]) for file in found.files],
        "said": [{**one, "text": clean(one["text"])} for one in kept],
        "left_out": left_out,
    }


def _unreadable(session: Session, path: str | None) -> MissingError:
    """The same whether there is nothing, or nothing that is a transcript: who asks may not be able to look."""
    hint = "give transcript_path: a transcript of Claude Code, Codex, Gemini CLI or opencode, of this user"
    if path is not None:
        return MissingError(Code.NOT_FOUND, f"there is no transcript of a known form at {path[:200]!a}", hint)
    return MissingError(
        Code.NOT_FOUND, f"no transcript of {session.name} ({session.id}, agent {session.agent}) was found", hint
    )
