"""A postponed dataclass is what the standard library makes, from the first use on."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
import threading

import pytest

from lamplighter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Base:
    name: str
    words: tuple[str, ...] = ()
    notes: list[str] = dataclasses.field(default_factory=list[str], compare=False)

    def loud(self) -> str:
        return self.name.upper()


@dataclass(frozen=True)
class Derived(Base):
    size: int = dataclasses.field(default=3)


class Plain(Derived):
    """No dataclass of its own."""


def test_it_is_what_the_standard_library_makes() -> None:
    one = Derived("a", size=4)
    assert (one.name, one.words, one.notes, one.size, one.loud()) == ("a", (), [], 4, "A")
    assert one == Derived("a", (), ["not compared"], 4) != Derived("b")
    assert hash(one) == hash(Derived("a", (), ["x"], 4))
    assert dataclasses.replace(one, size=5).size == 5
    assert repr(one).endswith("Derived(name='a', words=(), notes=[], size=4)")
    assert dataclasses.asdict(one)["size"] == 4
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.size = 6  # type: ignore[misc]
    with pytest.raises(TypeError, match="unexpected keyword"):
        Derived("a", colour=1)  # type: ignore[call-arg]


def test_fields_are_known_before_the_first_is_made() -> None:
    @dataclass
    class Local:
        one: int
        two: str = "2"

    assert dataclasses.is_dataclass(Local)
    assert [field.name for field in dataclasses.fields(Local)] == ["one", "two"]
    match Local(1):
        case Local(one, two):
            assert (one, two) == (1, "2")


def test_a_class_below_one_is_made_with_it() -> None:
    assert Plain("x", size=1).size == 1
    assert Plain("x") == Plain("x")
    assert Plain("x") != Derived("x")


def test_many_threads_at_once_make_it_once() -> None:
    @dataclass(frozen=True)
    class Local:
        number: int

    made: list[Local] = []
    begin = threading.Barrier(16)

    def use(number: int) -> None:
        begin.wait()
        made.append(Local(number))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.number for one in made} == set(range(16))
    assert len(set(made)) == 16


def test_nothing_is_made_where_nothing_is_used() -> None:
    code = """
import dataclasses
made = set()
process = dataclasses._process_class
dataclasses._process_class = lambda cls, *rest: made.add(cls.__qualname__) or process(cls, *rest)
from lamplighter.domain import plan
print(*made & {"Sighting", "Row", "Plan"})
dataclasses.fields(plan.Sighting)
print(*made & {"Sighting", "Row", "Plan"})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=200)
    assert done.stdout.splitlines() == ["", "Sighting"]
