"""How an agent is started: the words for a terminal and for one task, with a new conversation or an older one.

Knows words; knows no program: what is known of each is in its module under `agents`, what the operator wrote in the settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from lamplighter.errors import Code, InputError
from lamplighter.lazy_dataclass import dataclass

PROMPT, MODEL, CONVERSATION = "{prompt}", "{model}", "{conversation}"
TASK = "{task}"
"""What the settings call the prompt."""
LAST = "last"


@dataclass(frozen=True)
class Mode:
    """One way to run it, all words without the program's own. `new` begins a conversation, under our name where {conversation}
    is in it; `resume` goes on with one; `last` with the newest that the agent itself knows of. None: it cannot. `prompt` are the
    last words when there is a first prompt; with None it is typed, or read from standard input. `needs_prompt`: without one it
    does nothing but fail. `deaf_resumed`: it overlooks a first prompt when it goes on with a conversation."""

    new: tuple[str, ...] = ()
    resume: tuple[str, ...] | None = None
    last: tuple[str, ...] | None = None
    prompt: tuple[str, ...] | None = None
    needs_prompt: bool = False
    deaf_resumed: bool = False


@dataclass(frozen=True)
class AgentCommand:
    """`terminal` stays for more, `headless` does one task and leaves. `model` are the words that choose a model, behind the other
    words, or with `model_first` right behind the program. `package` is what npm calls it. `by_folder`: it finds a conversation
    only in the folder that it was in. `untested`: never tried with the real program. `apart` are words in front of
    the caller's own, on a terminal, and `environment` variables, that keep it from sharing a daemon with others of its kind:
    what it starts is then its own. `hands_over` are options by which it gives its work to such a daemon and leaves."""

    agent: str
    program: tuple[str, ...]
    terminal: Mode
    headless: Mode
    model: tuple[str, ...] | None = None
    model_first: bool = False
    package: str | None = None
    by_folder: bool = False
    untested: bool = False
    apart: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    hands_over: frozenset[str] = frozenset()

    def way(self, *, headless: bool) -> Mode:
        return self.headless if headless else self.terminal

    def words(self, begun: Sequence[str], more: Sequence[str], model: str | None, *, headless: bool) -> tuple[str, ...]:
        """The command line but for the prompt. `begun` are the words of the way, `more` the caller's own, which may overrule."""
        more = more if headless else (*self.apart, *more)
        chosen = self._model_words(model)
        first, last = (chosen, ()) if self.model_first else ((), chosen)
        return (*self.program, *first, *begun, *last, *more)

    def _model_words(self, model: str | None) -> tuple[str, ...]:
        if model is None:
            return ()
        if not self.model:
            raise InputError(
                Code.BAD_INPUT,
                f"the agent {self.agent[:40]!a} has no place for a model",
                f'leave model out, or let the operator write model = ["--model", "{MODEL}"] under [agents.{self.agent[:40]}]',
            )
        return tuple(word.replace(MODEL, model) for word in self.model)

    def overridden_by(self, own: AgentCommand) -> AgentCommand:
        """As the operator wrote it down, and in what that leaves open as it is known."""
        return replace(
            own,
            terminal=replace(own.terminal, resume=self.terminal.resume, last=self.terminal.last),
            headless=replace(own.headless, resume=self.headless.resume, last=self.headless.last),
            model=own.model or self.model,
            model_first=own.model_first if own.model else self.model_first,
            package=self.package,
            by_folder=self.by_folder,
            apart=self.apart,
            environment=self.environment,
            hands_over=self.hands_over,
        )


def written(agent: str, command: tuple[str, ...], session: tuple[str, ...], model: tuple[str, ...]) -> AgentCommand:
    """A manner from the settings: `command` does one task and leaves; `session` stays, and is the same where it is empty."""
    return AgentCommand(
        agent=agent,
        program=command[:1],
        terminal=_written((session or command)[1:]),
        headless=_written(command[1:]),
        model=model or None,
        model_first=True,
    )


def _written(words: tuple[str, ...]) -> Mode:
    """The words from the one on that has the task in it are there only with one, and so is the -- in front of them."""
    place = next((place for place, word in enumerate(words) if TASK in word), None)
    if place is None:
        return Mode(new=words)
    begin = place - 1 if place and words[place - 1] == "--" else place
    ending = tuple(word.replace(TASK, PROMPT) for word in words[begin:])
    return Mode(new=words[:begin], prompt=ending, needs_prompt=True)
