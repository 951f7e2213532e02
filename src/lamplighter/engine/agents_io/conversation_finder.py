"""Which of its agent's conversations a living session is in now: learned from its process, its output and its agent's files.

Told to `conversations`, which keeps it. Two agents at once in one folder are told apart by process, open file, what was asked
first, and when each was started and typed to; where that does not tell, nothing is claimed. Knows no agent's format.
"""

from __future__ import annotations

import asyncio
import logging

from lamplighter.agents.formats.transcript import Format, format_of
from lamplighter.agents.formats.transcript_locator import Candidate, LocatedTranscript, Where, chosen
from lamplighter.agents.formats.transcript_pages import announced
from lamplighter.domain.session import Session
from lamplighter.domain.states import intent_of
from lamplighter.engine.agents_io import transcripts
from lamplighter.engine.agents_io.conversations import Conversations
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.deadline import answered
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.observe.process_sampler import ProcessSampler
from lamplighter.errors import LampError
from lamplighter.holder.log_reader import LogReader
from lamplighter.lazy_dataclass import dataclass

log = logging.getLogger(__name__)
FRESH = 0.5
_SECONDS = 4.0
_TREE_SECONDS = 5.0
_HEAD = 64 << 10
_SLACK = 2.0
_AFTER_TYPING = 120.0
_RIGHT_AFTER = 15.0


@dataclass(frozen=True)
class _Rival:
    """Another living session of the same agent in the same folder. `typed`: when something was last typed to it."""

    started: float
    typed: float
    conversations: frozenset[str]


@dataclass(frozen=True)
class _Question:
    """What is known before the agent's files are looked at. `typed` is None where that cannot be known."""

    form: Format
    where: Where
    rivals: tuple[_Rival, ...]
    typed: float | None
    log: str | None
    told: bool


class ConversationFinder:
    def __init__(
        self, registry: SessionRegistry, backends: Backends, sampler: ProcessSampler, conversations: Conversations
    ) -> None:
        self.registry = registry
        self.backends = backends
        self.sampler = sampler
        self.conversations = conversations
        self._looks: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self._inputs: dict[str, float] = {}

    async def follow(self, session: Session, fresh: float = FRESH) -> Session:
        """The session as it is once its conversation is known as of now, or of `fresh` seconds ago. Those who ask at the same
        time share one look; a disk that does not answer is told in the log, and changes nothing."""
        live = self.registry.live_sessions.get(session.id)
        if live is None or not self._is_followed(live.session):
            return live.session if live else session
        at, task = self._looks.get(session.id, (float("-inf"), None))
        now = self.registry.clock.monotonic()
        if task is None or (task.done() and now - at >= fresh):
            task = asyncio.get_running_loop().create_task(self._look(live.session))
            self._looks = {name: look for name, look in self._looks.items() if name in self.registry.live_sessions}
            self._looks[session.id] = (now, task)
        await asyncio.shield(task)
        return live.session

    def _is_followed(self, session: Session) -> bool:
        """Until it is known, for one that has one conversation as long as it runs."""
        backend = self.backends.of(session)
        if format_of(session.agent) is None or not session.alive or backend.says_itself:
            return False
        return not backend.one_conversation or not session.conversation.get("path")

    async def _look(self, session: Session) -> None:
        try:
            question = await self._question(session)
            if question is None:
                return
            found = await asyncio.to_thread(answered, session.cwd, lambda: _answer(question), _SECONDS)
            if found is not None and not await self._is_anothers(session, found):
                await self.conversations.enter(session.id, found.conversation, path=found.path)
        except (TimeoutError, LampError, OSError, ValueError) as error:
            log.warning("%s: which conversation it is in is not known now: %s", session.id, error)

    async def _is_anothers(self, session: Session, found: LocatedTranscript) -> bool:
        """Whether another session of ours is or was in it, and only folder and time speak for this one."""
        if found.sure or found.conversation in (*session.command, session.conversation.get("id")):
            return False
        form = format_of(session.agent)
        if form is None or form.again & set(session.command):
            return False
        return await self.conversations.session_in(session.agent, found.conversation) not in (None, session.id)

    async def _question(self, session: Session) -> _Question | None:
        form = format_of(session.agent)
        if form is None:
            return None
        measure = (await self.sampler.measures(_TREE_SECONDS)).get(session.id)
        where = transcripts.where(session, self.registry.clock.now(), measure.processes if measure else ())
        others = (live.session for live in self.registry.live_sessions.values())
        rivals = [
            _Rival(
                one.created_at,
                self._typed(one) or 0.0,
                frozenset(str(each.get("id")) for each in one.conversations),
            )
            for one in others
            if one.agent == session.agent and one.id != session.id and one.cwd == session.cwd
        ]
        folder = self.registry.folder(session.id) if self.backends.of(session).one_conversation else None
        return _Question(form, where, tuple(rivals), self._typed(session), folder, bool(session.told.get("by")))

    def _typed(self, session: Session) -> float | None:
        """None where somebody can type without our seeing it: in tmux, or at an agent that we did not start."""
        reading = self.registry.reading(session.id)
        if reading is None or not self.backends.of(session).sees_typing:
            return None
        intent = intent_of(session.state)
        if intent is None or reading.last_input < intent.at:
            self._inputs = {name: at for name, at in self._inputs.items() if name in self.registry.live_sessions}
            self._inputs[session.id] = reading.last_input
        # What was typed since is what asks it to leave.
        return self._inputs.get(session.id, reading.last_input)


# -- in a thread


def _answer(question: _Question) -> LocatedTranscript | None:
    form, where = question.form, question.where
    named = form.named(where)
    if named is not None and named.sure:
        return named
    if question.log is not None:
        said = announced(form.agent, _first_lines(question.log))
        if said is not None:
            seen = LocatedTranscript(said, None)
            found = next((one for one in form.candidates(where) if one.conversation == said), None)
            return LocatedTranscript(said, found.path) if found else seen
        if named is not None:
            return named
    claimed = {name for rival in question.rivals for name in rival.conversations}
    open_to_us = [one for one in form.candidates(where) if one.conversation not in claimed]
    if named is None and where.conversation is None:
        return _first(question, open_to_us)
    current = named.conversation if named else where.conversation
    return _turned_to(question, open_to_us, current or "") or named


def _first_lines(folder: str) -> list[bytes]:
    with LogReader(folder) as reader:
        page = reader.read(0, _HEAD)
    return b"".join(chunk.data for chunk in page.chunks).split(b"\n")[:-1]


def _first(question: _Question, candidates: list[Candidate]) -> LocatedTranscript | None:
    """The conversation that it began, or was told to go on with."""
    where = question.where
    again = bool(question.form.again & set(where.command))
    own = [one for one in candidates if again or (one.begun >= where.started_at - _SLACK and _is_ours(one, question))]
    found = chosen(own, where)
    return LocatedTranscript(found.conversation, found.path) if found else None


def _is_ours(candidate: Candidate, question: _Question) -> bool:
    """Not where nothing was ever said to one that begins none before; nor where another that has none yet, and that was started
    between us and it, is as likely the one."""
    where = question.where
    if candidate.asked and candidate.asked in where.command:
        return True
    if question.form.lazy and question.typed == 0.0 and question.log is None and not question.told:
        return False
    if candidate.begun < where.started_at:
        return not any(rival.started <= candidate.begun for rival in question.rivals)
    return not any(
        not rival.conversations and where.started_at < rival.started <= candidate.begun for rival in question.rivals
    )


def _turned_to(question: _Question, candidates: list[Candidate], current: str) -> LocatedTranscript | None:
    """Another conversation that was begun since, right after something was typed to this session and to no other, and after
    which nothing was said in the one before."""
    before = next((one for one in candidates if one.conversation == current), None)
    since = before.begun if before else question.where.started_at
    quiet = before.changed if before else since
    later = [one for one in candidates if one.conversation != current and one.begun > since]
    fitting = [one for one in later if quiet <= one.begun + _SLACK and _was_typed(question, one.begun)]
    newest = max(fitting, key=lambda one: one.begun, default=None)
    return LocatedTranscript(newest.conversation, newest.path) if newest else None


def _was_typed(question: _Question, begun: float) -> bool:
    """To this session before it began; where others were typed to as well, right before, and to none of them since."""
    typed = question.typed
    if typed is None:
        return not question.rivals
    near = [rival for rival in question.rivals if rival.typed >= begun - _AFTER_TYPING]
    if not near:
        return typed >= begun - _AFTER_TYPING
    return begun - _RIGHT_AFTER <= typed <= begun + 1.0 and not any(rival.typed > typed for rival in near)
