"""How an agent is started with a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamplighter.agents import names_with
from lamplighter.agents.formats.commands import manner_of
from lamplighter.domain.agent_command import CONVERSATION, Mode, written
from lamplighter.errors import Code, InputError
from lamplighter.settings import load_settings
from tests.support.places import ROOT

CLAUDE = written("claude", ("claude", "-p", "--", "{task}"), ("claude", "--", "{task}"), ("--model", "{model}"))


def test_what_the_operator_wrote() -> None:
    assert CLAUDE.headless == Mode(new=("-p",), prompt=("--", "{prompt}"), needs_prompt=True)
    assert CLAUDE.terminal == Mode(prompt=("--", "{prompt}"), needs_prompt=True)
    assert CLAUDE.words(CLAUDE.headless.new, ("--add-dir", "x"), "big", headless=True) == (
        "claude", "--model", "big", "-p", "--add-dir", "x",
    )  # fmt: skip
    assert written("cat", ("cat", "-"), (), ()).headless == Mode(new=("-",))


def test_a_model_needs_its_place() -> None:
    with pytest.raises(InputError, match="no place for a model"):
        written("cat", ("cat",), (), ()).words((), (), "big", headless=True)


def test_what_is_written_goes_before_what_is_known() -> None:
    own = written("codex", ("node", "/x/codex", "exec", "--", "{task}"), (), ())
    merged = manner_of("codex", {"codex": own})
    assert merged.program == ("node", "/x/codex")
    assert merged.headless.new == ("exec",)
    assert merged.headless.resume is not None
    assert merged.words(merged.headless.resume, (), "big", headless=True)[:4] == ("node", "/x/codex", "exec", "resume")
    assert merged.model == ("--model", "{model}")


@pytest.mark.parametrize("agent", names_with("start"))
def test_each_can_begin_and_go_on(agent: str) -> None:
    manner = manner_of(agent, {})
    assert manner.agent == agent
    for way in (manner.terminal, manner.headless):
        assert way.last
        if agent == "aider":  # its conversations have no names
            assert way.resume is None
            continue
        assert way.resume is not None
        assert any(CONVERSATION in word for word in way.resume)
    dangerous = ("dangerous", "yolo", "bypass", "trust-all", "skip-permissions", "auto")
    words = [
        word
        for way in (manner.terminal, manner.headless)
        for part in (way.new, way.resume or (), way.last or ())
        for word in part
    ]
    assert not [word for word in words if any(bad in word for bad in dangerous)]


def test_an_unknown_agent_is_told_the_known() -> None:
    with pytest.raises(InputError) as caught:
        manner_of("clod", {"mine": CLAUDE})
    assert caught.value.code is Code.NO_SUCH_PROGRAM
    assert "claude" in caught.value.hint
    assert "mine" in caught.value.hint


def test_the_example_is_a_config_file(tmp_path: Path) -> None:
    page = (ROOT / "docs/settings.md").read_text()
    (tmp_path / "config.toml").write_text(page.split("## Agents")[1].split("```toml")[1].split("```")[0])
    assert load_settings({"LAMPLIGHTER_HOME": str(tmp_path)}).agents == {"claude": CLAUDE}


@pytest.mark.parametrize(
    "text",
    [
        "agents = 3",
        "[agents]\nclaude = 3",
        "[agents.claude]",
        "[agents.claude]\ncommand = []",
        '[agents.claude]\ncommand = "claude"',
        '[agents.claude]\ncommand = ["claude", 3]',
        '[agents.claude]\ncommand = ["claude"]\nmodle = ["x"]',
    ],
)
def test_a_wrong_table_is_an_error_that_names_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(InputError, match="agents"):
        load_settings({"LAMPLIGHTER_HOME": str(tmp_path)})
