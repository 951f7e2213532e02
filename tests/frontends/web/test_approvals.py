"""Approvals in a browser: what agents ask for, as it comes; granted or refused, and by no mere click where that ends work."""

from __future__ import annotations

import json
import re
import shlex
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import asker
from tests.support.browser import PHONE, Visit, axe
from tests.support.engine import Engine, engine
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

pytestmark = pytest.mark.browser
PageOf = Callable[..., Visit]
TRICK = "<img src=x onerror='window.tricked=1'>\nand a second line"


@pytest.fixture
def calm() -> Iterator[Engine]:
    with engine(LAMPLIGHTER_HTTP_PORT="0", LAMPLIGHTER_QUIET="0.2s", LAMPLIGHTER_STALL="0.2s") as made:
        yield made


class Agent:
    """A shell in a session of its own, that asks the daemon for things."""

    def __init__(self, made: Engine) -> None:
        self.made = made
        self.id: str = made.start("sh", name="agent")["id"]

    def ask(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        answer = self.made.folder / f"answer-{uuid.uuid4().hex}"
        words = [sys.executable, asker.__file__, self.made.home.run, str(answer), "plain", operation]
        words += [json.dumps(arguments), uuid.uuid4().hex]
        self.made.call("send_input", session=self.id, text=shlex.join(words))
        assert wait_until(answer.exists), self.made.output(self.id)
        return json.loads(answer.read_text())

    def request(self, operation: str, /, **arguments: Any) -> str:
        error = self.ask(operation, **arguments)["error"]
        assert error["code"] == "APPROVAL_NEEDED", error
        return error["details"]["request"]


def open_page(visit: Visit) -> Page:
    from playwright.sync_api import expect

    expect.set_options(timeout=120_000)
    visit.page.evaluate("location.hash = '#/approvals'")
    return visit.page


def see(locator: Locator) -> Any:
    from playwright.sync_api import expect

    return expect(locator)


def idle(made: Engine, name: str) -> str:
    session = made.start("sleep", "300", name=name, headless=True)["id"]
    assert wait_until(lambda: made.show(session)["verdict"] == "idle")
    return session


def test_a_plan_is_shown_whole_and_granted_at_once(calm: Engine, page_of: PageOf) -> None:
    names = [f"hung-{number}" for number in range(8)]
    for name in names:
        idle(calm, name)
    agent = Agent(calm)
    plan = agent.ask("cleanup_sessions", selection="hung-*", others=True)["result"]["plan"]
    request = agent.request("cleanup_sessions", apply=plan)
    page = open_page(page_of(calm))
    card = page.get_by_role("article", name=re.compile("agent asks to end 8 sessions"))
    for name in names:
        see(card).to_contain_text(f"idle  {name} (")
    card.get_by_role("button", name=re.compile("^Grant")).click()
    page.get_by_role("button", name="Grant ending 8 sessions").click()
    assert wait_until(lambda: calm.call("list_approvals", request=request)["approvals"][0]["state"] == "granted")


def test_a_long_plan_is_counted_and_opened_to_be_read(calm: Engine, page_of: PageOf) -> None:
    """The daemon's answer as it is for thousands of rows, which are asked for once however often the list is looked at."""
    session, agent = idle(calm, "hung"), Agent(calm)
    plan = agent.ask("cleanup_sessions", selection="hung", others=True)["result"]["plan"]
    agent.request("cleanup_sessions", apply=plan)
    rows = [{"id": session, "name": f"hung-{number}", "verdict": "idle"} for number in range(3000)]
    asked = {"whole": 0, "lists": 0}

    def answer(route: Route) -> None:
        whole = "request" in json.dumps(route.request.post_data_json)
        asked["whole" if whole else "lists"] += 1
        response = route.fetch()
        body = response.json()
        (found,) = body["approvals"] if "approvals" in body else body["result"]["approvals"]
        found["arguments"] |= {"rows": rows} if whole else {"rows": rows[:5], "rows_left_out": 2995}
        route.fulfill(response=response, json=body)

    page = page_of(calm).page
    page.route("**/api/call/list_approvals", answer)
    page.evaluate("location.hash = '#/approvals'")
    card = page.get_by_role("article", name=re.compile(r"agent asks to end 3\D?000 sessions"))
    short = card.get_by_text(re.compile(r"3\D?000 sessions: hung-0, hung-1, hung-2, hung-3, hung-4 and 2\D?995 more"))
    see(short).to_be_visible()
    see(card).not_to_contain_text("hung-2999")
    short.click()
    see(card).to_contain_text(f"idle  hung-2999 ({session})")
    looked = asked["lists"]
    with page.expect_response("**/api/call/list_approvals"):
        pass
    assert asked["lists"] > looked
    assert asked["whole"] == 1
    see(card).to_contain_text("hung-2999")
    card.get_by_role("button", name=re.compile("^Grant")).click()
    see(page.get_by_role("button", name=re.compile(r"Grant ending 3\D?000 sessions"))).to_be_visible()


def test_a_request_comes_by_itself_and_is_granted_for_one_call(calm: Engine, page_of: PageOf) -> None:
    agent, other = Agent(calm), idle(calm, "other")
    page = open_page(page_of(calm))
    see(page.get_by_text("No pending requests")).to_be_visible()
    assert axe(page) == []
    asked = agent.request("kill_session", session=other, reason=TRICK)
    card = page.get_by_role("article")
    see(card).to_contain_text("agent asks to kill other")
    see(card.locator("code", has_text="and a second line")).to_have_text(TRICK)
    see(card).to_contain_text("it is neither the caller's own session nor one that it started")
    see(card).to_contain_text("unsaved work is lost")
    see(card).to_contain_text(re.compile(r"valid for (\d+m|\d+s)"))
    see(page.get_by_role("navigation", name="Views")).to_contain_text("Approvals1")
    page.wait_for_function("() => document.title.startsWith('(1) ')")
    assert axe(page) == []
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.get_by_role("button", name="Grant, agent: kill other").click()
    see(page.get_by_text("Granted: agent may kill other")).to_be_visible()
    see(card).to_contain_text("granted, not yet used")
    assert calm.show(other)["state"] == "running", "a grant does nothing by itself"
    assert "result" in agent.ask("kill_session", session=other, reason=TRICK, approval=asked)
    see(card).to_have_count(0)
    assert calm.show(other)["state"] == "ended"
    assert page.evaluate("window.tricked") is None


def test_a_grant_that_ends_work_is_said_in_place_of_the_button(calm: Engine, page_of: PageOf) -> None:
    agent = Agent(calm)
    busy = calm.start("sh", "-c", "while :; do :; done", name="busy", headless=True)["id"]
    assert wait_until(lambda: calm.show(busy)["verdict"] == "working")
    asked = agent.request("end_session", session=busy)
    page = open_page(page_of(calm))
    page.get_by_role("button", name="Grant, agent: end busy").dblclick()
    sure = page.get_by_role("button", name="Grant ending a working session")
    see(page.get_by_role("button", name="Not yet")).to_be_focused()
    page.keyboard.press("Enter")  # nor does Enter that is held down
    page.get_by_role("button", name="Grant, agent: end busy").click()
    (found,) = calm.call("list_approvals")["approvals"]
    assert (found["id"], found["state"]) == (asked, "asked")
    page.get_by_role("button", name="Not yet").click()
    see(sure).to_have_count(0)
    page.get_by_role("button", name="Grant, agent: end busy").click()
    sure.click()
    see(page.get_by_role("article")).to_contain_text("granted, not yet used")
    page.get_by_role("button", name="Revoke, agent: end busy").click()
    see(page.get_by_role("article")).to_have_count(0)
    see(page.get_by_label("Recent decisions").get_by_role("listitem").first).to_contain_text("refused")
    assert agent.ask("end_session", session=busy, approval=asked)["error"]["code"] == "FORBIDDEN"
    calm.call("kill_session", session=busy, force=True, grace="0s")


def test_two_requests_one_refused_and_one_decided_elsewhere(calm: Engine, page_of: PageOf) -> None:
    agent, first, second = Agent(calm), idle(calm, "first"), idle(calm, "second")
    agent.request("kill_session", session=first)
    asked = agent.request("send_input", session=second, text="stop")
    page = open_page(page_of(calm))
    see(page.get_by_role("article")).to_have_count(2)
    page.keyboard.press("j")
    see(page.get_by_role("article").first).to_be_focused()
    page.get_by_role("button", name="Refuse, agent: kill first").click()
    see(page.get_by_text("Refused: agent may not kill first")).to_be_visible()
    see(page.get_by_role("article")).to_have_count(1)
    calm.call("decide_approval", request=asked, decision="refuse")
    see(page.get_by_text("No pending requests")).to_be_visible()
    assert calm.show(first)["state"] == "running"
