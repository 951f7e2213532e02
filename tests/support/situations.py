"""Situations that real agents are met in, and how each is brought about with a model of a test's own. For tests only.

What verdict is right in a situation is the table's to say (`corpus`); nothing here looks at one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.agent_home import Agent
from tests.support.model import Call, Fail, Gate, Hang, Run, Say, Step, Stream
from tests.support.processes import wait_until
from tests.support.staged import Stage

PATIENCE = 240.0
"""What an agent may take to get there, on a machine where many start at once."""
ASKED = "go on, please"
DONE = "all of it is done"
ON_FIRE = Fail(500, "the house of the model is on fire")
SLOW_DOWN = Fail(429, "too many requests, slow down", (("retry-after", "30"),))
TAKEN_BACK = Fail(401, "this key was taken back")
USED_UP = Fail(429, "You have hit your usage limit", (("x-should-retry", "false"),))
_QUESTION = {"question": "Which colour?", "header": "Colour", "type": "choice", "multiSelect": False}
_COLOURS = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
_ASKING = {"questions": [{**_QUESTION, "options": _COLOURS}]}
_EDITOR = {
    "EDITOR": "vim -u NONE",
    "VISUAL": "vim -u NONE",
    "GIT_EDITOR": "vim -u NONE",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}


_UNTIL = "until [ -e {} ]; do sleep 0.05; done"


@dataclass(frozen=True)
class Situation:
    """`act` brings an agent there, up to the moment from which it is in it, and says in which session. `prepare` changes its
    configuration before that."""

    act: Callable[[Stage], str]
    prepare: Callable[[Agent], None] | None = None

    def reach(self, made: Stage) -> str:
        if self.prepare is not None:
            self.prepare(made.agent)
        return self.act(made)


# -- how an agent gets there


def _turn(made: Stage, *steps: Step, **arguments: Any) -> str:
    """It is asked, and has asked its model."""
    made.model.script = [list(steps)]
    environment = {**made.agent.environment(), **arguments.pop("environment", {})}
    session = made.terminal(ASKED, environment=environment, **arguments)
    assert wait_until(lambda: made.model.count(ASKED), PATIENCE), made.told(session)
    return session


def _shown(made: Stage, session: str, text: str) -> str:
    assert wait_until(lambda: text in made.screen(session), PATIENCE), made.told(session)
    return session


def _at_prompt(made: Stage) -> str:
    session = made.terminal(environment={**made.agent.environment(), **_EDITOR})
    assert wait_until(lambda: _shows_prompt(made, made.screen(session)), PATIENCE), made.told(session)
    return session


def _shows_prompt(made: Stage, screen: str) -> bool:
    return any(sign in screen or screen.rstrip().endswith(sign.rstrip()) for sign in made.agent.prompts)


def _press(made: Stage, session: str, *keys: str) -> None:
    """One after the other as a person does: two that come at once may be taken for one."""
    for key in keys:
        made.engine.call("send_input", session=session, text=key, keys=True)
        threading.Event().wait(0.3)


def _at_a_tool(made: Stage, **arguments: Any) -> str:
    up = made.agent.project / "up"
    script = made.agent.project / "tool.sh"
    script.write_text(f"echo up > {up}\nsleep 600\n")
    session = _turn(made, Run(f"bash {script}"), Hang(Gate()), Say("never said"), **arguments)
    assert wait_until(up.exists, PATIENCE), made.told(session)
    return session


def _at_a_headless_tool(made: Stage) -> str:
    up = made.agent.project / "up"
    script = made.agent.project / "tool.sh"
    script.write_text(f"echo up > {up}\nsleep 600\n")
    made.model.script = [[Run(f"bash {script}"), Hang(Gate()), Say("never said")]]
    session = made.headless(ASKED)
    assert wait_until(up.exists, PATIENCE), made.told(session)
    return session


def _thinking(made: Stage) -> str:
    return _turn(made, Hang(Gate()), Say("never said"))


def _streaming(made: Stage) -> str:
    session = _turn(made, Stream(Gate(), pause=0.5))
    return _shown(made, session, "piece-1")


def _finished(made: Stage) -> str:
    return _shown(made, _turn(made, *_tool(made, "echo a"), Say(DONE)), DONE)


def _with_a_job(made: Stage) -> str:
    """What it has left goes on, in a session of its own."""
    up, script = made.agent.project / "up", made.agent.project / "job.sh"
    script.write_text(
        f"setsid sh -c 'echo up > {up}; exec sleep 600' >/dev/null 2>&1 </dev/null &\n{_UNTIL.format(up)}\n"
    )
    session = _turn(made, Run(f"bash {script}"), Say(DONE))
    return _shown(made, session, DONE)


def _interrupted(made: Stage) -> str:
    gate = Gate()
    session = _turn(made, Stream(gate, pause=0.5))
    _shown(made, session, "piece-1")
    for _ in range(5):
        _press(made, session, *_INTERRUPT.get(made.agent.name, ("Escape",)))
        if wait_until(lambda: not any(sign in made.screen(session) for sign in _SHOWS_WORK), 10):
            return session
    raise AssertionError(made.told(session))


def _editing(made: Stage) -> str:
    session = _at_prompt(made)
    for _ in range(10):  # while it starts it may take no key; an editor takes these and does nothing
        _press(made, session, *_OPENS_EDITOR[made.agent.name])
        if wait_until(lambda: "~\n~\n" in made.screen(session), 20):
            return session
    raise AssertionError(made.told(session))


def _committing(made: Stage) -> str:
    """`git commit` in a tool opens an editor there, in agents whose tools have a terminal."""
    script = made.agent.project / "commit.sh"
    script.write_text("git init -q . && git commit --allow-empty\n")
    return _turn(made, Run(f"bash {script}"), Say(DONE), environment=_EDITOR)


def _failing(*steps: Step, until: str | None = None) -> Callable[[Stage], str]:
    def act(made: Stage) -> str:
        session = _turn(made, *steps)
        return _shown(made, session, until) if until else session

    return act


def _permission(made: Stage) -> str:
    words = [word for word in made.agent.words() if word not in ("--yolo", "--allow-all-tools")]
    if made.agent.name == "aider":
        return _turn(made, Say("```bash\ntouch here\n```"))
    if made.agent.name == "codex":
        asked = {"cmd": "touch here", "sandbox_permissions": "require_escalated", "justification": "to see"}
        return _turn(made, Call("exec_command", asked), Say(DONE))
    return _turn(made, Run("touch here"), Say(DONE), command=words)


def _asking(made: Stage) -> str:
    tool = {"claude": "AskUserQuestion", "gemini": "ask_user", "qwen": "ask_user_question", "opencode": "question"}
    return _turn(made, Call(tool[made.agent.name], _ASKING), Say(DONE))


def _planning(made: Stage) -> str:
    words = [*made.agent.words(), "--permission-mode", "plan"]
    return _turn(made, Call("ExitPlanMode", {"plan": "# Plan\n1. build the boat"}), Say(DONE), command=words)


def _fetching(made: Stage) -> str:
    asked = {"url": "https://example.com/", "prompt": "what it is about"}
    return _turn(made, Call("WebFetch", asked), Say(DONE))


def _distrusted(made: Stage) -> str:
    session = made.terminal()
    assert wait_until(lambda: "trust" in made.screen(session).lower(), PATIENCE), made.told(session)
    return session


def _tool(made: Stage, command: str) -> Sequence[Step]:
    return [] if made.agent.name == "aider" else [Run(command)]


# -- what is in its configuration


def _let_ask(agent: Agent) -> None:
    """Its user has allowed nothing beforehand."""
    if agent.name == "claude":
        _change(agent, ".claude/settings.json", lambda document: document["permissions"].update(allow=[]))
    elif agent.name == "opencode":
        _change(agent, ".config/opencode/opencode.json", lambda document: document.update(permission={"*": "ask"}))
    elif agent.name == "codex":
        _replace(agent, ".codex/config.toml", '"never"', '"on-request"')
        _replace(agent, ".codex/config.toml", "danger-full-access", "read-only")


def _trust_nothing(agent: Agent) -> None:
    if agent.name == "claude":
        _change(agent, ".claude.json", lambda document: document.update(projects={}))
    elif agent.name == "gemini":
        (agent.home / ".gemini" / "trustedFolders.json").unlink()
    elif agent.name == "copilot":
        _change(agent, ".copilot/config.json", lambda document: document.update(trustedFolders=[]))


def _give_up_soon(agent: Agent) -> None:
    """Two tries: then its turn has failed."""
    if agent.name == "claude":
        _change(agent, ".claude/settings.json", lambda document: document.update(env={"CLAUDE_CODE_MAX_RETRIES": "1"}))
    elif agent.name == "codex":
        _replace(agent, ".codex/config.toml", "wire_api", "request_max_retries = 1\nstream_max_retries = 1\nwire_api")


def _change(agent: Agent, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    place = agent.home / name
    document: dict[str, Any] = json.loads(place.read_text())
    change(document)
    place.write_text(json.dumps(document))


def _replace(agent: Agent, name: str, text: str, by: str) -> None:
    place = agent.home / name
    content = place.read_text()
    assert text in content, (name, text)
    place.write_text(content.replace(text, by))


_INTERRUPT = {"opencode": ("Escape", "Escape"), "copilot": ("Escape", "Escape"), "aider": ("C-c",)}
_SHOWS_WORK = ("esc to interrupt", "esc interrupt", "esc again", "esc to cancel", "Working...", "Waiting for")
_OPENS_EDITOR = {
    "claude": ("C-g",),
    "codex": ("C-g",),
    "gemini": ("C-x",),
    "opencode": ("C-x", "e"),
    "qwen": ("C-x",),
    "copilot": ("C-x", "C-e"),
    "pi": ("C-g",),
    "aider": ("C-x", "C-e"),
}
SITUATIONS = {
    "at its prompt": Situation(_at_prompt),
    "at a tool": Situation(_at_a_tool),
    "at a tool, headless": Situation(_at_a_headless_tool),
    "thinking": Situation(_thinking),
    "streaming": Situation(_streaming),
    "finished": Situation(_finished),
    "finished, with a job": Situation(_with_a_job),
    "interrupted": Situation(_interrupted),
    "permission": Situation(_permission, _let_ask),
    "question": Situation(_asking),
    "plan": Situation(_planning),
    "permission to fetch": Situation(_fetching, _let_ask),
    "trust": Situation(_distrusted, _trust_nothing),
    "in an editor": Situation(_editing),
    "a tool in an editor": Situation(_committing),
    "error 500": Situation(_failing(ON_FIRE)),
    "rate limit": Situation(_failing(SLOW_DOWN)),
    "failed with 500": Situation(_failing(*[ON_FIRE]), _give_up_soon),
    "failed after a tool": Situation(_failing(Run("echo a"), TAKEN_BACK)),
    "refused key": Situation(_failing(TAKEN_BACK)),
    "usage limit": Situation(_failing(USED_UP)),
}
