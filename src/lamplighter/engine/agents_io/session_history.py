"""What was said in a session, from its log: what was typed, by size alone, and what was printed in between; or, in the same
shape, from its agent's transcript, which somebody else has read.

Knows the log's frames.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple, cast

from lamplighter.agents.formats.transcript_pages import TOOL, TranscriptMessage
from lamplighter.domain.session import Session
from lamplighter.domain.states import HasEnded
from lamplighter.domain.text.output_tail import plain
from lamplighter.domain.text.plural import counted
from lamplighter.engine.backends import Backends
from lamplighter.engine.backends.acp.transcript import whole
from lamplighter.engine.core.planned_command import PromptDelivery
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.holder.log_reader import LogReader
from lamplighter.holder.segments import GAP, INPUT, OUTPUT, STDERR, gap_said, segments

Role = Literal["user", "assistant", "tool", "system"]
_LONGEST = 8 << 10  # of one message: what is longer goes on in the next
_PAUSE = 30.0


class HistoryMessage(NamedTuple):
    role: Role
    text: str
    at: float
    size: int


class HistoryPage(NamedTuple):
    """`older`: messages before these; `lost`: bytes that are gone from the log; `kept`: whether there is a log at all."""

    messages: list[HistoryMessage]
    older: int
    lost: int
    kept: bool


class SessionHistory:
    def __init__(self, registry: SessionRegistry, backends: Backends) -> None:
        self.registry = registry
        self.backends = backends

    async def read(
        self, session: Session, limit: int, offset: int, room: int, *, errors: bool, tail: int | None = None
    ) -> HistoryPage:
        """The newest messages but for `offset` of them, oldest first, at most so many and so many bytes."""
        reading = self.registry.reading(session.id)
        since = max(0, reading.offset - tail) if reading and tail else 0
        folder = self.registry.folder(session.id)
        own = self.backends.of(session).transcript(session) is not None
        return await asyncio.to_thread(_read, folder, session, since, limit, offset, room, errors, own)


def _read(
    folder: str, session: Session, since: int, limit: int, offset: int, room: int, errors: bool, own: bool
) -> HistoryPage:
    """`own`: the conversation is written down by us."""
    told = _told(session) if not since else []
    newest: deque[HistoryMessage] = deque(told, maxlen=limit + offset)
    lost, count = 0, len(told)
    for one in _spoken(folder) if own else _messages(folder, since):
        if isinstance(one, int):
            lost += one
        elif errors or one.role != "tool":
            newest.append(one)
            count += 1
    return _packed(session, newest, count, limit, offset, room)._replace(lost=lost, kept=bool(segments(folder)))


def spoken(
    session: Session, messages: list[TranscriptMessage], limit: int, offset: int, room: int, *, tools: bool
) -> HistoryPage:
    """As from the log, of the last messages of an agent's transcript."""
    said = [
        HistoryMessage(cast("Role", one.role), one.text, one.at or 0.0, len(one.text.encode(errors="replace")))
        for one in messages
        if tools or one.role != TOOL
    ]
    return _packed(session, deque(said, maxlen=limit + offset + 1), len(said), limit, offset, room)


def _packed(
    session: Session, newest: deque[HistoryMessage], count: int, limit: int, offset: int, room: int
) -> HistoryPage:
    end = _ending(session)
    if end is not None:
        newest.append(end)
        count += 1
    wanted = list(newest)[: len(newest) - offset] if offset else list(newest)
    taken: list[HistoryMessage] = []
    for one in reversed(wanted[-limit:]):
        room -= len(json.dumps(one.text)) + 100
        if room < 0 and taken:
            break
        taken.append(one)
    older = max(0, count - min(offset, count) - len(taken))
    return HistoryPage(taken[::-1], older, 0, True)


def _messages(folder: str, since: int) -> Iterator[HistoryMessage | int]:
    """In the order of the log; a number is that many bytes that are lost."""
    held, began, last = bytearray(), 0.0, 0.0
    role: Role = "assistant"
    with LogReader(folder) as reader:
        for frame in reader.frames(since):
            if frame.kind == OUTPUT:
                now: Role = "tool" if frame.stream == STDERR else "assistant"
                if held and (now != role or frame.time - last >= _PAUSE):
                    yield _printed(role, held, began)
                    held = bytearray()
                if not held:
                    role, began = now, frame.time
                held += frame.payload
                last = frame.time
                while len(held) >= _LONGEST:
                    cut = _cut(held)
                    yield _printed(role, held[:cut], began)
                    del held[:cut]
                    began = frame.time
            elif frame.kind in (INPUT, GAP):
                if held:
                    yield _printed(role, held, began)
                    held = bytearray()
                yield _typed(frame.payload, frame.time) if frame.kind == INPUT else gap_said(frame.payload)[0]
    if held:
        yield _printed(role, held, began)


def _spoken(folder: str) -> Iterator[HistoryMessage | int]:
    """Of one that speaks ACP: what was said, as it was."""
    roles: dict[str, Role] = {"user": "user", "agent": "assistant"}
    for entry in whole(folder):
        if entry["kind"] == "lost":
            yield int(entry["bytes"])
        elif entry["kind"] == "whole" and entry["of"] in roles:
            yield HistoryMessage(roles[entry["of"]], entry["text"], entry["at"], len(entry["text"]))


def _cut(held: bytearray) -> int:
    """Where a long message ends: after a line, else between two characters."""
    cut = held.rfind(b"\n", 0, _LONGEST) + 1
    if cut:
        return cut
    return next((at for at in range(_LONGEST - 1, _LONGEST - 4, -1) if held[at] & 0xC0 != 0x80), _LONGEST)


def _printed(role: Role, data: bytes | bytearray, at: float) -> HistoryMessage:
    return HistoryMessage(role, plain(bytes(data)), at, len(data))


def _typed(payload: bytes, at: float) -> HistoryMessage:
    note = json.loads(payload)
    size, by = int(note.get("size") or 0), str(note.get("by") or "somebody")
    return HistoryMessage("user", f"[{counted(size, 'byte')}, typed by {by}; what is typed is not kept]", at, size)


def _told(session: Session) -> list[HistoryMessage]:
    """What it had on its standard input from the first is in no log."""
    told = session.told
    if told.get("by") != PromptDelivery.INPUT:
        return []
    size = int(told.get("size", 0))
    return [
        HistoryMessage(
            "user",
            f"[{counted(size, 'byte')}, told by {session.owner} at its start; not kept]",
            session.created_at,
            size,
        )
    ]


def _ending(session: Session) -> HistoryMessage | None:
    if not isinstance(session.state, HasEnded):
        return None
    ending = session.state.ending
    exit = f"; {ending.exit.words}" if ending.exit else ""
    why = f": {ending.reason}" if ending.reason else ""
    return HistoryMessage("system", f"[it has ended: {ending.how.value} by {ending.by}{why}{exit}]", ending.at, 0)
