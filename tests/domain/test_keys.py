"""Which texts are keys, where a text and a key come in one input."""

from __future__ import annotations

import pytest

from lamplighter.domain.keys import is_combination


@pytest.mark.parametrize("text", ["C-c", "C-d", "C-[", "M-x", "C-M-x", "M-Left", "C-Up", "S-Tab", "S-F5", "Escape"])
def test_modifiers_before_a_key_make_a_key(text: str) -> None:
    assert is_combination(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "c",
        "Up",
        "Enter",
        "Tab",
        "escape",
        "Escape ",
        "C-",
        "C-cc",
        "C-c C-d",
        " C-c",
        "C-c\n",
        "c-c",
        "S-x",
        "C-3",
        "-l",
        "x-y",
        "C-é",
    ],
)
def test_anything_else_is_text(text: str) -> None:
    assert not is_combination(text)
