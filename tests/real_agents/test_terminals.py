"""The real programs at their terminals: what is sent is what the model is asked, once; verdicts; dialogs; leaving."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from lamplighter.errors import Code, LampError
from tests.support.engine import Engine, engine
from tests.support.model import Gate, Hang, Run, Say
from tests.support.processes import wait_until
from tests.support.real_agents import EVERY
from tests.support.situations import SITUATIONS
from tests.support.staged import PATIENCE, Stage

pytestmark = pytest.mark.agents

TEXTS = (
    "first line\nsecond line\n\n    a fourth",
    "-rf --help",
    'say "it\'s" `so` $HOME \\n',
    "héllo 👩‍👩‍👧‍👦 ✅ 日本語",
    "/tmp/some/where is broken",
    "/tmp/some/where",
    "@nobody said so",
    "# a heading",
    "?",
    "ends with a backslash \\",
    "a[201~b",
    "a line of some text\n" * 5000 + "end",
)
WITH_TOOLS = [name for name in EVERY if name != "aider"]


@pytest.fixture
def lit(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An agent that has just started on a busy machine may take no key for a while: it is asked to leave for longer."""
    with engine(LAMPLIGHTER_ASK=getattr(request, "param", "30s")) as made:
        yield made


def judged(made: Stage, session: str) -> tuple[str, str]:
    shown = made.engine.show(session)
    return shown["verdict"], (shown["evidence"] or [""])[0]


def left_as_asked(made: Stage, session: str) -> bool:
    """By itself, whatever it left behind: Codex its own daemon, Gemini its servers."""
    ended = made.engine.call("end_session", session=session)
    return (ended["how"], ended["exit"]) == ("asked", {"code": 0})


def test_what_is_sent_is_what_the_model_is_asked_once(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit)
    session = made.terminal()
    for number, text in enumerate(TEXTS, 1):
        sent = text.replace("a[201~b", "a\x1b[201~b")
        lit.call("send_input", session=session, text=sent)
        assert wait_until(lambda number=number: len(made.model.said) >= number, PATIENCE), made.told(session)
    assert [said.strip() for said in made.model.said] == [text.strip() for text in TEXTS]


@pytest.mark.parametrize("emoji", ["👍🏽", "🇩🇪", "👨‍💻", "⚠️"])
def test_an_emoji_of_several_code_points_leaves_its_screen_whole(
    lit: Engine, stage: Callable[..., Stage], emoji: str
) -> None:
    """In what is asked and what is answered: each line stands there once, the next text is taken, and it leaves as asked."""
    made = stage(lit, [f"seen {emoji} here\n\nand {emoji} there", "again"])
    session = made.terminal()
    for number, text in enumerate((f"look {emoji} at this", "plainly"), 1):
        lit.call("send_input", session=session, text=text)
        assert wait_until(lambda number=number: len(made.model.said) >= number, PATIENCE), made.told(session)
    assert wait_until(lambda: judged(made, session)[0] == "finished", PATIENCE), made.told(session)
    seen = made.screen(session)
    words = ("look", "at this", f"seen {emoji} here", f"and {emoji} there", "plainly", "again")
    assert [seen.count(word) for word in words] == [1] * len(words), seen
    assert left_as_asked(made, session)


def test_while_a_tool_runs_it_is_at_work_and_then_finished(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit, [[Run("sleep 20"), Say("slept well")]])
    session = made.terminal()
    lit.call("send_input", session=session, text="go")
    assert wait_until(lambda: made.model.count("go"), PATIENCE), made.told(session)
    verdicts: list[str] = []

    def over() -> bool:
        ran = bool(made.model.results)
        verdicts.append(judged(made, session)[0])
        assert ran or made.model.results or verdicts[-1] == "working", (verdicts, made.told(session))
        return verdicts[-1] == "finished"

    assert wait_until(over, PATIENCE), (judged(made, session), made.told(session))


def test_one_at_work_leaves_in_its_own_way(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit, [[Hang(Gate()), Say("never")]])
    session = made.terminal()
    lit.call("send_input", session=session, text="go")
    assert wait_until(lambda: made.model.count("go"), PATIENCE), made.told(session)
    assert left_as_asked(made, session)


@pytest.mark.parametrize("round", range(int(os.environ.get("LAMPLIGHTER_AGENT_ROUNDS") or "1")))
@pytest.mark.parametrize("stage", WITH_TOOLS, indirect=True)
def test_one_with_a_tool_at_work_leaves_in_its_own_way(lit: Engine, stage: Callable[..., Stage], round: int) -> None:
    made = stage(lit)
    made.model.script = [[made.tool(), Say("never said")]]
    session = made.terminal()
    made.submit(session, "go")
    assert wait_until(lambda: "tool" in made.roles(), PATIENCE), made.told(session)
    assert left_as_asked(made, session), made.told(session)
    assert made.left() == []


@pytest.mark.parametrize("lit", ["2s"], indirect=True)
@pytest.mark.parametrize("stage", WITH_TOOLS, indirect=True)
def test_one_that_hangs_with_a_tool_at_work_is_ended_by_force(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit)
    made.model.script = [[made.tool(), Say("never said")]]
    session = made.terminal()
    made.submit(session, "go")
    assert wait_until(lambda: "tool" in made.roles(), PATIENCE), made.told(session)
    for process in made.left():
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGSTOP)
    ended = lit.call("end_session", session=session, grace="1s")
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
    assert ended["how"] in ("terminated", "killed")
    assert made.left() == []


def test_what_was_half_typed_is_not_said_when_it_leaves(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit)
    session = made.terminal()
    lit.call("send_input", session=session, text="half a sentence", enter=False)
    assert made.shows(session, "half a sentence")
    assert left_as_asked(made, session)
    assert made.model.said == []


@pytest.mark.parametrize("stage", ["claude", "gemini"], indirect=True)
def test_the_trust_dialog_is_waited_at_and_never_answered(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit)
    state = made.agent.home / ".claude.json"
    if state.exists():
        state.write_text(json.dumps(json.loads(state.read_text()) | {"projects": {}}))
    else:
        (made.agent.home / ".gemini" / "trustedFolders.json").unlink()
    session = made.terminal()
    waits = ("waiting", "it waits for trust in this folder")
    assert wait_until(lambda: judged(made, session) == waits, PATIENCE), made.told(session)
    with pytest.raises(LampError) as caught:
        lit.call("send_input", session=session, text="go")
    assert caught.value.code is Code.ACTIVE
    assert judged(made, session) == waits


@pytest.mark.parametrize("stage", ["claude"], indirect=True)
def test_permission_is_waited_for_by_name(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit, [[Run("touch here"), Say("done")]])
    settings = made.agent.home / ".claude" / "settings.json"
    document = json.loads(settings.read_text())
    document["permissions"]["allow"] = []
    settings.write_text(json.dumps(document))
    session = made.terminal()
    lit.call("send_input", session=session, text="go")
    waits = ("waiting", "it waits for permission to run: touch here")
    assert wait_until(lambda: judged(made, session) == waits, PATIENCE), made.told(session)
    with pytest.raises(LampError):
        lit.call("send_input", session=session, text="yes, do")
    assert left_as_asked(made, session)
    assert not (made.agent.project / "here").exists()


ASKED = [
    ("claude", "permission to fetch"),
    ("claude", "plan"),
    ("gemini", "permission"),
    ("qwen", "permission"),
    ("copilot", "permission"),
]


@pytest.mark.timeout(420)
@pytest.mark.parametrize(("stage", "asked"), ASKED, indirect=["stage"], ids=map(" ".join, ASKED))
def test_a_text_answers_no_question(lit: Engine, stage: Callable[..., Stage], asked: str) -> None:
    """It is refused, the question stands as it stood, and its tool has not run."""
    made = stage(lit)
    session = SITUATIONS[asked].reach(made)
    assert wait_until(lambda: judged(made, session)[0] == "waiting", PATIENCE), made.told(session)
    waits = judged(made, session)
    with pytest.raises(LampError) as caught:
        lit.call("send_input", session=session, text="no, please do not")
    assert (caught.value.code, caught.value.details["verdict"]) == (Code.ACTIVE, "waiting")
    assert "no, please" not in made.screen(session)
    assert (judged(made, session), made.model.results) == (waits, {})
    assert not (made.agent.project / "here").exists()


MENUS = {
    "claude": "/config",
    "codex": "/resume",
    "gemini": "/resume",
    "opencode": "/models",
    "qwen": "/model",
    "pi": "/model",
}


@pytest.mark.parametrize("stage", list(MENUS), indirect=True)
def test_nothing_is_typed_into_a_menu(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit)
    session = made.terminal()
    lit.call("send_input", session=session, text="hello")
    assert made.shows(session, "STUB-REPLY 1: hello"), made.told(session)
    lit.call("send_input", session=session, text=MENUS[made.agent.name])
    assert wait_until(lambda: judged(made, session)[0] in ("waiting", "unknown"), PATIENCE), made.told(session)
    with pytest.raises(LampError) as caught:
        lit.call("send_input", session=session, text="no, please do not")
    assert caught.value.code is Code.ACTIVE
    assert "no, please" not in made.screen(session)
    assert made.model.said == ["hello"]


@pytest.mark.parametrize("stage", ["opencode", "claude", "qwen"], indirect=True)
def test_a_prompt_at_the_start_and_a_text_soon_after_are_two(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit)
    session = made.terminal("the very first")
    lit.call("send_input", session=session, text="the second")
    assert wait_until(lambda: len(made.model.said) >= 2, PATIENCE), made.told(session)
    assert made.model.said == ["the very first", "the second"]


@pytest.mark.parametrize("stage", ["qwen", "copilot", "pi", "aider"], indirect=True)
def test_several_lines_are_one_request(lit: Engine, stage: Callable[..., Stage]) -> None:
    made = stage(lit)
    session = made.terminal()
    for number, text in enumerate(
        ("first line\nsecond line\n\n    a fourth", "/tmp/some/where is broken", "the last"), 1
    ):
        lit.call("send_input", session=session, text=text)
        assert wait_until(lambda number=number: len(made.model.said) >= number, PATIENCE), made.told(session)
        assert made.model.said[-1].strip() == text
    assert len(made.model.said) == 3
