"""How an agent is started with a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamplighter.domain.recipe import Recipe
from lamplighter.errors import InputError
from lamplighter.settings import load_settings

CLAUDE = Recipe(("claude", "-p", "--", "{task}"), ("claude", "--", "{task}"), ("--model", "{model}"))


def test_the_words() -> None:
    assert CLAUDE.words("claude", "do it", None, stays=False) == (["claude", "-p", "--", "do it"], True)
    assert CLAUDE.words("claude", "do it", "big", stays=True) == (["claude", "--model", "big", "--", "do it"], True)
    assert Recipe(("cat", "-")).words("cat", "{model}", None, stays=True) == (["cat", "-"], False)
    told, _ = CLAUDE.words("claude", "{model} $(id) {task}", None, stays=False)
    assert told[-1] == "{model} $(id) {task}"


def test_a_model_needs_its_place() -> None:
    with pytest.raises(InputError, match="no place for a model"):
        Recipe(("cat",)).words("cat", "x", "big", stays=False)


def test_the_example_is_a_config_file(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent.parent / "docs/settings.md").read_text()
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
