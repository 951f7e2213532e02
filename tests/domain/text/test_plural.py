"""Numbers, times and refusals as they are said: nothing takes less than no time, one is one, and names stand apart."""

from __future__ import annotations

import ast
import re

import pytest

from lamplighter.domain.ending import Certificate
from lamplighter.domain.permission import Act, Caller, Rank, check
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.domain.text.plural import counted
from lamplighter.errors import ForbiddenError
from lamplighter.frontends.cli.display.format import took
from tests.support.places import ROOT

SOURCE = ROOT / "src/lamplighter"
SESSION = Session(
    id="0aaaaaaa", name="byhand", kind=Kind.TASK, driver=Driver.TERMINAL, agent="generic", owner="operator", parent=None,
    project=None, command=("cat",), cwd="/", boot="b", created_at=10.0, started_at=12.0, key="k",
)  # fmt: skip


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [(1, "session", "1 session"), (0, "process", "0 processes"), (2, "entry", "2 entries"), (3, "file", "3 files")],
)
def test_one_is_one(count: int, noun: str, said: str) -> None:
    assert counted(count, noun) == said


def test_every_count_is_said_by_the_one_function() -> None:
    """A number straight before a plural, in any text that is put together, would say "1 sessions"."""
    plural = re.compile(
        r"^ (?!for |of )(?:\w+ )?(sessions|processes|messages|windows|records|secrets|captures|entries|agents|files)\b"
    )
    found: list[str] = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                for value, text in zip(node.values, node.values[1:], strict=False):
                    whole = isinstance(text, ast.Constant) and plural.match(str(text.value))
                    if isinstance(value, ast.FormattedValue) and whole and _is_number(value.value):
                        found.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)[:80]}")
    assert found == []


def _is_number(value: ast.expr) -> bool:
    """What is counted: not a name in capitals, which is a bound of ours and more than one."""
    if isinstance(value, ast.Name):
        return value.id in ("count", "rows", "number", "total", "removed")
    called = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "len"
    return called or isinstance(value, ast.Subscript)


@pytest.mark.parametrize(("seconds", "said"), [(-0.004, "0.00 s"), (-3.0, "0.00 s"), (1.234, "1.23 s"), (None, "-")])
def test_nothing_takes_less_than_no_time(seconds: float | None, said: str) -> None:
    assert took(seconds) == said


def test_a_certificate_of_a_holder_of_before_counts_forward() -> None:
    found = Certificate.from_document(
        {"guarantee": "tree", "seconds": -0.0, "processes": [{"pid": 1, "seconds": -0.001}], "survivors": []}
    )
    assert str(found.document()["seconds"]) == "0.0"
    assert found.processes == [{"pid": 1, "seconds": 0.0}]


def test_a_refusal_names_what_it_is_about() -> None:
    agent = Caller(Rank.SESSION, "session:0bbbbbbb", "0bbbbbbb")
    with pytest.raises(ForbiddenError) as refused:
        check(agent, Act.SEND, SESSION, [])
    assert refused.value.message.startswith('session:0bbbbbbb may not send to "byhand" (0aaaaaaa): ')
