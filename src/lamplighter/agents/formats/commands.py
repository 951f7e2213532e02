"""How an agent is started: as the operator wrote into the settings, and in what that leaves open as its module says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lamplighter.agents import GENERIC, agent_named, names_with, recognise
from lamplighter.domain.agent_command import AgentCommand, Mode
from lamplighter.errors import Code, InputError


def manner_of(agent: str, own: Mapping[str, AgentCommand]) -> AgentCommand:
    """How it is started; NO_SUCH_PROGRAM when neither the settings nor we know."""
    written, known = own.get(agent), agent_named(agent).start
    if written is not None:
        return known.overridden_by(_with_its_script(written)) if known else written
    if known is None:
        raise unknown(f"there is no agent {agent[:40]!a} that Lamplighter can start", own)
    return known


def _with_its_script(written: AgentCommand) -> AgentCommand:
    """For a known program that is run by an interpreter: the script is part of what is run, whatever comes behind it."""
    words = (*written.program, *written.headless.new)
    program = recognise(words)
    script = words[len(written.program) : program.length(words)] if program else ()
    if not script or written.terminal.new[: len(script)] != script:
        return written

    def without(way: Mode) -> Mode:
        return replace(way, new=way.new[len(script) :])

    ways = {"terminal": without(written.terminal), "headless": without(written.headless)}
    return replace(written, program=(*written.program, *script), **ways)


def unknown(what: str, own: Iterable[str]) -> InputError:
    """An agent that nobody can start, and those that can be."""
    names = ", ".join(dict.fromkeys((*names_with("start"), *sorted(own))))
    wish = 'the operator can add others: [agents.NAME] and command = ["NAME", "{task}"] in config.toml'
    return InputError(Code.NO_SUCH_PROGRAM, what, f"name one of {names}; {wish}")


def plain(words: tuple[str, ...]) -> AgentCommand:
    """Any command, as it is: what it is told is typed, or is on its standard input."""
    return AgentCommand(agent=GENERIC, program=words, terminal=Mode(), headless=Mode())
