"""The page in the hands of somebody quick, on a phone, with many windows, or with a screen reader. In a real browser."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.support.browser import PHONE, Visit, Visits, at_session, axe, terminal_rows
from tests.support.engine import Engine, engine

pytestmark = pytest.mark.browser
Visiting = Callable[..., Visit]

ECHO = """
import os, sys, tty
tty.setraw(0)
sys.stdout.write("ready "); sys.stdout.flush()
while data := os.read(0, 1024):
    for byte in data:
        sys.stdout.write("<%02x>" % byte)
    sys.stdout.flush()
"""
LANES = """async () => {
    const root = document.querySelector("link[rel=modulepreload]").href.replace(/js\\/.*/, "");
    const { lanesOf } = await import(`${root}js/views/timeline/packing.js`);
    const span = { started_at: "2026-01-01T00:00:00Z", ended_at: null };
    const spans = [{ ...span, id: "a", project: null, project_id: null }, { ...span, id: "b", project: null, project_id: "/x" }];
    return lanesOf(spans, { from: Date.parse("2026-01-01"), to: Date.parse("2026-01-02") }).map(({ name }) => name);
}"""
UNDER = """([x, y]) => {
    const dialog = document.querySelector("dialog"), button = dialog.querySelector("footer .danger");
    const box = button.getBoundingClientRect(), frame = dialog.getBoundingClientRect();
    Object.assign(dialog.style, {
        position: "fixed", margin: 0, left: `${x - (box.x - frame.x) - 10}px`, top: `${y - (box.y - frame.y) - 10}px`,
    });
    return document.elementFromPoint(x, y) === button;
}"""

SEARCH_AT_ONCE = """async () => {
    const field = new Promise((there) => {
        const look = () => document.querySelector(".find input");
        new MutationObserver((_, seen) => look() && (seen.disconnect(), there(look())))
            .observe(document.body, { childList: true, subtree: true });
    });
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }));
    const input = await field, focused = document.activeElement === input;
    input.value = "needle";
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    return focused;
}"""

# As a line editor does: it asks where the cursor is before it draws, and says so when nobody tells it in time.
PROMPT = """
import os, re, tty
tty.setraw(0)
def out(text): os.write(1, text.encode())
heard = b""
def place():
    global heard
    out("\\x1b[6n")
    while not (found := re.match(rb"(.*?)\\x1b\\[(\\d+);(\\d+)R", heard, re.S)):
        heard += os.read(0, 1024)
    typed, heard = found[1], heard[found.end():]
    return typed, int(found[2]), int(found[3])
out("\\r\\n\\r\\nask> ")
while True:
    typed, row, column = place()
    out(f"[{row};{column}]")
    heard = typed + heard
    while not heard:
        heard = os.read(0, 1024)
    out("<%s>\\r\\nask> " % heard.hex())
    heard = b""
"""


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    """One for all: what a case starts is ended by it, or has a name of its own."""
    with engine(LAMPLIGHTER_HTTP_PORT="0", LAMPLIGHTER_QUIET="0.2s", LAMPLIGHTER_STALL="0.2s") as made:
        yield made


def end(lit: Engine, session: str) -> None:
    lit.call("kill_session", session=session, force=True, grace="0s")


def take(page: Page) -> None:
    page.locator('.screen[data-phase="live"]').wait_for()
    page.get_by_role("button", name="Take the keyboard").click()
    page.get_by_text("You have the keyboard").wait_for()


class Lines:
    """The WebSockets of terminals, which a test cuts."""

    def __init__(self, page: Page) -> None:
        self.cut = False
        self.open: list[WebSocketRoute] = []
        page.route_web_socket(lambda url: "/api/terminal/" in url, self._begin)

    def _begin(self, line: WebSocketRoute) -> None:
        if self.cut:
            line.close()
        else:
            line.connect_to_server()
            self.open.append(line)

    def lose(self) -> None:
        self.cut = True
        for line in self.open:
            line.close()
        self.open.clear()


def test_what_is_typed_at_a_lost_terminal_is_lost(lit: Engine, page_of: Visiting) -> None:
    """It does nothing on the page, and reaches the session neither then nor later."""
    page = page_of(lit).page
    lines = Lines(page)
    session = lit.start(sys.executable, "-c", ECHO)["id"]
    page = at_session(Visit(page), session)
    take(page)
    page.keyboard.press("a")
    expect(terminal_rows(page)).to_contain_text("<61>")
    lines.lose()
    page.get_by_text("What you type is not sent").wait_for()
    for key in ("p", "Enter", "Space", "-", "l", "a", "K", "e", "s", "t", "1", "?", "/", "Escape", "Tab"):
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.locator("#composer").count() == 0
    assert session in page.url
    lines.cut = False
    page.get_by_text("You have the keyboard").wait_for()
    page.keyboard.press("b")
    expect(terminal_rows(page)).to_contain_text("<62>")
    assert lit.output(session).split("ready ")[1] == "<61><62>"
    assert lit.show(session)["protected"] is False
    lines.lose()
    page.get_by_text("What you type is not sent").wait_for()
    page.keyboard.press("Control+\\")  # it is given up
    page.locator("#composer").wait_for()
    page.locator(".terminal .take").wait_for()
    end(lit, session)


def test_a_search_hears_what_is_typed_as_soon_as_it_is_there(lit: Engine, page_of: Visiting) -> None:
    session = lit.start("sh", "-c", "echo a needle; exec cat")["id"]
    page = at_session(page_of(lit), session)
    page.locator('.screen[data-phase="live"]').wait_for()
    expect(terminal_rows(page)).to_contain_text("a needle")
    assert page.evaluate(SEARCH_AT_ONCE) is True
    expect(page.locator(".find [role=status]")).to_have_text("1 of 1")
    end(lit, session)


def test_a_line_editor_is_told_its_place_once_whoever_watches(lit: Engine, page_of: Visiting) -> None:
    """Two windows, with and without the keyboard; what is typed comes as it is, with no second answer in it."""
    session = lit.start(sys.executable, "-c", PROMPT)["id"]
    visit = page_of(lit)
    address = visit.page.url
    page = at_session(visit, session)
    other = page.context.new_page()
    other.goto(address)
    other = at_session(Visit(other), session)
    for window in (page, other):
        expect(terminal_rows(window)).to_contain_text("ask> [3;6]")
    lit.call("send_input", session=session, text="a", enter=False)
    for window in (page, other):
        expect(terminal_rows(window)).to_contain_text("[3;6]<61>")
        expect(terminal_rows(window)).to_contain_text("ask> [4;6]")
    take(page)
    page.keyboard.press("b")
    expect(terminal_rows(page)).to_contain_text("[4;6]<62>")
    take(other)
    other.keyboard.press("c")
    expect(terminal_rows(other)).to_contain_text("[5;6]<63>")
    expect(terminal_rows(other)).to_contain_text("ask> [6;6]")
    said = lit.output(session).replace("\x1b[6n", "")
    assert "".join(said.split()) == "ask>[3;6]<61>ask>[4;6]<62>ask>[5;6]<63>ask>[6;6]"
    end(lit, session)


def test_a_second_click_ends_nothing(lit: Engine, page_of: Visiting) -> None:
    """What has come under the pointer is not pressed before the pointer has moved."""
    session = lit.start("sleep", "300", name="stays", headless=True)["id"]
    lit.call("wait_session", session=session, until="idle", timeout="120s")
    page = at_session(page_of(lit), session)
    box = page.get_by_role("button", name="Kill").bounding_box()
    assert box is not None
    x, y = box["x"] + 10, box["y"] + 10
    page.mouse.click(x, y)
    button = page.get_by_role("dialog").get_by_role("button", name="Kill it")
    expect(button).to_be_enabled()
    page.wait_for_function(UNDER, arg=[x, y])
    page.mouse.down()
    page.mouse.up()
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    expect(button).to_be_enabled()
    assert lit.show(session)["state"] == "running"
    page.mouse.move(x + 40, y + 40)
    page.wait_for_function(UNDER, arg=[x, y])  # it may have grown meanwhile
    page.mouse.click(x, y)
    page.get_by_role("heading", name="stays has ended").wait_for()


def test_without_a_login_there_is_no_sidebar_and_with_one_there_is_one(lit: Engine, browser: Visits) -> None:
    visit = browser.visit(lit.call("open_page")["address"])
    page = visit.page
    page.get_by_role("heading", level=1).wait_for()
    expect(page.locator(".side, .brand")).to_have_count(0)
    page.evaluate("link => { location.href = link }", lit.call("open_page")["url"])
    page.locator(".host.live").wait_for(state="attached")
    expect(page.locator("nav.side")).to_have_count(1)


def test_a_terminal_follows_the_theme(lit: Engine, page_of: Visiting) -> None:
    session = lit.start("cat")["id"]
    page = at_session(page_of(lit, color_scheme="light"), session)
    page.locator('.screen[data-phase="live"]').wait_for()
    for theme in ("dark", "light"):
        page.get_by_role("button", name=f"Use the {theme} theme").click()
        page.wait_for_function("""() => {
            const colour = (name) => getComputedStyle(document.querySelector(name)).backgroundColor;
            return colour(".terminal .screen") === colour(".xterm-scrollable-element");
        }""")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
    end(lit, session)


def test_eight_windows_that_are_all_seen(lit: Engine, page_of: Visiting) -> None:
    context = page_of(lit).page.context
    address = lit.call("open_page")["address"]
    windows = [*context.pages, *(context.new_page() for _ in range(7))]
    for window in windows[1:]:
        window.goto(address)
        window.locator(".host.live").wait_for(state="attached")
    session = lit.start("sleep", "300", name="seen", headless=True)["id"]
    for window in windows:
        window.locator(".line", has_text="seen").wait_for()
    windows[-1].evaluate("where => { location.hash = where }", f"#/sessions/{session}/events")
    windows[-1].locator(".events li").first.wait_for()  # a call of its own
    end(lit, session)


def test_one_that_failed_is_told_from_one_that_did_not(lit: Engine, page_of: Visiting) -> None:
    bad = lit.start("sh", "-c", "exit 3", name="went-wrong", headless=True)["id"]
    good = lit.start("sh", "-c", "exit 0", name="went-well", headless=True)["id"]
    for session in (bad, good):
        lit.call("wait_session", session=session, until="ended", timeout="120s")
    page = page_of(lit).page
    page.evaluate("location.hash = '#/sessions?all=1'")
    expect(page.locator(".line", has_text="went-wrong").locator(".verdict .verdict")).to_have_text("failed")
    expect(page.locator(".line", has_text="went-wrong")).to_contain_text("exit 3")
    expect(page.locator(".line", has_text="went-well").locator(".verdict .verdict")).to_have_text("ended")
    page.evaluate("location.hash = '#/timeline'")
    expect(page.get_by_role("link", name="went-wrong,")).to_have_class("bar how-failed")
    expect(page.get_by_role("link", name="went-well,")).to_have_class("bar how-exited")
    assert page.evaluate(LANES) == ["No project"]


def test_a_phone_has_its_keys_while_it_types(lit: Engine, page_of: Visiting) -> None:
    session = lit.start(sys.executable, "-c", ECHO)["id"]
    page = at_session(page_of(lit, viewport=PHONE, has_touch=True), session)
    take(page)
    page.get_by_role("button", name="Send Ctrl C").tap()
    expect(terminal_rows(page)).to_contain_text("<03>")
    page.get_by_role("button", name="Send Esc").tap()
    expect(terminal_rows(page)).to_contain_text("<1b>")
    expect(page.get_by_text("You have the keyboard")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    end(lit, session)


def test_a_session_that_is_opened_is_read_from_its_beginning(lit: Engine, page_of: Visiting) -> None:
    """The focus is in its view, the tab has its name, and the rows of its terminal are text."""
    session = lit.start("sh", "-c", "echo a line to be heard; exec cat", name="to-be-read")["id"]
    page = page_of(lit).page
    page.locator(".line", has_text="to-be-read").wait_for()
    page.get_by_label("Search, or filter as in lamp ls").fill("to-be-read")
    expect(page.locator(".line")).to_have_count(1)
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/#/sessions/{session}")
    page.wait_for_function("() => document.activeElement === document.querySelector('main')")
    page.wait_for_function("() => document.title === 'to-be-read · Lamplighter'")
    expect(page.get_by_role("list", name="Rows of the terminal")).to_contain_text("a line to be heard")
    lit.call("send_input", session=session, text="and another")
    expect(page.get_by_role("list", name="Rows of the terminal")).to_contain_text("and another")
    assert axe(page) == []
    end(lit, session)


def test_the_sums_are_of_everything(lit: Engine, page_of: Visiting) -> None:
    one = lit.start("sleep", "300", name="only", headless=True)["id"]
    page = page_of(lit).page
    sums = page.locator(".sums")
    expect(sums).to_contain_text("process1")
    for sought in ("name:nobody", "nothing of that kind"):
        page.evaluate("words => { location.hash = `#/sessions?selection=${encodeURIComponent(words)}` }", sought)
        expect(page.locator(".line")).to_have_count(0)
        expect(sums).to_contain_text("alive1")
    end(lit, one)
