"""One story through the page, from the login to the daemon's death and its return; and as many sessions as there may be."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.support import asker
from tests.support.browser import Visit
from tests.support.engine import Engine, engine
from tests.support.ports import free_port
from tests.support.processes import none_left, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
PageOf = Callable[..., Visit]


@pytest.fixture
def calm() -> Iterator[Engine]:
    """Takes a session for idle soon; its page is where it was after a restart."""
    with engine(LAMPLIGHTER_HTTP_PORT=str(free_port()), LAMPLIGHTER_QUIET="0.2s", LAMPLIGHTER_STALL="0.2s") as made:
        yield made


def step(page: Page, key: str, title: str) -> None:
    """To another view, by its key."""
    page.keyboard.press(key)
    page.get_by_role("heading", level=1, name=title).wait_for()


def leave_children(made: Engine, name: str, mark: str) -> str:
    command = ("sh", "-c", f"sh -c 'sleep 300; : {mark}' & exit 0")
    session = made.start(*command, name=name, headless=True, keep_children=True)["id"]
    assert wait_until(lambda: made.show(session)["verdict"] == "leftovers"), made.show(session)
    return session


def ask_to_kill(made: Engine, session: str) -> None:
    """By an agent that may not."""
    shell, answer = made.start("sh", name="agent")["id"], made.folder / "answer"
    wish = json.dumps({"session": session, "reason": "in my way"})
    words = [sys.executable, asker.__file__, made.home.run, str(answer), "plain", "kill_session", wish]
    made.call("send_input", session=shell, text=shlex.join(words))
    assert wait_until(answer.exists), made.output(shell)


def test_a_day_at_the_page(calm: Engine, mark: str, page_of: PageOf) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=120_000)
    visit = page_of(calm)
    page = visit.page
    session = _start_and_type(page, calm)
    _leave_and_come_back(page, calm, session)
    _kill(page, calm, session)
    _clean_up(page, calm, mark)
    _grant(page, calm)
    _find(page, calm)
    _lose_the_daemon(visit, calm)


def _start_and_type(page: Page, made: Engine) -> str:
    from playwright.sync_api import expect

    page.get_by_role("button", name="Start a session").click()
    page.get_by_role("textbox", name="Command a program").fill("bash --norc")
    page.get_by_role("textbox", name="Name default").fill("mine")
    page.get_by_role("dialog").get_by_text("Will run").wait_for()
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"#/sessions/\w+$"))
    page.locator('.screen[data-phase="live"]').wait_for()
    page.get_by_role("button", name="Take the keyboard").click()
    page.get_by_text("You have the keyboard").wait_for()
    page.keyboard.type("echo $((6*7))-an''swer\n")
    expect(page.locator(".xterm-rows")).to_contain_text("42-answer")
    assert made.show("mine")["attached"] == 1
    return made.show("mine")["id"]


def _leave_and_come_back(page: Page, made: Engine, session: str) -> None:
    from playwright.sync_api import expect

    page.get_by_role("link", name="← Sessions").click()
    expect(page.locator(".line", has_text="mine")).to_be_visible()
    assert wait_until(lambda: made.show(session)["attached"] == 0), "who leaves gives the keyboard back"
    made.call("send_input", session=session, text="echo mean''while")
    page.go_back()
    expect(page.locator(".xterm-rows")).to_contain_text("42-answer")
    expect(page.locator(".xterm-rows")).to_contain_text("meanwhile")
    expect(page.get_by_text("watching, read-only")).to_be_visible()
    page.get_by_role("button", name="Take the keyboard").click()
    page.get_by_text("You have the keyboard").wait_for()
    page.keyboard.type("while :; do :; done\n")
    expect(page.locator(".session-head .verdict")).to_have_text("working")


def _kill(page: Page, made: Engine, session: str) -> None:
    from playwright.sync_api import expect

    page.get_by_role("button", name=re.compile("^Kill")).click()
    dialog = page.get_by_role("dialog")
    kill = dialog.get_by_role("button", name="Kill it")
    expect(dialog.get_by_text("This session is active.")).to_be_visible()
    expect(kill).to_be_disabled()
    dialog.get_by_label("This session is active.").fill("mine")
    kill.dblclick()
    expect(dialog).to_contain_text("Nothing is left. 1 process ended")
    dialog.get_by_role("button", name="Done").click()
    page.locator('.screen[data-phase="recorded"]').wait_for()
    expect(page.locator(".xterm-rows")).to_contain_text("42-answer")
    kills = [event["action"] for event in made.events(session) if "ended" in event["action"]]
    assert len(kills) == 1, made.events(session)


def _clean_up(page: Page, made: Engine, mark: str) -> None:
    from playwright.sync_api import expect

    one, two = leave_children(made, "one", mark), leave_children(made, "two", mark)
    step(page, "2", "Cleanup")
    page.get_by_role("checkbox", name="End two").uncheck()
    page.get_by_role("button", name="End 1 session…").click()
    page.get_by_role("dialog").get_by_role("button", name="End 1 session").dblclick()
    expect(page.get_by_role("heading", level=2)).to_have_text(re.compile("^Ended 1 session"))
    assert (made.show(one)["state"], made.show(two)["state"]) == ("ended", "running")
    made.call("kill_session", session=two, force=True, grace="0s")
    assert none_left(mark)


def _grant(page: Page, made: Engine) -> None:
    from playwright.sync_api import expect

    idle = made.start("sleep", "300", name="other", headless=True)["id"]
    assert wait_until(lambda: made.show(idle)["verdict"] == "idle")
    ask_to_kill(made, idle)
    page.wait_for_function("() => document.title.startsWith('(1) ')")
    step(page, "3", "Approvals")
    page.get_by_role("button", name="Grant, agent: kill other").dblclick()
    expect(page.get_by_role("article")).to_contain_text("granted, not yet used")
    assert [event["action"] for event in made.events(idle)].count("approval granted") == 1
    made.call("kill_session", session="agent", force=True, grace="0s")


def _find(page: Page, made: Engine) -> None:
    from playwright.sync_api import expect

    records = [{"content": f"the {word} is kept in the cellar"} for word in ("lantern", "ladder")]
    made.call("store_records", project="house", records=records)
    step(page, "4", "Memory")
    page.get_by_role("searchbox").or_(page.get_by_placeholder(re.compile("search", re.IGNORECASE))).first.fill(
        "lanterns"
    )
    expect(page.get_by_role("article")).to_have_count(1)
    expect(page.get_by_role("article")).to_contain_text("lantern")


def _lose_the_daemon(visit: Visit, made: Engine) -> None:
    from playwright.sync_api import expect

    visit.expects("net::ERR", "WebSocket", "Failed to load")
    page = visit.page
    step(page, "1", "Sessions")
    expect(page.locator(".line", has_text="other")).to_be_visible()
    made.kill(made.daemon())
    expect(page.get_by_role("alert")).to_contain_text("The daemon does not respond")
    expect(page.locator(".line", has_text="other")).to_be_visible()
    later = made.start("sleep", "300", name="later")["id"]
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator(".line", has_text="later")).to_be_visible()
    made.call("kill_session", session=later, force=True, grace="0s")
    expect(page.locator(".line", has_text="later")).to_have_count(0)


@pytest.mark.parametrize("many", [150, pytest.param(1000, marks=pytest.mark.deep)])
def test_many_sessions(many: int, served: Engine, page_of: PageOf) -> None:
    """Real ones: the list shows them, scrolls to the last, filters, and one that ends leaves by itself."""
    from playwright.sync_api import expect

    expect.set_options(timeout=120_000)
    made = served
    made.call("get_status")

    def start(number: int) -> None:
        made.start("sleep", "3000", name=f"many-{number:04}", headless=True)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, range(many)))
    page = page_of(made).page
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(many + 1))
    assert page.locator(".line").count() < 60
    page.get_by_role("button", name="Session", exact=True).click()
    page.keyboard.press("G")
    expect(page.locator(".line.current a")).to_have_text(re.compile(f"many-(0000|{many - 1:04})"))
    expect(page.locator(".line.current")).to_be_in_viewport(ratio=0.9)
    page.locator("#search").fill("many-0077")
    expect(page.locator(".line")).to_have_count(1)
    made.call("kill_session", session="many-0077", force=True, grace="0s")
    expect(page.locator(".line")).to_have_count(0)
    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(many))
    plan = made.call("cleanup_sessions", selection="many-*", force=True)
    made.call("cleanup_sessions", apply=plan["plan"], grace="0s")
    expect(page.get_by_text("No sessions running")).to_be_visible()
