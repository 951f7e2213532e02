"""The ladder, step by step, with a tree of which the test says who is there."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lamplighter.holder.kill_ladder import KillLadder
from tests.support.processes import wait_until


class Told:
    """A tree whose members are told by the test."""

    cgroup = None

    def __init__(self, *members: int) -> None:
        self.apart = set[int]()
        self.there = set(members)
        self.kills = 0

    def members(self) -> set[int]:
        return set(self.there)

    def begin(self) -> None:
        pass

    def terminate(self) -> None:
        pass

    def kill(self) -> None:
        self.kills += 1


def ladder(tree: Any, *, keep_children: bool = False) -> KillLadder:
    return KillLadder(tree, adopted=True, keep_children=keep_children)


@pytest.mark.parametrize("keep_children", [False, True])
def test_a_command_that_leaves_nobody_has_ended_at_the_second_look(keep_children: bool) -> None:
    tree = Told()
    dying = ladder(tree, keep_children=keep_children)
    dying.proceed(True)
    dying.proceed(True)
    assert dying.phase == "running", "two looks at one moment are one"
    assert dying.next_look is not None
    assert wait_until(lambda: time.monotonic() >= (dying.next_look or 0))
    dying.proceed(True)
    assert (dying.phase, dying.ladder, tree.kills) == ("ended", [], 0)


def test_a_survivor_that_goes_at_last_is_noticed_by_two_looks_in_a_row() -> None:
    tree = Told(1)
    dying = ladder(tree)
    dying.stop(0)
    dying.phase, dying.next_look = "survivors", 0.0
    tree.there.clear()
    dying.proceed(True)
    assert dying.next_look is not None
    assert dying.next_look - time.monotonic() < 1, "not after the pause between two tries"
    assert wait_until(lambda: time.monotonic() >= (dying.next_look or 0))
    dying.proceed(True)
    assert dying.phase == "ended"


def test_who_comes_back_between_the_looks_is_killed() -> None:
    tree = Told(1)
    dying = ladder(tree)
    dying.stop(0)
    tree.there.clear()
    dying.next_look = 0.0
    dying.proceed(True)
    tree.there.add(2)
    dying.next_look, before = 0.0, tree.kills
    dying.proceed(True)
    assert (dying.phase, tree.kills) == ("killing", before + 1)
