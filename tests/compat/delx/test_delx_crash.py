"""The delx tools when things go wrong: the daemon dies at every step, two ask at once, a hundred close twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from lamplighter.errors import LampError
from tests.support.engine import Engine
from tests.support.fixtures import EVERY_STEP
from tests.support.mcp_client import McpClient, ToolError, outside
from tests.support.mortality import deaths
from tests.support.processes import wait_until


def begin(lit: Engine, agent: str, **more: Any) -> str:
    told, shared = {"agent_id": agent}, {"delx": agent}
    return lit.call("start_logical", name=agent, cwd="/", told=told, shared=shared, **more)["id"]


def resume(lit: Engine, agent: str, **more: Any) -> dict[str, Any]:
    return lit.call("resume_logical", namespace="delx", agent=agent, **more)


def at_once(*work: Callable[[], Any]) -> list[Any]:
    """What each came to, in their order: a result, or the error."""
    found: list[Any] = [None] * len(work)

    def one(number: int, act: Callable[[], Any]) -> None:
        try:
            found[number] = act()
        except (LampError, ToolError) as error:
            found[number] = error

    threads = [threading.Thread(target=one, args=pair) for pair in enumerate(work)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return found


@EVERY_STEP
def test_a_whole_life_is_led_once_wherever_the_daemon_dies(mortal: Engine, every: int) -> None:
    mortal.call("get_status")
    for death in deaths(mortal, 2 * every - 1):
        agent, number = f"life-{death.number}", death.number
        death.arm()
        session, other = begin(mortal, agent, key=f"one-{number}"), begin(mortal, "other", key=f"two-{number}")
        given = {"from_session": other, "to_session": session, "context": "the pump"}
        handed = mortal.call("hand_over", key=f"over-{number}", **given)
        said = {"reason": "over", "epitaph": "so long", "policy": "successor_required"}
        closed = mortal.call("close_logical", session=session, key=f"close-{number}", **said)
        token = closed["token"] or mortal.call("close_logical", session=session, policy="successor_allowed")["token"]
        found = resume(mortal, agent, token=token, key=f"resume-{number}")
        check_life(mortal, session, other, handed["notes"])
        assert (closed["closed"], found["begun"], found["predecessor"]["id"]) == (True, True, session)
        assert "the pump" in found["packet"]
        again = resume(mortal, agent, token=token, key=f"resume-{number}")
        assert again["session"]["id"] == found["session"]["id"]
        (refused,) = at_once(partial(resume, mortal, agent, token=token))
        assert refused.code == "FORBIDDEN"
        line = mortal.call("get_lineage", session=session)["generations"]
        assert [one["id"] for one in line] == [session, found["session"]["id"]]


def check_life(lit: Engine, session: str, other: str, notes: list[str]) -> None:
    """Begun, noted on, closed with what was said first, each once."""
    views = [lit.call("get_logical", session=one) for one in (other, session)]
    assert [note["id"] for view in views for note in view["notes"]] == notes
    assert [views[1][name] for name in ("reason", "epitaph", "policy")] == ["over", "so long", "successor_required"]
    actions = [event["action"] for event in lit.events(session)]
    assert [actions.count(action) for action in ("start", "received", "end", "ended")] == [1, 1, 1, 1]
    assert [event["action"] for event in lit.events(other)].count("handed over") == 1


def test_of_two_with_one_token_one_goes_on(lit: Engine) -> None:
    for number in range(8):
        agent = f"two-{number}"
        session = begin(lit, agent)
        token = lit.call("close_logical", session=session)["token"]
        found = at_once(*[partial(resume, lit, agent, token=token)] * 2)
        assert sorted(type(one) is dict for one in found) == [False, True]
        (error,) = [one for one in found if not isinstance(one, dict)]
        assert error.code in ("FORBIDDEN", "SUCCEEDED")
        assert len(lit.call("get_lineage", session=session)["generations"]) == 2


def test_of_many_who_go_on_without_one_all_come_to_the_same(lit: Engine) -> None:
    session = begin(lit, "crowd")
    lit.call("close_logical", session=session)
    found = at_once(*[partial(resume, lit, "crowd")] * 12)
    assert len({one["session"]["id"] for one in found}) == 1
    assert sum(one["begun"] for one in found) == 1


def test_of_two_closes_at_once_the_first_has_its_say(lit: Engine) -> None:
    policies = ("closed_without_successor", "successor_required")
    for number in range(8):
        session = begin(lit, f"say-{number}")
        found = at_once(
            *[partial(lit.call, "close_logical", session=session, policy=one, epitaph=one) for one in policies]
        )
        (first,) = [one for one in found if one["closed"]]
        assert {(one["session"]["policy"], one["session"]["epitaph"]) for one in found} == {
            (first["session"]["policy"], first["session"]["policy"])
        }


def test_a_session_that_is_closed_while_it_is_resumed_is_gone_on_from(lit: Engine) -> None:
    for number in range(8):
        agent = f"both-{number}"
        session = begin(lit, agent)
        closed, resumed = at_once(partial(lit.call, "close_logical", session=session), partial(resume, lit, agent))
        assert closed["closed"] is True
        after = resumed["session"]
        assert after["id"] == session or (after["predecessor"], after["state"]) == (session, "running")


def test_a_hundred_are_begun_and_closed_twice_at_once_while_the_daemon_dies(lit: Engine) -> None:
    """Through bridges, which ask again by themselves."""
    closed: Counter[str] = Counter()
    seen: set[str] = set()
    lock = threading.Lock()

    def work(client: McpClient, number: int) -> None:
        session = client.call("start_session", agent_id=f"many-{number}")["session_id"]
        results = at_once(*[partial(client.call, "close_session", session_id=session)] * 2)
        with lock:
            seen.add(session)
            for result in results:
                closed[result["status"]] += 1

    with outside(lit, tools="delx") as (one, _), outside(lit, tools="delx") as (two, _):

        def half(client: McpClient, first: int) -> Callable[[], None]:
            return lambda: [work(client, number) for number in range(first, 100, 2)] and None

        threads = [threading.Thread(target=half(client, first)) for client, first in ((one, 0), (two, 1))]
        for thread in threads:
            thread.start()
        for enough in (20, 60):
            assert wait_until(lambda least=enough: len(seen) >= least)
            lit.kill(lit.daemon())
        for thread in threads:
            thread.join(120)
    assert (len(seen), closed) == (100, Counter(closed=100, already_closed=100))
    shown = lit.call("list_sessions", all=True)["sessions"]
    assert (len(shown), {row["state"] for row in shown}) == (100, {"ended"})
