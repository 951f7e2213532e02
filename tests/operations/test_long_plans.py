"""A plan of thousands of rows: one request, short in lists and errors, whole when it is asked for alone, applied to its rows. The
rows are values: nothing of it is a process."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from lamplighter.app import App
from lamplighter.domain.approval import MOST_OPEN, MOST_ROWS
from lamplighter.domain.permission import Caller, Rank
from lamplighter.domain.plan import Plan, PlanRequest, Row, Sighting
from lamplighter.domain.verdict import Verdict
from lamplighter.errors import Code, ForbiddenError
from lamplighter.frontends.cli.display.blocks import Block, plain_lines
from lamplighter.frontends.cli.views import approvals as views
from lamplighter.frontends.mcp.consent import Consent
from lamplighter.operations.call import Call
from lamplighter.settings import load_settings
from lamplighter.store import plans

CLIENT, OPERATOR = Caller(Rank.CLIENT, "client:1"), Caller(Rank.OPERATOR, "operator")


class Bench:
    """The operations on a store of their own, with nothing that runs. `ended`: the rows that an apply has come to."""

    def __init__(self, folder: Path) -> None:
        self.app = App(load_settings({"LAMPLIGHTER_HOME": str(folder)}))
        self.ended: list[str] = []
        self.app.cleanup._outcome = self._end  # what becomes of one row is tested where there are processes

    async def _end(self, _run: Any, row: Row, _above: set[str]) -> dict[str, Any]:
        self.ended.append(row.session)
        return {"outcome": "ended", "why": ""}

    async def plan(self, name: str, count: int) -> list[str]:
        """The ids of its rows."""
        now = self.app.clock.now()
        found = [
            Sighting(f"hung-{number}", Verdict.IDLE, [], 1, 4096, 60.0, False, 0, 0, 0.0) for number in range(count)
        ]
        rows = [Row(f"{name}{number:06}", one) for number, one in enumerate(found)]
        made = Plan(name, PlanRequest(CLIENT, "idle", 1.0, others=True), now, now + 600, rows=rows)
        await self.app.store.write(lambda db: plans.insert(db, made))
        return [row.session for row in rows]

    async def operate(self, operation: str, caller: Caller, key: str = "", **arguments: Any) -> dict[str, Any]:
        async def emit(_: object) -> None: ...

        call = Call(self.app, caller, key, emit, asyncio.Event())
        return (await self.app.execution.execute(operation, arguments, call)).document()

    async def refused(self, plan: str, key: str, **arguments: Any) -> ForbiddenError:
        with pytest.raises(ForbiddenError) as asked:
            await self.operate("cleanup_sessions", CLIENT, key, apply=plan, **arguments)
        return asked.value


def drawn(blocks: list[Block]) -> str:
    return "\n".join(plain_lines(blocks))


def at(folder: Path, test: Callable[[Bench], Awaitable[None]]) -> None:
    async def run() -> None:
        bench = Bench(folder)
        await bench.app.store.open()
        try:
            await test(bench)
        finally:
            await bench.app.store.close()

    asyncio.run(run())


def test_thousands_of_rows_are_one_request(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        ids, others = await bench.plan("plan-a", 4000), await bench.plan("plan-b", 3)
        asked = await bench.refused("plan-a", "k1")
        request = asked.details["request"]
        assert asked.code is Code.APPROVAL_NEEDED
        assert (asked.details["count"], asked.details["rows_left_out"]) == (4000, 3995)
        assert [row["id"] for row in asked.details["rows"]] == ids[:5]
        assert len(json.dumps(asked.document())) < 2000

        (short,) = (await bench.operate("list_approvals", OPERATOR))["approvals"]
        assert (short["id"], short["plan"], short["target"]) == (request, "plan-a", None)
        assert [row["id"] for row in short["arguments"]["rows"]] == ids[:5]
        assert short["arguments"]["rows_left_out"] == 3995
        assert len(json.dumps(short)) < 2000
        few = "4000 sessions: hung-0, hung-1, hung-2, hung-3, hung-4 and 3995 more"
        assert few in drawn(views.listed({"approvals": [short]}))

        (whole,) = (await bench.operate("list_approvals", OPERATOR, request=request))["approvals"]
        assert [row["id"] for row in whole["arguments"]["rows"]] == ids
        text = drawn(views.full(whole, []))
        assert few in text
        assert text.count("idle  hung-") == 4000
        assert all(f"({one})" in text for one in ids)

        granted = await bench.operate("decide_approval", OPERATOR, "k2", request=request, decision="grant")
        assert (granted["state"], granted["plan"], granted["arguments"]) == ("granted", "plan-a", None)
        assert "may end the sessions of plan-a, once" in drawn(views.decided(granted))
        done = await bench.operate("cleanup_sessions", CLIENT, "k3", apply="plan-a", approval=request)
        assert (done["sums"]["sessions"], done["sums"]["ended"]) == (4000, 4000)
        assert sorted(bench.ended) == ids
        assert not set(others) & set(bench.ended)

    at(tmp_path, test)


@pytest.mark.parametrize(("count", "more"), [(100, ""), (4000, " and 3900 more; lamp approve ")])
def test_the_dialog_of_a_client_names_what_it_can_hold(tmp_path: Path, count: int, more: str) -> None:
    async def test(bench: Bench) -> None:
        ids = await bench.plan("plan-a", count)
        asked = await bench.refused("plan-a", "k1")

        async def run() -> types.CallToolResult:
            raise asked

        session = SimpleNamespace(client_capabilities=SimpleNamespace(elicitation={}))
        context: Any = SimpleNamespace(session=session, protocol_version=MODERN_PROTOCOL_VERSIONS[0])
        client: Any = SimpleNamespace(client=SimpleNamespace(can_be_asked=True))
        params = types.CallToolRequestParams(name="cleanup_sessions", arguments={"apply": "plan-a"})
        result = await Consent(bench.app).given(context, params, client, run)
        assert isinstance(result, types.InputRequiredResult)
        message = result.model_dump()["input_requests"]["approval"]["params"]["message"]
        assert f"end {count} sessions of others" in message
        assert [one for one in ids if f"({one}, idle)" in message] == ids[:100]
        assert (f"{more}{asked.details['request']} shows all of them" in message) is bool(more)

    at(tmp_path, test)


def test_a_plan_counts_as_one_of_the_requests_that_may_be_open(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        for number in range(MOST_OPEN + 1):
            await bench.plan(f"plan-{number:02}", 1000 if number == 0 else 1)
        codes = [(await bench.refused(f"plan-{number:02}", f"k{number}")).code for number in range(MOST_OPEN + 1)]
        assert codes == [Code.APPROVAL_NEEDED] * MOST_OPEN + [Code.FORBIDDEN]

    at(tmp_path, test)


def test_ten_thousand_rows_are_the_most_and_words_stay_few(tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        ids = await bench.plan("plan-most", MOST_ROWS)
        await bench.plan("plan-more", MOST_ROWS + 1)
        asked = await bench.refused("plan-most", "k1", without=ids[1:])
        assert asked.code is Code.APPROVAL_NEEDED
        (short,) = (await bench.operate("list_approvals", OPERATOR))["approvals"]
        assert (len(short["arguments"]["without"]), short["arguments"]["without_left_out"]) == (5, MOST_ROWS - 6)
        more = await bench.refused("plan-more", "k2")
        assert (more.code, more.details["count"]) == (Code.FORBIDDEN, MOST_ROWS + 1)
        assert "10000 rows at most" in more.message
        assert "narrower selection" in more.hint

    at(tmp_path, test)


def test_rows_of_what_is_no_plan_are_arguments_like_others() -> None:
    """An agent names the arguments of its own tools."""
    tool = {
        "id": "ap-1", "state": "asked", "caller": "session:0a", "asker": None, "operation": "use_tool", "plan": None,
        "arguments": {"rows": 3, "title": "resize"}, "why": "it asks", "target": None,
        "asked_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-01T00:10:00Z",
    }  # fmt: skip
    assert "a session that is gone" in drawn(views.listed({"approvals": [tool]}))
    assert re.search(r"^  rows +3$", drawn(views.full(tool, [])), re.M)
