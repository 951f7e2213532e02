"""Lengths of time as people write them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.duration import LONGEST, format_duration, parse_duration
from lamplighter.errors import InputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5), ("5s", 5), ("1.5m", 90), ("10min", 600), ("10 min", 600), ("2 hours", 7200), ("1h30m", 5400), ("1h 30min", 5400),
     ("3h05m", 11100), ("2d04h", 187200), ("1w", 604800), ("90sec", 90), ("1 Day", 86400), ("250ms", 0.25), (0.5, 0.5), ("0", 0)],
)  # fmt: skip
def test_what_people_write_is_understood(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "-5s",
        "soon",
        "1e9",
        "5 years",
        "NaN",
        "99999999d",
        "m",
        "5x",
        "1h30",
        "30m1h",
        "1m1m",
        "1 h m",
        "5,5s",
        "1h-5m",
        "5s!",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_duration(text)


@given(st.integers(0, int(LONGEST)))
def test_what_is_shown_can_be_typed(seconds: int) -> None:
    """To the smaller of the units that are shown."""
    shown = parse_duration(format_duration(seconds))
    assert 0 <= seconds - shown < max(60, seconds / 20)


@given(st.text(max_size=30))
def test_any_text_is_a_length_or_refused(text: str) -> None:
    with suppress(InputError):
        assert 0 <= parse_duration(text) <= LONGEST
