"""What makes a process a leak, and what keeps it from being one for certain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lamplighter.domain.leak import (
    Certainty,
    Cleared,
    Fate,
    Leak,
    Leaked,
    LeakedFile,
    LeakEvidence,
    LeakVerdict,
    Leftover,
    Origin,
    judge,
    name_leak,
)

DEAD = Origin("claude", "s1", Fate.DEAD, "claude 7 is gone")
UNSURE = Origin("codex", "t1", Fate.UNSURE, "no codex is known to be its own")
ALIVE = Origin("gemini", None, Fate.ALIVE, "")
JOB = LeakEvidence(origins=(DEAD,), orphan="its parent is gone", mute=False, unheard=True)
SERVER = LeakEvidence(origins=(DEAD,), orphan="its parent is gone", mute=True, unheard=True, mcp=True)


def certainty(signs: LeakEvidence) -> str:
    judged = judge(signs)
    return judged.certainty.value if isinstance(judged, LeakVerdict) else ""


@pytest.mark.parametrize("signs", [JOB, SERVER, replace(JOB, shell=True), replace(SERVER, quiet=True)])
def test_certain(signs: LeakEvidence) -> None:
    assert certainty(signs) == "certain"


@pytest.mark.parametrize(
    "doubt",
    [
        {"unheard": False},
        {"serves": True},
        {"logged": True},
        {"held": True},
        {"writes": "/x/out"},
        {"origins": (UNSURE,)},
        {"origins": (DEAD, UNSURE)},
        {"origins": (DEAD, ALIVE)},
        {"orphan": ""},
    ],
)
def test_one_doubt_makes_a_job_likely(doubt: dict[str, object]) -> None:
    assert certainty(replace(JOB, **doubt)) == "likely"  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "signs",
    [
        replace(JOB, origins=(ALIVE,)),
        replace(JOB, orphan="", unheard=False),
        replace(JOB, origins=()),
        replace(SERVER, origins=(), orphan=""),
        replace(SERVER, origins=(), mute=False, held=True),
        replace(SERVER, origins=(), unheard=False, heard=True),
        replace(SERVER, origins=(), mute=False, serves=True),
        replace(SERVER, origins=(), mcp=False),
        replace(JOB, agent="claude"),
        replace(JOB, agent="codex", daemon=True, busy=True),
    ],
)
def test_not_listed(signs: LeakEvidence) -> None:
    judged = judge(signs)
    assert isinstance(judged, Cleared)
    assert judged.why


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"writes": "/x/out"},
        {"serves": True},
        {"mute": False, "unheard": False, "quiet": True},
        {"unheard": False},
    ],
)
def test_a_name_alone_makes_nothing_certain(more: dict[str, object]) -> None:
    """Called an MCP server, its starter gone, and dead or quiet in whatever way: likely, with what it lacks said."""
    judged = judge(replace(SERVER, origins=(), **more))  # pyright: ignore[reportArgumentType]
    assert isinstance(judged, LeakVerdict)
    assert (judged.kind, judged.certainty) == (Leftover.MCP_SERVER, Certainty.LIKELY)
    assert judged.why[-1] == "but only its name says whose it was"


def test_a_server_of_a_dead_agent_that_writes_is_likely() -> None:
    judged = judge(replace(SERVER, writes="/x/out"))
    assert isinstance(judged, LeakVerdict)
    assert judged.certainty is Certainty.LIKELY
    assert judged.why[-1] == "but it has just written to /x/out"
    assert certainty(replace(SERVER, agent="claude", origins=())) == "certain"
    assert certainty(replace(SERVER, agent="claude", origins=(), writes="/x/out")) == "likely"


def test_nobody_reads_what_goes_to_nowhere() -> None:
    judged = judge(replace(JOB, unheard=False, quiet=True))
    assert isinstance(judged, LeakVerdict)
    assert judged.why[-1] == "but its output goes to /dev/null: it may be meant to go on"


def test_an_mcp_server_may_wait_for_clients_too() -> None:
    """Its own client spoke to it over its input, and is gone; without a mark nobody knows who else it is for."""
    assert certainty(replace(SERVER, serves=True)) == "certain"
    assert certainty(replace(SERVER, serves=True, origins=())) == "likely"


def test_a_daemon_that_nobody_uses() -> None:
    judged = judge(replace(JOB, origins=(), agent="codex", daemon=True))
    assert isinstance(judged, LeakVerdict)
    assert (judged.kind, judged.certainty, judged.agent) == (Leftover.DAEMON, Certainty.CERTAIN, "codex")


def test_it_is_stored_and_read_again_as_it_is() -> None:
    process = Leaked(1, 2, Leftover.JOB, "sleep", 3.5, 4, ("why",))
    file = LeakedFile("/x", 1, 2, "entry", 5)
    leak = Leak("leak-1", "claude", "s", Certainty.LIKELY, ("why",), (process,), (file,), ((7, 8),))
    assert Leak.from_document(leak.document()) == leak


def test_its_name_does_not_depend_on_what_comes_and_goes() -> None:
    assert name_leak("a", "s", Certainty.CERTAIN, [(1, 2)]) == name_leak("a", "s", Certainty.CERTAIN, [(3, 4), (1, 2)])
    assert name_leak("a", "s", Certainty.CERTAIN, []) != name_leak("a", "s", Certainty.LIKELY, [])
