"""Amounts and lengths as people write them."""

from __future__ import annotations

import pytest

from lamplighter.domain.limits import Limits, breach_words, choose, parse_size
from lamplighter.errors import LampError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500M", 500_000_000),
        ("2G", 2_000_000_000),
        ("1.5GiB", 1_610_612_736),
        ("2gb", 2_000_000_000),
        (" 3 m ", 3_000_000),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, "max_memory") == size


@pytest.mark.parametrize("text", ["", "5", "-1G", "1e9", "G", "1 000M", "99999999999999999999x"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(LampError, match="max_memory"):
        parse_size(text, "max_memory")


def test_what_is_asked_for_comes_before_the_default() -> None:
    default = Limits(idle=60.0, memory=5_000_000)
    assert choose(default, None, None, None) is default
    assert choose(default, "none", "2h", "1G") == Limits(age=7200.0, memory=1_000_000_000)


def test_reasons_name_the_limit() -> None:
    assert breach_words("idle", 1800, 1900) == "idle limit of 30m passed: quiet for 31m"
    assert breach_words("memory", 2e9, 2.13e9) == "memory limit of 2 GB passed: 2.13 GB"
