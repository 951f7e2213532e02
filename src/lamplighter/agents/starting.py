"""How each agent that Lamplighter knows is started. Knows no agent's words: each agent's module does, and is imported on use.

What the operator wrote into the settings goes before what is known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module

from lamplighter.agents import recognise
from lamplighter.domain.manner import Manner, Way
from lamplighter.errors import Code, InputError

STARTING: dict[str, str] = {
    "claude": "lamplighter.agents.claude:STARTING",
    "codex": "lamplighter.agents.codex:STARTING",
    "gemini": "lamplighter.agents.gemini:STARTING",
    "opencode": "lamplighter.agents.opencode:STARTING",
    "kiro": "lamplighter.agents.kiro:STARTING",
    "qwen": "lamplighter.agents.qwen:STARTING",
    "copilot": "lamplighter.agents.copilot:STARTING",
    "pi": "lamplighter.agents.pi:STARTING",
    "aider": "lamplighter.agents.aider:STARTING",
}
GENERIC = "generic"


def manner_of(agent: str, own: Mapping[str, Manner]) -> Manner:
    """How it is started; NO_SUCH_PROGRAM when neither the settings nor we know."""
    written, known = own.get(agent), _known(agent)
    if written is not None:
        return known.overridden_by(_with_its_script(written)) if known else written
    if known is None:
        raise unknown(f"there is no agent {agent[:40]!a} that Lamplighter can start", own)
    return known


def _known(agent: str) -> Manner | None:
    if agent not in STARTING:
        return None
    module, _, attribute = STARTING[agent].partition(":")
    return getattr(import_module(module), attribute)


def _with_its_script(written: Manner) -> Manner:
    """For a known program that is run by an interpreter: the script is part of what is run, whatever comes behind it."""
    words = (*written.program, *written.headless.new)
    program = recognise(list(words))
    script = words[len(written.program) : program.length(words)] if program else ()
    if not script or written.terminal.new[: len(script)] != script:
        return written

    def without(way: Way) -> Way:
        return replace(way, new=way.new[len(script) :])

    ways = {"terminal": without(written.terminal), "headless": without(written.headless)}
    return replace(written, program=(*written.program, *script), **ways)


def unknown(what: str, own: Iterable[str]) -> InputError:
    """An agent that nobody can start, and those that can be."""
    names = ", ".join(dict.fromkeys((*STARTING, *sorted(own))))
    wish = 'the operator can add others: [agents.NAME] and command = ["NAME", "{task}"] in config.toml'
    return InputError(Code.NO_SUCH_PROGRAM, what, f"name one of {names}; {wish}")


def plain(words: tuple[str, ...]) -> Manner:
    """Any command, as it is: what it is told is typed, or is on its standard input."""
    return Manner(agent=GENERIC, program=words, terminal=Way(), headless=Way())
