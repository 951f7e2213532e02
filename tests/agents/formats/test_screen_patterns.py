"""What the screens of the real programs say. The screens are kept in tests/golden, as they were drawn."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from lamplighter.agents import agent_named, names_with
from lamplighter.domain.keys import bracketed, plain_text
from lamplighter.domain.screen_sign import ScreenReading, Sign
from lamplighter.domain.verdict import Evidence, Rest, Thresholds, Verdict, judge
from tests.support.places import GOLDEN

SCREENS = sorted(GOLDEN.glob("*/screens/*.txt"))
QUIET = Evidence(processes=1, cpu_rate=0.0, output_age=60.0, age=600.0, still_for=60.0, rest=Rest.KEYS, front="agent")


def read(screen: Path, title: str | None = None) -> ScreenReading | None:
    signs = agent_named(screen.parts[-3]).screens
    assert signs is not None
    expected = json.loads(screen.with_suffix(".json").read_text())
    return signs.read(screen.read_text(), expected["title"] if title is None else title)


@pytest.mark.parametrize("screen", SCREENS, ids=[f"{path.parts[-3]}-{path.stem}" for path in SCREENS])
def test_what_a_screen_says(screen: Path) -> None:
    expected = json.loads(screen.with_suffix(".json").read_text())["told"]
    told = read(screen)
    if expected is None:
        assert told is None
    else:
        assert told is not None
        said = {name: getattr(told, name) for name in ("what", "turned", "typed", "error")}
        usual = {"what": "", "turned": False, "typed": False, "error": ""}
        assert {"sign": told.sign.value, **said} == {**usual, **expected}


def test_only_an_input_line_takes_a_text() -> None:
    for path in SCREENS:
        told = read(path)
        kind = path.stem.removeprefix("small_").partition("_")[0]
        asks = path.stem.endswith(("_dialog", "_over", "_view")) or kind in ("permission", "question", "plan", "trust")
        busy = Sign.WORKING if path.parts[-3] == "aider" else None  # it takes nothing while it works
        assert told is None or told.takes == (told.sign not in (Sign.WAITING, busy)), path
        assert not asks or told is None or told.sign is Sign.WAITING, path


def test_a_permission_is_seen_with_warnings_below_it() -> None:
    screen = GOLDEN / "gemini" / "screens" / "permission_shell.txt"
    signs = agent_named("gemini").screens
    assert signs is not None
    warned = f"{screen.read_text().rstrip()}\n\n⚠ 24-bit colour is missing\n  here and there\n  and so is more\n"
    told = signs.read(warned, "")
    assert told is not None
    assert (told.sign, told.takes) == (Sign.WAITING, False)
    told = signs.read("nothing that is known", "✋  Action Required (project)")
    assert told is not None
    assert (told.sign, told.takes) == (Sign.WAITING, False)


def test_every_agent_has_its_screens() -> None:
    for agent in names_with("screens"):
        signs = {told.sign for path in SCREENS if path.parts[-3] == agent and (told := read(path))}
        assert signs == set(Sign), agent


@pytest.mark.parametrize("screen", SCREENS, ids=[f"{path.parts[-3]}-{path.stem}" for path in SCREENS])
def test_no_screen_of_one_agent_is_at_the_prompt_of_another(screen: Path) -> None:
    """Whatever an agent shows of another's screen in its conversation, what is at its own end counts."""
    for agent in names_with("screens"):
        signs = agent_named(agent).screens
        assert signs is not None
        if agent != screen.parts[-3]:
            told = signs.read(screen.read_text(), "")
            assert told is None or told.sign is not Sign.PROMPT, (agent, told)


@pytest.mark.parametrize("agent", names_with("screens"))
def test_half_a_screen_says_nothing_or_the_same(agent: str) -> None:
    """A screen that is being drawn: cut off below any line it must not be at its prompt while it works."""
    signs = agent_named(agent).screens
    assert signs is not None
    for path in SCREENS:
        whole = read(path)
        if path.parts[-3] != agent or whole is None or whole.sign is not Sign.WORKING:
            continue
        lines = path.read_text().split("\n")
        title = json.loads(path.with_suffix(".json").read_text())["title"]
        for end in range(len(lines)):
            told = signs.read("\n".join(lines[:end]), title)
            if agent not in (
                "opencode",
                "aider",
            ):  # which say in the last line alone that they work, and nothing in the title
                assert told is None or told.sign is not Sign.PROMPT, (path.stem, end)


@pytest.mark.parametrize("agent", names_with("screens"))
def test_reading_a_screen_is_quick_whatever_is_on_it(agent: str) -> None:
    signs = agent_named(agent).screens
    assert signs is not None
    hostile = [
        "❯ " * 500,
        "─" * 500,
        " Bash command",
        "╌" * 200,
        "│ ? Shell " + " " * 400,
        "┃ " * 300,
        "› " * 300,
        "a?" * 200,
        "",
    ]
    started = time.thread_time()
    for turn in range(len(hostile)):
        text = "\n".join((hostile[turn:] + hostile[:turn]) * 12)
        signs.read(text + "\n Esc to cancel", "⠋")
        signs.read(text + "\n ┃ enter confirm", "")
    assert time.thread_time() - started < 1.0


# -- the verdict


def seen(told: ScreenReading | None, **changes: object) -> Evidence:
    return Evidence(**{name: getattr(QUIET, name) for name in QUIET.__dataclass_fields__} | {"told": told} | changes)  # pyright: ignore[reportArgumentType]


def judged(told: ScreenReading | None, **changes: object) -> tuple[Verdict, str]:
    verdict, words = judge(seen(told, **changes), Thresholds())
    return verdict, words[0]


def test_at_its_prompt_it_is_finished_when_a_turn_is_over_and_idle_when_there_was_none() -> None:
    assert judged(ScreenReading(Sign.PROMPT, turned=True))[0] is Verdict.FINISHED
    assert judged(ScreenReading(Sign.PROMPT))[0] is Verdict.IDLE


def test_a_prompt_on_the_screen_does_not_outweigh_what_its_processes_do() -> None:
    prompt = ScreenReading(Sign.PROMPT, turned=True)
    assert judged(prompt, background="sleep")[0] is Verdict.WORKING
    assert judged(prompt, rest=Rest.CHILD)[0] is Verdict.WORKING
    assert judged(prompt, cpu_rate=0.5)[0] is Verdict.WORKING
    assert judged(prompt, output_age=1.0)[0] is Verdict.WORKING
    assert judged(prompt, stopped=1, halted="agent")[0] is Verdict.STUCK


def test_a_little_cpu_at_its_prompt_is_no_work_but_that_of_others_is() -> None:
    prompt = ScreenReading(Sign.PROMPT, turned=True)
    assert judged(prompt, cpu_rate=0.04, cpu_age=0.1, behind_rate=0.0)[0] is Verdict.FINISHED
    assert judged(prompt, cpu_rate=0.04, cpu_age=0.1, behind_rate=0.03)[0] is Verdict.WORKING
    assert judged(prompt, cpu_rate=0.04, cpu_age=0.1)[0] is Verdict.WORKING
    assert judged(prompt, cpu_rate=0.4, behind_rate=0.0)[0] is Verdict.WORKING
    assert judged(None, cpu_rate=0.04, cpu_age=0.1, behind_rate=0.0)[0] is Verdict.WORKING


def test_a_screen_that_says_it_works_outweighs_stillness_until_that_is_too_long() -> None:
    assert judged(ScreenReading(Sign.WORKING))[0] is Verdict.WORKING
    assert judged(ScreenReading(Sign.WORKING), still_for=4000.0)[0] is Verdict.STUCK


def test_a_screen_that_is_not_known_is_unknown() -> None:
    assert judged(None, blind=True)[0] is Verdict.UNKNOWN
    assert judged(None)[0] is Verdict.IDLE


def test_a_dialog_is_waited_at_also_while_it_blinks() -> None:
    verdict, because = judged(ScreenReading(Sign.WAITING, "permission to run: make"), output_age=0.1)
    assert (verdict, because) == (Verdict.WAITING, "it waits for permission to run: make")


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_an_error_is_told_until_something_else_is_said(agent: str) -> None:
    signs, screen = agent_named(agent).screens, GOLDEN / agent / "screens" / "no_credit.txt"
    assert signs is not None
    lines = screen.read_text().split("\n")
    error = json.loads(screen.with_suffix(".json").read_text())["told"]["error"]
    place = next(number for number, line in enumerate(lines) if error[:20] in line)
    after = lines.index("", place)
    said = {"claude": "● all is well again", "codex": "• all is well again", "gemini": "✦ all is well again"}[agent]
    told = signs.read("\n".join([*lines[:after], "", said, *lines[after:]]), "")
    assert told is not None
    assert (told.sign, told.turned, told.error) == (Sign.PROMPT, True, "")


def test_an_error_is_evidence_in_the_agents_own_words() -> None:
    failed = ScreenReading(Sign.PROMPT, turned=True, error="429 slow down")
    assert judged(failed) == (Verdict.FINISHED, "its last turn failed: 429 slow down")
    trying = ScreenReading(Sign.WORKING, error="500 on fire")
    assert judged(trying) == (Verdict.WORKING, "it tries again after an error: 500 on fire")
    assert judged(trying, output_age=0.1) == (Verdict.WORKING, "it tries again after an error: 500 on fire")
    verdict, words = judge(seen(failed, background="sleep"), Thresholds())
    assert (verdict, words[:2]) == (
        Verdict.WORKING,
        ["its last turn failed: 429 slow down", "sleep runs in its background"],
    )


def test_a_turn_that_is_over_is_finished_two_seconds_later() -> None:
    over = ScreenReading(Sign.PROMPT, turned=True)
    soon: dict[str, object] = {"output_age": 2.5, "input_age": 2.5, "cpu_age": 1.0, "behind_rate": 0.0}
    assert judged(over, **soon)[0] is Verdict.FINISHED
    assert judged(over, **soon, age=5.0)[0] is Verdict.FINISHED
    assert judged(ScreenReading(Sign.PROMPT), **soon, age=5.0)[0] is Verdict.IDLE
    assert judged(over, **{**soon, "output_age": 1.9})[0] is Verdict.WORKING
    assert judged(over, **{**soon, "input_age": 1.9})[0] is Verdict.WORKING


def test_nothing_is_over_soon_that_may_go_on() -> None:
    """A screen of before, a job beside it, a prompt without a turn, a front that nobody has seen: the usual time holds."""
    over = ScreenReading(Sign.PROMPT, turned=True)
    soon: dict[str, object] = {"output_age": 2.5, "cpu_age": 20.0, "behind_rate": 0.0}
    assert judged(over, **soon, resumed=True, age=5.0)[0] is Verdict.WORKING
    assert judged(over, **soon, resumed=True)[0] is Verdict.FINISHED
    assert judged(over, **soon, background="make")[0] is Verdict.WORKING
    assert judged(over, **soon, rest=None)[0] is Verdict.WORKING
    assert judged(ScreenReading(Sign.PROMPT), **soon, prompted=True)[0] is Verdict.WORKING
    assert judged(ScreenReading(Sign.WORKING), **soon)[0] is Verdict.WORKING
    assert judged(None, **soon)[0] is Verdict.WORKING


def test_an_editor_in_an_agent_waits_for_a_person_whatever_its_screen_says() -> None:
    for told in (None, ScreenReading(Sign.WORKING), ScreenReading(Sign.PROMPT, turned=True)):
        assert judged(told, editor="vim") == (Verdict.WAITING, "vim is open, and waits for a person")
        assert judged(told, editor="vim", output_age=0.1, cpu_rate=0.5)[0] is Verdict.WAITING
    assert judged(None, editor="vim", halted="vim", stopped=1)[0] is Verdict.STUCK


# -- what is pasted


def test_a_paste_holds_nothing_but_text() -> None:
    said = plain_text("a\x1b[201~b\x07\r\nc\rd\te\x9b\x7f\udcff")
    assert said == "a[201~b\nc\nd\te\ufffd"
    assert bracketed(said) == "\x1b[200~a[201~b\rc\rd\te\ufffd\x1b[201~".encode()


def test_what_would_open_a_list_or_a_shell_gets_a_blank() -> None:
    claude = agent_named("claude").screens
    assert claude is not None
    assert [claude.as_said(text) for text in ("!ls", "see @a.txt", "/tmp/a", "/compact", "a \\", "plain")] == [
        " !ls", "see @a.txt ", "/tmp/a ", "/compact", "a \\ ", "plain",
    ]  # fmt: skip
