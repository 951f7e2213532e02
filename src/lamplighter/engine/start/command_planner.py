"""From what was asked for to what is executed: which agent, which of its conversations, with what words.

Knows agents' manners, and the sessions that were in a conversation before; starts nothing and changes nothing.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import replace

from lamplighter.agents import GENERIC, agent_named, names_with, recognise
from lamplighter.agents.formats.commands import manner_of, plain
from lamplighter.domain.agent_command import CONVERSATION, LAST, AgentCommand, Mode
from lamplighter.domain.permission import Act, Caller, check
from lamplighter.domain.session import Session
from lamplighter.engine.agents_io import transcripts
from lamplighter.engine.agents_io.conversations import is_id, occupied
from lamplighter.engine.core.planned_command import PlannedCommand
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.memory.succession import Succession
from lamplighter.engine.start.checks import check_command, find_program
from lamplighter.errors import Code, Hint, InputError, MissingError, Option, Use
from lamplighter.lazy_dataclass import dataclass
from lamplighter.store import aliases


@dataclass(frozen=True)
class StartWish:
    """`words` are what was given as the command: all of it without an agent, else what is added to the agent's own. `handed`:
    it goes on from another session, and gets what that one handed over."""

    agent: str | None
    words: tuple[str, ...]
    environment: dict[str, str]
    headless: bool = False
    prompt: str | None = None
    resume: str | None = None
    model: str | None = None
    handed: bool = False


class CommandPlanner:
    def __init__(self, registry: SessionRegistry, succession: Succession) -> None:
        self.registry = registry
        self.succession = succession

    async def order(self, wish: StartWish, cwd: str, caller: Caller) -> PlannedCommand:
        """What to execute; or why that cannot be, with nothing changed."""
        manner, more = self._manner(wish)
        _check_stays(wish, manner, more)
        order = _as_it_is(wish) if manner.agent == GENERIC else await self._of_agent(wish, manner, more, cwd, caller)
        check_command(order.head, wish.environment)
        if wish.prompt:
            check_command((wish.prompt,), {})
        _check_installed(manner, cwd, wish.environment)
        return order

    async def _of_agent(
        self, wish: StartWish, manner: AgentCommand, more: tuple[str, ...], cwd: str, caller: Caller
    ) -> PlannedCommand:
        way = manner.way(headless=wish.headless)
        _check_options(manner, way, more)
        _check_prompt(manner, way, wish, more)
        words, conversation = await self._begun(manner, way, wish.resume, cwd, caller)
        return PlannedCommand(
            head=manner.words(words, more, wish.model, headless=wish.headless),
            agent=manner.agent,
            ending=way.prompt,
            prompt=wish.prompt,
            conversation=conversation,
            headless=wish.headless,
            takes_packet=True,
            closed=wish.headless,
            untested=manner.untested,
            environment=manner.environment,
        )

    def _manner(self, wish: StartWish) -> tuple[AgentCommand, tuple[str, ...]]:
        """How it is started, and the words that are the caller's own."""
        program = recognise(wish.words)
        length = program.length(wish.words) if program else 0
        agent = wish.agent
        if agent is None and program and self._starts(program.name):
            alone = length == len(wish.words)
            agent = program.name if wish.prompt or wish.resume or wish.model or (wish.handed and alone) else None
        if agent is None or agent == GENERIC:
            return self._plain(wish), ()
        manner = manner_of(agent, self.registry.settings.agents)
        if program is None or program.name != agent:
            return manner, wish.words
        return replace(manner, program=wish.words[:length]), wish.words[length:]

    def _starts(self, agent: str) -> bool:
        return agent in self.registry.settings.agents or agent_named(agent).start is not None

    def _plain(self, wish: StartWish) -> AgentCommand:
        asked = "resume" if wish.resume else "model" if wish.model else None
        if asked is not None:
            raise InputError(
                Code.BAD_INPUT,
                f"what {asked} is for a command that is no agent's, nobody knows",
                Hint(
                    "name the agent: ",
                    Option("agent", names_with("start")[0]),
                    "; or give the agent's own options in the command",
                ),
            )
        return plain(wish.words)

    # -- which conversation

    async def _begun(
        self, manner: AgentCommand, way: Mode, resume: str | None, cwd: str, caller: Caller
    ) -> tuple[tuple[str, ...], str | None]:
        """The words of the way, and what the agent will call the conversation where that is known."""
        if resume is None:
            conversation = str(uuid.uuid4()) if any(CONVERSATION in word for word in way.new) else None
            return _named(way.new, conversation or ""), conversation
        found = await self._conversation(manner, resume, cwd, caller)
        words = way.last if found is None else way.resume
        if words is None:
            what = "with its last conversation" if found is None else "with a conversation by its id"
            raise InputError(
                Code.BAD_INPUT, f"{manner.agent} cannot go on {what}", Hint("leave ", Option("resume"), " out")
            )
        # What an agent said of itself, or wrote into its transcript, becomes a word among another's options.
        return _named(words, _checked_id(found, manner) if found else ""), found

    async def _conversation(self, manner: AgentCommand, word: str, cwd: str, caller: Caller) -> str | None:
        """What the agent calls it; None for the last, when no session of ours was in one here."""
        if word == LAST:
            places = tuple(dict.fromkeys((cwd, os.path.realpath(cwd))))
            last = await self.registry.store.get(lambda db: aliases.last_in(db, manner.agent, places))
            if last is None:
                return None
            session, found = await self.registry.by_id(last[0]), last[1]
        else:
            known = await self.registry.store.get(lambda db: aliases.find(db, manner.agent, word))
            session = await self.registry.by_id(known) if known else await self._session(word)
            if session is None:
                return _checked_id(word, manner)
            self._check_agent(session, manner)
            found = word if known else await self._of_session(session)
        self.succession.check_caller(caller, session, force=False)
        if self.registry.settings.reads_own:  # the agent shows what was said in it, and knows it
            check(caller, Act.READ_OUTPUT, session, session.line)
        _check_free(session, found, manner, cwd)
        return found

    async def _session(self, word: str) -> Session | None:
        try:
            return await self.registry.find(word)
        except MissingError as error:
            if error.code is Code.AMBIGUOUS:
                raise
            return None

    def _check_agent(self, session: Session, manner: AgentCommand) -> None:
        if session.agent != manner.agent:
            raise InputError(
                Code.BAD_INPUT,
                f"{session.name} ({session.id}) ran {session.agent}, and {manner.agent} cannot go on with that conversation",
                Hint(
                    Option("agent", session.agent),
                    " can; or ",
                    Use("start", agent=manner.agent, from_session=session.id),
                ),
            )

    async def _of_session(self, session: Session) -> str:
        """What its agent said that it is; else what its transcript says."""
        found = session.conversation.get("id")
        if found is None:
            try:
                read = await transcripts.of_session(session, session.ended_at or self.registry.clock.now())
            except TimeoutError:
                read = None
            found = read.conversation if read else None
        if found is None:
            raise MissingError(
                Code.NOT_FOUND,
                f"no conversation of {session.name} ({session.id}) is known",
                Hint(
                    "give ",
                    Option("resume"),
                    f" the id that {session.agent} itself shows; or ",
                    Option("from_session", session.id),
                    " for what it handed over",
                ),
            )
        return found


def _as_it_is(wish: StartWish) -> PlannedCommand:
    """A command that is no agent's: what it is told is typed, or is all that it ever reads."""
    closed = wish.headless and wish.prompt is not None
    return PlannedCommand(head=wish.words, prompt=wish.prompt, headless=wish.headless, closed=closed)


def _named(words: tuple[str, ...], conversation: str) -> tuple[str, ...]:
    return tuple(word.replace(CONVERSATION, conversation) for word in words)


def _check_free(session: Session, conversation: str, manner: AgentCommand, cwd: str) -> None:
    if session.alive and session.conversation.get("id") in (None, conversation):
        raise occupied(session.id, session.name)
    if manner.by_folder and os.path.realpath(session.cwd) != os.path.realpath(cwd):
        raise InputError(
            Code.BAD_INPUT,
            f"{manner.agent} goes on with a conversation only in its folder, and {session.name} ran in {session.cwd}",
            Hint("add ", Option("cwd", session.cwd)),
        )


def _checked_id(word: str, manner: AgentCommand) -> str:
    if not is_id(word):
        raise InputError(
            Code.BAD_INPUT,
            f"{word[:60]!a} is no conversation of {manner.agent}, nor a session",
            "give an id of the agent's own, a session's id or name, or last",
        )
    return word


def _check_stays(wish: StartWish, manner: AgentCommand, more: tuple[str, ...]) -> None:
    """One that gives its work to its agent's daemon is gone at once, and what it was to do runs where no session of ours is."""
    if manner.agent == GENERIC:
        program = recognise(wish.words)
        if program is None or not agent_named(program.name).start:
            return
        manner, more = manner_of(program.name, {}), wish.words[program.length(wish.words) :]
    options = more[: more.index("--")] if "--" in more else more
    wrong = next((word for word in options if word in manner.hands_over), None)
    if wrong is not None:
        raise InputError(
            Code.BAD_INPUT,
            f"{manner.agent} {wrong} gives its work to {manner.agent}'s own daemon, where Lamplighter can neither see nor end it",
            Hint(
                f"leave {wrong} out: what ",
                Use("start"),
                " starts is in the background, and ",
                Use("attach"),
                " shows it",
            ),
        )


def _check_options(manner: AgentCommand, way: Mode, more: tuple[str, ...]) -> None:
    """Words of the caller's own that say which conversation it is would contradict ours."""
    sets = [set(words or ()) for words in (way.new, way.resume, way.last)]
    deciding = set[str]().union(*sets) - set[str].intersection(*sets)
    options = {word.partition("=")[0] for word in deciding if word.startswith("--")}
    wrong = next((word for word in more if word.partition("=")[0] in options), None)
    if wrong is not None:
        raise InputError(
            Code.BAD_INPUT,
            f"{wrong.partition('=')[0]} behind -- would contradict what Lamplighter gives {manner.agent}",
            Hint(
                "give ",
                Option("resume", "ID"),
                " or ",
                Option("resume", "last"),
                " beside the command; without it the conversation is a new one",
            ),
        )


def _check_prompt(manner: AgentCommand, way: Mode, wish: StartWish, more: tuple[str, ...]) -> None:
    if way.deaf_resumed and wish.resume is not None and (wish.prompt is not None or wish.handed):
        raise InputError(
            Code.BAD_INPUT,
            f"{manner.agent} on a terminal overlooks a first prompt when it goes on with a conversation",
            Hint("start it without a prompt and ", Use("send"), " it what to do; or add ", Option("headless", True)),
        )
    if not way.needs_prompt or not wish.headless or wish.prompt is not None or wish.handed or more:
        return
    raise InputError(
        Code.BAD_INPUT,
        f"a headless {manner.agent} does one task and leaves, and was given none",
        Hint("add ", Option("prompt"), "; or leave ", Option("headless"), " out, and it waits for you on a terminal"),
    )


def _check_installed(manner: AgentCommand, cwd: str, environment: dict[str, str]) -> None:
    if manner.agent == GENERIC:
        return
    try:
        find_program(manner.program[0], cwd, environment)
    except InputError as error:
        install = f"npm install -g {manner.package} installs it" if manner.package else "its own page says how"
        named = Hint(
            "or say where it is: ", Use("start", agent=manner.agent, command=(f"/path/to/{manner.program[0][:40]}",))
        )
        raise InputError(
            Code.NO_SUCH_PROGRAM, f"{manner.agent} is not installed here: {error.message}", f"{install}; {named}"
        ) from None
