"""What a backend is: one way to run a session.

Above it is the engine, which knows when something is to be done and who may ask for it. Below it is what runs the session: a shim
of ours, tmux, a peer that speaks ACP, processes that were there before us, or nothing at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from lamplighter.domain.keys import encode_keys
from lamplighter.domain.text.echo import Echo
from lamplighter.engine.core.keeper_client import KeeperClient
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.core.tasks import Tasks
from lamplighter.engine.output.output_reader import OutputReader
from lamplighter.errors import Code, ConflictError, Hint, Use
from lamplighter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lamplighter.domain.approval import Approval
    from lamplighter.domain.ending import Certificate, Ending
    from lamplighter.domain.facts import TmuxPlace
    from lamplighter.domain.permission import Caller
    from lamplighter.domain.session import Session
    from lamplighter.domain.verdict import Verdict
    from lamplighter.engine.backends.tmux.multiplexers import Multiplexers
    from lamplighter.holder import proc

Key = tuple[int, int]
Kill = Callable[[str, set[Key], str | None], "Certificate"]


class Reply(NamedTuple):
    """`turn`: done, interrupted, failed, or ended before it was over. `source`: transcript or output."""

    reply: str
    turn: str
    source: str


class Shown(NamedTuple):
    """A screen. `offset`: how much of the output it stands for; `pastes`: the program knows a paste from keys. Each is None where
    that cannot be known."""

    text: str
    title: str | None
    offset: int | None
    pastes: bool | None


class BackendListener(Protocol):
    """What a backend tells of its own accord."""

    async def exited(self, session: Session, document: dict[str, Any]) -> None:
        """It has ended by itself; `document` is what an exit file would say."""
        ...

    async def done(self, session: Session) -> None:
        """It has done the one task that it was started for, and stays."""
        ...

    async def entered(self, session: str, conversation: str) -> None:
        """Its agent calls the conversation that it is in so."""
        ...


@dataclass
class BackendContext:
    """What backends work with. `listeners` are told of what happens by itself."""

    registry: SessionRegistry
    keeper: KeeperClient
    tasks: Tasks
    reading: OutputReader
    multiplexers: Multiplexers
    listeners: list[BackendListener] = field(default_factory=list[BackendListener])


class Backend(ABC):
    """Knows one way of running; knows nothing of the store or of who may. What is not overridden is so for most."""

    survives_boot: ClassVar[bool] = False
    """A restart of the machine ends nothing of it."""
    can_be_asked: ClassVar[bool] = True
    """There is somebody to ask before it is signalled."""
    says_itself: ClassVar[bool] = False
    """Its protocol says whether it works and which conversation it is in: nobody has to find that out."""
    one_conversation: ClassVar[bool] = False
    """Its agent is in one conversation for as long as it runs, and says which in its output."""
    sees_typing: ClassVar[bool] = True
    """Whatever is typed to it comes through us."""
    metered: ClassVar[bool] = True
    """Its shim says exactly when it printed and was typed to; else that is known from one look to the next."""
    echo: ClassVar[Echo] = Echo.TYPED
    environment: ClassVar[Mapping[str, str]] = {}
    """What its command finds in its environment."""

    def __init__(self, context: BackendContext) -> None:
        self.context = context
        self.registry = context.registry

    # -- coming to be

    def check_start(self) -> None:
        """Raise when nothing can be run this way on this machine."""
        return

    def first_place(self, name: str, exact: str | None, given: bool, environment: Mapping[str, str]) -> TmuxPlace:
        """What is kept of the place where it is to run, before it is there. `exact` is what that is to be called."""
        del name, exact, given, environment
        return {}

    async def open(self, session: Session) -> dict[str, int] | None:
        """Descriptors that its shim is to run it on, by name; None where the keeper makes them."""
        del session

    async def born(self, session: Session) -> TmuxPlace:
        """The command runs: where it is now, if that is anywhere."""
        del session
        return {}

    async def take_back(self, session: Session) -> None:
        """It could not be started: nothing is left of its place."""
        del session

    def recover(self, live: LiveSession) -> bool:
        """Take it up again where it has no shim; False where it has one, which is to be looked for."""
        del live
        return False

    def connected(self, live: LiveSession) -> None:
        """There is a line to its shim, for the first time or again."""
        del live

    # -- talking

    def encode(self, text: str, *, keys: bool, enter: bool) -> bytes:
        """What to write into the session for this text, or for these names of keys; as a keyboard sends it."""
        if keys:
            return encode_keys(text)
        return text.encode(errors="surrogateescape") + (b"\r" if enter else b"")

    async def prompt(self, session: Session, text: str, *, keys: bool, by: Caller, key: str) -> dict[str, Any] | None:
        """Give it this text, or stop its turn with keys, where it has a protocol for that; None where text is typed."""
        del session, text, keys, by, key

    @abstractmethod
    async def type(self, session: Session, data: bytes, by: str, key: str, before: str | None = None) -> dict[str, Any]:
        """Have this typed, once however often it is asked for with the same key, with the cursor from before it. `before`: nor
        after what went under that key, where only the last key is remembered."""

    async def before_submit(self, session: Session) -> None:
        """A text is to be submitted to the agent in it: its screen has to be known as it is."""
        del session

    @abstractmethod
    async def typed_at(self, session: Session, key: str) -> int | None:
        """Where the output stood when this was typed; None when it never was."""

    async def took(self, session: Session, key: str) -> int | None:
        """As `typed_at`, of one that has ended; None where it cannot be told whether it was typed before that."""
        del session, key

    @abstractmethod
    async def feed(self, session: Session, data: bytes, by: Caller, key: str) -> None:
        """All that it is ever to read, and the end of its input; once however often with the same key."""

    async def decided(self, approval: Approval) -> None:
        """The operator's word on what its agent has asked for."""
        del approval

    # -- seeing

    @abstractmethod
    def read(
        self, session: Session, mode: str, lines: int | None, since: int | None, limit: int, follow: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """Pages of its output or screen; one, unless it is followed or a recording."""

    @abstractmethod
    async def seat(self, session: Session, *, read_only: bool, **wish: Any) -> tuple[LiveSession, dict[str, Any], int]:
        """A place at its terminal: what the shim says of it, and a descriptor on which all comes that it prints."""

    @abstractmethod
    async def shown(self, session: Session, paste_mode: int) -> Shown | None:
        """Its screen as it is now; None where there is none that can be read."""

    async def last_lines(self, session: Session, most: int) -> list[str]:
        """What its screen shows last; of one without a terminal, the end of what it printed."""
        del session, most
        return []

    @abstractmethod
    async def until_text(self, session: Session, text: str, since: int | None) -> int:
        """Wait until it prints this after the cursor, or after the last input; the cursor behind it."""

    async def reply(self, session: Session) -> Reply | None:
        """What it has answered last, once it has; None where that is not told but has to be found out."""
        del session

    def check_visible(self, session: Session) -> None:
        """Raise where nobody can see what it is doing."""
        del session

    def own_verdict(self, session: Session) -> tuple[Verdict, str] | None:
        """What it says itself that it is doing; None where it says nothing."""
        del session

    def transcript(self, session: Session) -> str | None:
        """Where the conversation is written down by us; None where its agent does that."""
        del session

    async def before_look(self) -> None:
        """Each time before processes are looked at."""
        return

    def after_look(self, seen: Mapping[str, Sequence[proc.Stat]]) -> None:
        """Each time afterwards: the processes of each session."""
        del seen

    def known(self) -> set[Key]:
        """Every process that a session without a shim is known by."""
        return set()

    # -- ending

    async def ask_to_end(self, live: LiveSession) -> bool:
        """Ask in the session's own way; False when there is no such way, so that nobody waits for an answer."""
        del live
        return False

    def forget(self, session: str) -> None:
        """Its end is recorded."""
        del session

    @abstractmethod
    async def stop(self, live: LiveSession) -> Ending | dict[str, Any] | None:
        """See its intent through. An `Ending` is to be recorded as it is; a document is what an exit file would say; None: its
        shim ends it and writes that file."""

    async def hurry(self, live: LiveSession) -> None:
        """The intent has less patience now."""
        del live

    async def clear(self, session: Session, certificate: Certificate, *, others: bool, kill: Kill) -> Certificate:
        """It is gone: see that its place keeps nothing of it; with `others`, nor of what people have added there."""
        del session, others, kill
        return certificate

    async def last_words(self, live: LiveSession) -> None:
        """It is gone: take in what it said last, before its end is recorded."""
        del live


def has_ended(session: Session) -> ConflictError:
    return ConflictError(
        Code.ENDED,
        f"{session.name} ({session.id}) has ended",
        Hint(Use("read"), " shows its output, ", Use("show"), " how it ended"),
    )


def ended_first(session: Session, what: str) -> ConflictError:
    return ConflictError(
        Code.ENDED,
        f"{session.name} ({session.id}) ended before it {what}",
        Hint(Use("read"), " and ", Use("show"), " say what it did"),
    )
