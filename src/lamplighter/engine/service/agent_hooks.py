"""What a session's agent tells through its hooks, and what it is given back: the packet to start from.

A hook may come twice, late, for another conversation, from an agent that this one has started, or never. So nothing here decides
a session's state, and whatever is told twice is so once. Knows sessions and what hooks say; knows no agent's names for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import field, replace

from lamplighter.agents import GENERIC, recognise
from lamplighter.agents.formats.hooks import CLEAR, COMPACTED, RESUME, HookEvent, Hooks
from lamplighter.domain.capture import told as recounted
from lamplighter.domain.facts import AgentLeft
from lamplighter.domain.memory.packet import BUDGET
from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.domain.states import Running
from lamplighter.domain.text.quoting import shortened
from lamplighter.engine.agents_io.captures import Captures
from lamplighter.engine.agents_io.conversations import Conversations
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.memory.packet_builder import PacketBuilder
from lamplighter.errors import Code, LampError
from lamplighter.holder import proc
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import packets

_SAME_SECONDS = 30.0  # two hooks for one event, of the settings and of a plugin, come together
_FORK = "fork"
_CAPTURED = 3_200
_MARGIN = 200
_WORDS = 8192


@dataclass(frozen=True)
class Hook:
    """One hook that came: whose, what it said, and who said it; the caller's process is the hook's."""

    session: str
    hooks: Hooks
    told: HookEvent
    caller: Caller


@dataclass
class _Memory:
    """Of one session: when the newest process began that told of a start, and its pid: of two that began within the
    same tick of the clock the higher is the newer; the conversation that was last given something, why
    it had started, and when that was."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    began: tuple[int, int] = (0, 0)
    given: tuple[str | None, str, float] | None = None


class AgentHooks:
    def __init__(
        self, registry: SessionRegistry, conversations: Conversations, captures: Captures, packet_builder: PacketBuilder
    ) -> None:
        self.registry = registry
        self.conversations = conversations
        self.captures = captures
        self.packet_builder = packet_builder
        self._memories: dict[str, _Memory] = {}

    async def start(self, hook: Hook) -> str:
        """The session is in this conversation from now on. What the agent should know, as text; nothing when it knows it."""
        live = self._own(hook)
        if live is None:
            return ""
        memory = self._memory(hook.session)
        async with memory.lock:
            started = proc.start_of(hook.caller.pid) if hook.caller.pid else None
            began = (started, hook.caller.pid) if started else memory.began
            if began < memory.began:
                return ""  # a newer one has been heard
            memory.began = began
            known = live.session.conversation.get("id")
            first = known in (None, hook.told.conversation)
            await self._recognise(hook, live)
            if hook.told.conversation and live.session.agent == hook.hooks.agent:
                await self.conversations.enter(
                    hook.session, hook.told.conversation, path=hook.told.transcript, by=hook.caller, why="hook"
                )
            if await self._has(hook, first, memory):
                return ""
            text = await self._context(hook)
            memory.given = (hook.told.conversation, hook.told.source, self.registry.clock.monotonic())
            return text

    def turn_over(self, hook: Hook) -> None:
        """The agent has answered and waits for its user: who waits for that looks at once."""
        live = self._own(hook)
        if live is not None and self._is_current(live.session, hook.told):
            live.notify()

    async def compact(self, hook: Hook, key: str) -> None:
        """Keep what the conversation says, before it is made shorter."""
        live = self._own(hook)
        if live is None or not self._is_current(live.session, hook.told) or _is_early(hook):
            return
        self._memory(hook.session).given = None
        await self._capture(hook, live.session, f"before compaction ({hook.told.trigger or 'unknown'})", key)

    async def end(self, hook: Hook, key: str) -> None:
        """The agent says that it goes. It is noted and no more: whether it is gone, its processes tell."""
        live = self._own(hook)
        if live is None or not self._is_current(live.session, hook.told):
            return
        if hook.told.reason == CLEAR:
            await self._capture(hook, live.session, "before its conversation was cleared", key)
            return
        said: AgentLeft = {"conversation": hook.told.conversation, "reason": hook.told.reason[:200]}

        def become(before: Session) -> Session | None:
            known: AgentLeft = before.facts.agent_left or {}
            if {name: known.get(name) for name in said} == said:
                return None
            left: AgentLeft = {**said, "at": self.registry.clock.now()}
            return replace(before, facts=replace(before.facts, agent_left=left))

        await self.registry.change(
            hook.session,
            hook.caller,
            "agent_left",
            become,
            conversation=said["conversation"],
            reason=said["reason"],
        )

    async def _recognise(self, hook: Hook, live: LiveSession) -> None:
        """What was started as a shell that became the agent is listed as the agent."""
        main = live.session.main
        program = recognise(proc.words_of(main.pid, _WORDS)) if main and live.session.agent == GENERIC else None
        if program is None or program.name != hook.hooks.agent:
            return

        def become(before: Session) -> Session | None:
            return replace(before, agent=hook.hooks.agent) if before.agent == GENERIC else None

        await self.registry.change(hook.session, hook.caller, "recognised", become, agent=hook.hooks.agent)

    def _memory(self, session: str) -> _Memory:
        for gone in self._memories.keys() - self.registry.live_sessions.keys():
            del self._memories[gone]
        return self._memories.setdefault(session, _Memory())

    # -- whose word it is

    def _own(self, hook: Hook) -> LiveSession | None:
        """The living session, unless the hook is of another agent that runs in it."""
        live = self.registry.live_sessions.get(hook.session)
        if live is None or not isinstance(live.session.state, Running) or _is_nested(live.session, hook.caller.pid):
            return None
        return live

    def _is_current(self, session: Session, told: HookEvent) -> bool:
        """Of the conversation that the session is in now; what is late is of an older one."""
        known = session.conversation.get("id")
        return known is None or told.conversation is None or known == told.conversation

    # -- what it is given

    async def _has(self, hook: Hook, first: bool, memory: _Memory) -> bool:
        """Whether the agent has what there is to give: its conversation remembers it, or it was given it."""
        if hook.told.source in (RESUME, _FORK):
            return True
        given = memory.given
        if given is not None and given[:2] == (hook.told.conversation, hook.told.source):
            lasting = hook.told.source != COMPACTED
            if lasting or self.registry.clock.monotonic() - given[2] < _SAME_SECONDS:
                return True
        if hook.told.source in (CLEAR, COMPACTED) or not first:
            return False
        return await self.registry.store.get(lambda db: packets.was_delivered(db, hook.session))

    async def _context(self, hook: Hook) -> str:
        """The packet, with what was captured when the conversation has just lost it; all within what the agent takes."""
        captured = await self._captured(hook) if hook.told.source in (CLEAR, COMPACTED) else ""
        budget = min(BUDGET, hook.hooks.limit - _MARGIN - len(captured))
        try:
            packed, _ = await self.packet_builder.deliver(
                hook.caller, session=None, project=None, folder=hook.told.cwd, budget=budget, query=None
            )
        except LampError as error:
            return _instead(error) + captured
        if packed.before is None and not packed.first.included:
            return captured  # nothing was ever left here: a greeting would only cost the model's time
        return packed.text + captured

    async def _captured(self, hook: Hook) -> str:
        found, _ = await self.captures.newest(hook.session, 1)
        if not found:
            return ""
        text = recounted(found[0], "structured", lambda _: None)
        return "\n" + (text if len(text) <= _CAPTURED else shortened(text, _CAPTURED - 1))

    async def _capture(self, hook: Hook, session: Session, reason: str, key: str) -> None:
        if await self.captures.taken(key) is None:
            with contextlib.suppress(LampError):  # without a transcript there is nothing to keep
                await self.captures.take(session, hook.told.transcript, reason, hook.caller, key)


def _instead(error: LampError) -> str:
    """What the agent is told when there is a packet that cannot be given here."""
    if error.code is not Code.BUDGET_TOO_SMALL:
        return ""
    needed = error.details.get("needed", 0)
    return (
        f"Lamplighter keeps a hand-off for this project that needs {needed} characters, more than fits here. "
        f"Read it before you begin: the tool load_handoff with a budget of {needed}, or lamp handoff --budget {needed}.\n"
    )


def _is_early(hook: Hook) -> bool:
    """Said as always before a turn, with nothing to be compacted yet."""
    if hook.told.trigger == "manual" or not hook.hooks.compacts_from or hook.told.transcript is None:
        return False
    try:
        return os.stat(hook.told.transcript).st_size < hook.hooks.compacts_from
    except OSError:
        return True


def _is_nested(session: Session, pid: int) -> bool:
    """Whether between the hook and the session's first process there are two agents: then it is the inner one's word. An agent
    may be several processes, one below the other, with nothing else between."""
    agents, inside = 0, False
    for stat in proc.ancestors(pid) if pid else ():
        if session.shim and stat.key == (session.shim.pid, session.shim.start):
            break
        before, inside = inside, recognise(proc.words_of(stat.pid, _WORDS)) is not None
        agents += inside and not before
        if session.main and stat.key == (session.main.pid, session.main.start):
            break
    return agents > 1
