"""The page when things go wrong around it: a browser that keeps nothing, another clock, a login that ends, a daemon that dies."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import Visit, Visits
from tests.support.engine import Engine, engine
from tests.support.ports import free_port
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
PageOf = Callable[..., Visit]
NO_STORAGE = (
    """Object.defineProperty(window, "localStorage", { get() { throw new DOMException("no", "SecurityError"); } })"""
)
AHEAD = "(() => { const real = Date.now; Date.now = () => real() + 3_600_000; })()"
HIDDEN = """() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
ZOOMED = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2, "reduced_motion": "reduce"}


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    """Its page is where it was after a restart."""
    with engine(LAMPLIGHTER_HTTP_PORT=str(free_port()), LAMPLIGHTER_QUIET="0.2s", LAMPLIGHTER_STALL="0.2s") as made:
        yield made


def go(page: Page, where: str) -> None:
    page.evaluate("where => { location.hash = where }", f"#/{where}")


def arrive(browser: Visits, lit: Engine, script: str) -> Page:
    """As the operator, with this run before the page is."""
    visit = browser.visit()
    visit.page.add_init_script(script)
    visit.page.goto(lit.call("open_page")["url"])
    visit.page.locator(".host.live").wait_for(state="attached")
    return visit.page


def test_a_browser_that_keeps_nothing(lit: Engine, browser: Visits) -> None:
    page = arrive(browser, lit, NO_STORAGE)
    before = page.evaluate("document.documentElement.dataset.theme")
    page.get_by_role("button", name=re.compile("^Use the")).click()
    assert page.evaluate("document.documentElement.dataset.theme") != before
    page.get_by_role("button", name="Tree").click()
    page.get_by_role("button", name="Tree", pressed=True).wait_for()


def test_a_browser_whose_clock_is_an_hour_ahead(lit: Engine, browser: Visits) -> None:
    """As through a tunnel to another machine: a plan that holds is not taken for an old one."""
    session = lit.start("sleep", "300", name="young", headless=True)["id"]
    assert wait_until(lambda: lit.show(session)["verdict"] == "idle")
    page = arrive(browser, lit, AHEAD)
    line = page.locator(".line", has_text="young")
    line.locator(".age", has_text=re.compile(r"^\d+s$|^[0-5]m$")).wait_for()
    go(page, f"cleanup?selection={session}")
    page.get_by_text(re.compile(r"valid for \d+m")).wait_for()
    page.get_by_role("button", name="End 1 session…").click()
    page.get_by_role("dialog").get_by_role("button", name="End 1 session").click()
    page.get_by_role("heading", level=2, name=re.compile("^Ended 1 session")).wait_for()


def test_a_login_that_ends_and_a_link_in_an_open_tab(lit: Engine, page_of: PageOf) -> None:
    """With a terminal held in one tab: the keyboard is given back; a link in one tab brings both back."""
    visit = page_of(lit)
    visit.expects("Failed to load", "WebSocket")
    page, session = visit.page, lit.start("bash", "--norc", name="held")["id"]
    other = page.context.new_page()
    other.goto(lit.call("open_page")["address"])
    other.locator(".host.live").wait_for(state="attached")
    go(page, f"sessions/{session}")
    page.get_by_role("button", name="Take the keyboard").click()
    page.get_by_text("You have the keyboard").wait_for()
    lit.call("close_page")
    page.get_by_role("heading", name="Log in from your shell").wait_for()
    other.get_by_role("heading", name="Log in from your shell").wait_for()
    assert wait_until(lambda: lit.show(session)["attached"] == 0)
    link = lit.call("open_page")["url"]
    page.evaluate("link => { location.href = link }", link)
    page.locator(".host.live").wait_for(state="attached")
    page.locator(".line", has_text="held").wait_for()
    assert "login" not in page.url
    other.locator(".line", has_text="held").wait_for()
    lit.call("kill_session", session=session, force=True, grace="0s")


def test_a_session_that_ends_under_its_question(lit: Engine, page_of: PageOf) -> None:
    page, session = page_of(lit).page, lit.start("sh", "-c", "while :; do :; done", name="brief")["id"]
    go(page, f"sessions/{session}")
    page.locator(".session-head h1").wait_for()
    page.keyboard.press("K")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Kill it").wait_for()
    lit.call("kill_session", session=session, force=True, grace="0s")
    dialog.get_by_role("heading", name="brief has ended").wait_for()
    dialog.get_by_text("Nothing is left.").wait_for()
    assert dialog.get_by_role("button", name="Kill it").count() == 0
    dialog.get_by_role("button", name="Done").click()
    dialog.wait_for(state="detached")


def test_a_daemon_that_dies_under_a_form(lit: Engine, page_of: PageOf) -> None:
    """What is in the form stays, and what is started is started once, however often the button is pressed."""
    visit = page_of(lit)
    visit.expects("net::ERR", "Failed to load")
    page = visit.page
    page.get_by_role("button", name="Start a session").click()
    page.get_by_role("textbox", name="Command a program").fill("sleep 300")
    page.get_by_role("textbox", name="Name default").fill("once")
    page.get_by_text("Will run").wait_for()
    lit.kill(lit.daemon())
    page.get_by_role("button", name="Start", exact=True).dblclick()
    page.get_by_role("button", name="Starting…").wait_for()
    lit.call("get_status")
    page.wait_for_url(re.compile(r"#/sessions/\w+$"))
    assert [row["name"] for row in lit.call("list_sessions")["sessions"]].count("once") == 1
    started = lit.show("once")["id"]
    assert [event["action"] for event in lit.events(started)].count("started") <= 1
    lit.call("kill_session", session=started, force=True, grace="0s")


def test_hidden_tabs_give_their_connection_back(lit: Engine, page_of: PageOf) -> None:
    """A browser has six for all of them."""
    context = page_of(lit).page.context
    address = lit.call("open_page")["address"]
    tabs = [*context.pages, *(context.new_page() for _ in range(7))]
    for tab in tabs[:-1]:
        tab.goto(address, wait_until="commit")
        tab.locator("main h1").wait_for(state="attached")
        tab.evaluate(HIDDEN)
    tabs[-1].goto(address)
    tabs[-1].locator(".host.live").wait_for(state="attached")
    lit.start("sleep", "300", name="seen")
    tabs[-1].locator(".line", has_text="seen").wait_for()
    lit.call("kill_session", session="seen", force=True, grace="0s")


def test_ten_thousand_events(lit: Engine, page_of: PageOf) -> None:
    session = lit.start("sleep", "300", name="eventful")["id"]
    with closing(sqlite3.connect(lit.folder / "lamplighter.db", timeout=200)) as db, db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(events)")]
        assert columns
        row = dict(
            zip(
                columns,
                db.execute("SELECT * FROM events WHERE session = ? LIMIT 1", (session,)).fetchone(),
                strict=True,
            )
        )
        row.pop("n")
        names = ", ".join(row)
        values = [tuple(row.values())] * 10_000
        db.executemany(f"INSERT INTO events ({names}) VALUES ({', '.join('?' * len(row))})", values)
    page = page_of(lit).page
    go(page, f"sessions/{session}/events")
    page.locator(".events li").first.wait_for()
    lit.call("protect_session", session=session)
    page.locator(".events li").first.get_by_text("protect", exact=True).wait_for()
    page.get_by_text("For earlier events").wait_for()
    page.keyboard.press("[")
    page.locator(".processes").wait_for()
    lit.call("kill_session", session=session, force=True, grace="0s")


def test_twice_as_large_and_without_motion(lit: Engine, page_of: PageOf) -> None:
    page = page_of(lit, **ZOOMED).page
    session = lit.start("bash", "--norc", name="n" * 100)["id"]
    for where in ("sessions", f"sessions/{session}", "cleanup?selection=all", "approvals", "memory", "timeline"):
        go(page, where)
        page.locator("main h1").wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), where
    page.go_back()
    page.get_by_role("heading", level=1, name="Memory").wait_for()
    page.go_forward()
    page.get_by_role("heading", level=1, name="Timeline").wait_for()
    lit.call("kill_session", session=session, force=True, grace="0s")
