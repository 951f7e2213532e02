"""From what was asked for to what is executed: which agent, which of its conversations, with what words.

Knows agents' manners, and the sessions that were in a conversation before; starts nothing and changes nothing.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, replace

from lamplighter.agents import recognise
from lamplighter.agents.starting import GENERIC, STARTING, manner_of, plain
from lamplighter.domain.manner import CONVERSATION, LAST, Manner, Way
from lamplighter.domain.permission import Act, Caller, check
from lamplighter.domain.session import Session
from lamplighter.errors import Code, InputError, MissingError
from lamplighter.lifecycle.continuity.succession import Succession
from lamplighter.lifecycle.dialogue import transcripts
from lamplighter.lifecycle.dialogue.conversations import is_id, occupied
from lamplighter.lifecycle.fleet import Fleet
from lamplighter.lifecycle.launch.order import Order
from lamplighter.lifecycle.launch.preconditions import check_command, find_program
from lamplighter.store import aliases


@dataclass(frozen=True, slots=True)
class Wish:
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


class Ordering:
    def __init__(self, fleet: Fleet, succession: Succession) -> None:
        self.fleet = fleet
        self.succession = succession

    async def order(self, wish: Wish, cwd: str, caller: Caller) -> Order:
        """What to execute; or why that cannot be, with nothing changed."""
        manner, more = self._manner(wish)
        way = manner.way(headless=wish.headless)
        _check_stays(wish, manner, more)
        _check_options(manner, way, more)
        _check_prompt(manner, way, wish, more)
        words, conversation = await self._begun(manner, way, wish.resume, cwd, caller)
        known = manner.agent != GENERIC
        order = Order(
            head=manner.words(words, more, wish.model, headless=wish.headless),
            agent=manner.agent if known else None,
            ending=way.prompt,
            prompt=wish.prompt,
            conversation=conversation,
            headless=wish.headless,
            takes_packet=known,
            closed=wish.headless and (known or wish.prompt is not None),
            untested=manner.untested,
            environment=manner.environment,
        )
        check_command(order.head, wish.environment)
        check_command((*order.head, wish.prompt or ""), wish.environment)
        _check_installed(manner, cwd, wish.environment)
        return order

    def _manner(self, wish: Wish) -> tuple[Manner, tuple[str, ...]]:
        """How it is started, and the words that are the caller's own."""
        program = recognise(list(wish.words))
        length = program.length(wish.words) if program else 0
        agent = wish.agent
        if agent is None and program and (program.name in STARTING or program.name in self.fleet.settings.agents):
            alone = length == len(wish.words)
            agent = program.name if wish.prompt or wish.resume or wish.model or (wish.handed and alone) else None
        if agent is None or agent == GENERIC:
            return self._plain(wish), ()
        manner = manner_of(agent, self.fleet.settings.agents)
        if program is None or program.name != agent:
            return manner, wish.words
        return replace(manner, program=wish.words[:length]), wish.words[length:]

    def _plain(self, wish: Wish) -> Manner:
        asked = "resume" if wish.resume else "model" if wish.model else None
        if asked is not None:
            raise InputError(
                Code.BAD_INPUT,
                f"what {asked} is for a command that is no agent's, nobody knows",
                f"name the agent: --agent {next(iter(STARTING))}; or give the command's own options behind --",
            )
        return plain(wish.words)

    # -- which conversation

    async def _begun(
        self, manner: Manner, way: Way, resume: str | None, cwd: str, caller: Caller
    ) -> tuple[tuple[str, ...], str | None]:
        """The words of the way, and what the agent will call the conversation where that is known."""
        if resume is None:
            conversation = str(uuid.uuid4()) if any(CONVERSATION in word for word in way.new) else None
            return _named(way.new, conversation or ""), conversation
        found = await self._conversation(manner, resume, cwd, caller)
        words = way.last if found is None else way.resume
        if words is None:
            what = "with its last conversation" if found is None else "with a conversation by its id"
            raise InputError(Code.BAD_INPUT, f"{manner.agent} cannot go on {what}", "leave --resume out")
        # What an agent said of itself, or wrote into its transcript, becomes a word among another's options.
        return _named(words, _checked_id(found, manner) if found else ""), found

    async def _conversation(self, manner: Manner, word: str, cwd: str, caller: Caller) -> str | None:
        """What the agent calls it; None for the last, when no session of ours was in one here."""
        if word == LAST:
            places = tuple(dict.fromkeys((cwd, os.path.realpath(cwd))))
            last = await self.fleet.store.get(lambda db: aliases.last_in(db, manner.agent, places))
            if last is None:
                return None
            session, found = await self.fleet.by_id(last[0]), last[1]
        else:
            known = await self.fleet.store.get(lambda db: aliases.find(db, manner.agent, word))
            session = await self.fleet.by_id(known) if known else await self._session(word)
            if session is None:
                return _checked_id(word, manner)
            self._check_agent(session, manner)
            found = word if known else await self._of_session(session)
        self.succession.check_caller(caller, session, force=False)
        if self.fleet.settings.reads_own:  # the agent shows what was said in it, and knows it
            check(caller, Act.READ_OUTPUT, session, session.line)
        _check_free(session, found, manner, cwd)
        return found

    async def _session(self, word: str) -> Session | None:
        try:
            return await self.fleet.find(word)
        except MissingError as error:
            if error.code is Code.AMBIGUOUS:
                raise
            return None

    def _check_agent(self, session: Session, manner: Manner) -> None:
        if session.agent != manner.agent:
            raise InputError(
                Code.BAD_INPUT,
                f"{session.name} ({session.id}) ran {session.agent}, and {manner.agent} cannot go on with that conversation",
                f"--agent {session.agent} can; or lamp start --agent {manner.agent} --from {session.id}",
            )

    async def _of_session(self, session: Session) -> str:
        """What its agent said that it is; else what its transcript says."""
        found = session.conversation.get("id")
        if found is None:
            try:
                read = await transcripts.of_session(session, session.ended_at or self.fleet.clock.now())
            except TimeoutError:
                read = None
            found = read.conversation if read else None
        if found is None:
            raise MissingError(
                Code.NOT_FOUND,
                f"no conversation of {session.name} ({session.id}) is known",
                f"give --resume the id that {session.agent} itself shows; or --from {session.id} for what it handed over",
            )
        return found


def _named(words: tuple[str, ...], conversation: str) -> tuple[str, ...]:
    return tuple(word.replace(CONVERSATION, conversation) for word in words)


def _check_free(session: Session, conversation: str, manner: Manner, cwd: str) -> None:
    if session.alive and session.conversation.get("id") in (None, conversation):
        raise occupied(session.id, session.name)
    if manner.by_folder and os.path.realpath(session.cwd) != os.path.realpath(cwd):
        raise InputError(
            Code.BAD_INPUT,
            f"{manner.agent} goes on with a conversation only in its folder, and {session.name} ran in {session.cwd}",
            f"add --cwd {session.cwd}",
        )


def _checked_id(word: str, manner: Manner) -> str:
    if not is_id(word):
        raise InputError(
            Code.BAD_INPUT,
            f"{word[:60]!a} is no conversation of {manner.agent}, nor a session",
            "give an id of the agent's own, a session's id or name, or last",
        )
    return word


def _check_stays(wish: Wish, manner: Manner, more: tuple[str, ...]) -> None:
    """One that gives its work to its agent's daemon is gone at once, and what it was to do runs where no session of ours is."""
    if manner.agent == GENERIC:
        program = recognise(list(wish.words))
        if program is None or program.name not in STARTING:
            return
        manner, more = manner_of(program.name, {}), wish.words[program.length(wish.words) :]
    options = more[: more.index("--")] if "--" in more else more
    wrong = next((word for word in options if word in manner.hands_over), None)
    if wrong is not None:
        raise InputError(
            Code.BAD_INPUT,
            f"{manner.agent} {wrong} gives its work to {manner.agent}'s own daemon, where Lamplighter can neither see nor end it",
            f"leave {wrong} out: what lamp start starts is in the background, and lamp attach shows it",
        )


def _check_options(manner: Manner, way: Way, more: tuple[str, ...]) -> None:
    """Words of the caller's own that say which conversation it is would contradict ours."""
    sets = [set(words or ()) for words in (way.new, way.resume, way.last)]
    deciding = set[str]().union(*sets) - set[str].intersection(*sets)
    options = {word.partition("=")[0] for word in deciding if word.startswith("--")}
    wrong = next((word for word in more if word.partition("=")[0] in options), None)
    if wrong is not None:
        raise InputError(
            Code.BAD_INPUT,
            f"{wrong.partition('=')[0]} behind -- would contradict what Lamplighter gives {manner.agent}",
            "give --resume ID or --resume last in front of the --; without it the conversation is a new one",
        )


def _check_prompt(manner: Manner, way: Way, wish: Wish, more: tuple[str, ...]) -> None:
    if way.deaf_resumed and wish.resume is not None and (wish.prompt is not None or wish.handed):
        raise InputError(
            Code.BAD_INPUT,
            f"{manner.agent} on a terminal overlooks a first prompt when it goes on with a conversation",
            "start it without a prompt and lamp send it what to do; or add --headless",
        )
    if not way.needs_prompt or not wish.headless or wish.prompt is not None or wish.handed or more:
        return
    raise InputError(
        Code.BAD_INPUT,
        f"a headless {manner.agent} does one task and leaves, and was given none",
        "add --prompt; or leave --headless out, and it waits for you on a terminal",
    )


def _check_installed(manner: Manner, cwd: str, environment: dict[str, str]) -> None:
    if manner.agent == GENERIC:
        return
    try:
        find_program(manner.program[0], cwd, environment)
    except InputError as error:
        install = f"npm install -g {manner.package} installs it" if manner.package else "its own page says how"
        named = f"or say where it is: lamp start --agent {manner.agent} -- /path/to/{manner.program[0][:40]}"
        raise InputError(
            Code.NO_SUCH_PROGRAM, f"{manner.agent} is not installed here: {error.message}", f"{install}; {named}"
        ) from None
