"""Pytest fixtures: an engine of the test's own, with a leak check."""

from __future__ import annotations

import os
import random
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lamplighter.holder import cgroup
from tests.support import dispositions, mortality
from tests.support.clockwork import FOLDER, Clockwork
from tests.support.engine import Engine, engine
from tests.support.processes import end_marked
from tests.support.standing import Standing

EVERY_STEP = pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.deep)])
"""A death at every ninth step of something, before one and after the next; at each one in the long run."""


def cgroup_usable() -> bool:
    """Whether this process may make cgroups here."""
    base = cgroup.make_base(f"lamplighter-probe-{os.getpid()}")
    if base is not None:
        os.rmdir(base)
    return base is not None


@pytest.fixture(scope="session", autouse=True)
def plain() -> None:
    """Where cases run, which is not where they are handed out: whoever called ./test may have signals ignored or blocked, and
    may sit at a terminal."""
    dispositions.be_plain()
    dispositions.leave_terminal()


@pytest.fixture(scope="module")
def standing() -> Iterator[Standing]:
    """What the cases of a file share that are marked `shared`."""
    made = Standing()
    yield made
    made.close()


def engine_for(request: pytest.FixtureRequest, **environment: str) -> AbstractContextManager[Engine]:
    """A new one; for a case that is marked `shared`, and not `alone`, the one that the case before had."""
    if request.node.get_closest_marker("shared") and not request.node.get_closest_marker("alone"):
        return request.getfixturevalue("standing").lend(**environment)
    return engine(**environment)


@pytest.fixture
def lit(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine with what this machine offers."""
    with engine_for(request) as made:
        yield made


@pytest.fixture(params=["kernel", "tree"])
def both(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine on each path: with cgroups and without."""
    if request.param == "kernel" and not cgroup_usable():
        pytest.skip("no cgroup can be made here")
    with engine_for(request, **({"LAMPLIGHTER_CGROUP": "off"} if request.param == "tree" else {})) as made:
        made.guarantee = request.param
        yield made


@pytest.fixture
def timed() -> Iterator[tuple[Engine, Clockwork]]:
    """An engine whose daemon goes by a clock that the test moves, and looks at its sessions all the time."""
    with engine(PYTHONPATH=FOLDER, LAMPLIGHTER_PATROL="0.05s", LAMPLIGHTER_WARNING="30s") as made:
        yield made, Clockwork(made.folder)


@pytest.fixture
def mortal() -> Iterator[Engine]:
    """An engine whose daemon dies at the step that a test chooses: `tests.support.mortality`."""
    with engine(PYTHONPATH=mortality.FOLDER, LAMPLIGHTER_QUIET="0.2s") as made:
        made.call("get_status")
        yield made


@pytest.fixture
def mark() -> Iterator[str]:
    """A token for a test's processes; any that still carry it at the end make the test fail."""
    token = f"mark-{uuid.uuid4().hex}"
    yield token
    left = end_marked(token)
    assert not left, f"marked processes left: {left}"


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers that can be had again: the seed is LAMPLIGHTER_TEST_SEED, else the same each time for a case. It is shown
    when the test fails."""
    seed = os.environ.get("LAMPLIGHTER_TEST_SEED") or request.node.name
    print(f"LAMPLIGHTER_TEST_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def home(lit: Engine) -> Path:
    return lit.folder


@pytest.fixture
def lamp(lit: Engine) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The real command line, with an engine of the test's own."""
    return lit.cli
