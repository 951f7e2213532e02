"""The list of sessions in a browser: what it shows, how it is searched, sorted and moved in; that it draws what is seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import PHONE, Visit, axe
from tests.support.engine import Engine
from tests.support.tmux import tmux_of

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser
PageOf = Callable[..., Visit]
TRICK = "<img src=x onerror=window.tricked=1>"


def line(page: Page, name: str) -> Locator:
    return page.locator(".line").filter(has=page.get_by_role("link", name=name, exact=True))


def names(page: Page) -> list[str]:
    """From the top to the bottom, as they are seen."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.line')]
            .map((line) => [line.getBoundingClientRect().top, line.querySelector('a').textContent])
                 .sort((a, b) => a[0] - b[0]).map(([, name]) => name)"""
    )


def current(page: Page) -> Locator:
    return page.locator(".line.current a")


@pytest.fixture(scope="module")
def world(house: Engine) -> dict[str, Any]:
    """Four that stay for all cases: a parent with a child and a grandchild, and one apart."""
    asks = ("bash", "-c", f"read -p 'Proceed? {TRICK} [y/N] ' answer")
    top = house.start("bash", "--norc", name="top", project="alpha")
    child = house.start("sleep", "1000", name="child", parent=top["id"], kind="cron", project="beta")
    grand = house.start(*asks, name="grandchild", parent=child["id"])
    apart = house.start("python3", "-c", "import time; kept = bytearray(60_000_000); time.sleep(1000)", name="apart")
    return {"top": top["id"], "child": child["id"], "grandchild": grand["id"], "apart": apart["id"]}


@pytest.fixture
def visit(house: Engine, world: dict[str, Any], page_of: PageOf) -> Visit:
    from playwright.sync_api import expect

    expect.set_options(timeout=120_000)
    made = page_of(house)
    made.page.wait_for_selector(".line")
    return made


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit.page


def test_it_shows_what_ls_knows_and_follows_by_itself(house: Engine, page: Page) -> None:
    from playwright.sync_api import expect

    expect(line(page, "grandchild").locator(".verdict .verdict")).to_have_text("waiting")
    expect(line(page, "grandchild")).to_contain_text(f"waits for an answer: Proceed? {TRICK} [y/N]")
    expect(line(page, "child").locator(".agent")).to_contain_text("cron")
    expect(line(page, "top").locator(".project")).to_contain_text("alpha")
    expect(page.locator(".sum").first).to_contain_text("4")
    expect(page.get_by_role("button", name="waiting 1")).to_be_visible()
    # What is typed and where one is stay as they are while rows come and go.
    page.locator("#search").fill("come")
    made = house.start("sleep", "1000", name="newcomer")
    expect(line(page, "newcomer")).to_be_visible()
    expect(page.locator("#search")).to_be_focused()
    house.call("kill_session", session=made["id"], force=True)
    expect(page.get_by_role("heading", name="No matching sessions")).to_be_visible()
    page.get_by_role("button", name="Include ended sessions").click()
    expect(line(page, "newcomer")).to_contain_text("ended")
    assert page.evaluate("window.tricked") is None


def test_selections_are_the_daemons_and_plain_words_are_searched(page: Page, visit: Visit) -> None:
    from playwright.sync_api import expect

    visit.expects("400")  # a browser tells on its console of every answer that is an error
    search = page.locator("#search")
    search.fill("kind:cron+name:top")
    expect(page.locator(".line")).to_have_count(2)
    assert "selection=kind%3Acron%2Bname%3Atop" in page.url
    search.fill("sleep BETA")
    expect(page.locator(".line")).to_have_count(1)
    expect(line(page, "child")).to_be_visible()
    search.fill("kind:crom")
    expect(page.get_by_role("alert")).to_contain_text("did you mean cron?")
    search.fill("idle,nobody-of-this-name")
    expect(page.get_by_role("alert")).to_contain_text("there is no session 'nobody-of-this-name'")
    expect(page.locator(".host")).to_contain_text("live")
    search.fill("")
    expect(page.locator(".line")).to_have_count(4)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="waiting 1").click()
    expect(page.locator(".line")).to_have_count(1)
    page.reload()
    expect(page.locator(".line")).to_have_count(1)


def test_the_keyboard_alone_does(page: Page, world: dict[str, Any]) -> None:
    from playwright.sync_api import expect

    press = page.keyboard.press
    expect(current(page)).to_have_text("apart")
    press("j")
    press("ArrowDown")
    press("k")
    expect(current(page)).to_have_text("grandchild")
    grid = page.get_by_role("grid")
    expect(grid).to_have_attribute("aria-activedescendant", f"row-{world['grandchild']}")
    press("G")
    expect(current(page)).to_have_text("top")
    press("g")
    press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("child")
    expect(page.locator(".line")).to_have_count(2)
    press("Enter")  # leaves the search and keeps it
    expect(grid).to_be_focused()
    expect(page.locator(".line")).to_have_count(2)
    press("x")
    press("x")
    expect(page.locator(".marked-bar")).to_contain_text("2 sessions selected")
    press("e")
    page.wait_for_url(re.compile(r"#/cleanup\?selection="))
    ids = page.evaluate("new URLSearchParams(location.hash.split('?')[1]).get('selection')")
    assert set(ids.split("+")) == {world["child"], world["grandchild"]}
    page.go_back()
    expect(page.locator(".marked-bar")).to_be_visible()
    press("Escape")  # the marks
    expect(page.locator(".marked-bar")).to_have_count(0)
    press("Escape")  # the search
    expect(page.locator(".line")).to_have_count(4)
    press("Enter")
    page.wait_for_url(re.compile(r"#/sessions/\w+$"))


def test_every_key_is_in_the_help(page: Page) -> None:
    page.keyboard.press("?")
    told = page.get_by_role("dialog").inner_text()
    for words in (
        "next session",
        "open it",
        "search",
        "select it",
        "kill it",
        "start a session",
        "switch between table and tree",
    ):
        assert words in told


def test_the_tree_shows_who_started_whom(house: Engine, page: Page, world: dict[str, Any]) -> None:
    from playwright.sync_api import expect

    page.keyboard.press("t")
    assert "view=tree" in page.url
    row = page.locator(f"#row-{world['grandchild']}")
    expect(row).to_have_attribute("aria-level", "3")
    expect(page.locator(f"#row-{world['top']}")).to_have_attribute("aria-expanded", "true")
    page.get_by_role("button", name="Hide what child started").click()
    expect(row).to_have_count(0)
    expect(current(page)).to_have_text("child")
    page.keyboard.press("ArrowRight")
    expect(row).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(current(page)).to_have_text("top")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".line")).to_have_count(2)
    # The children of one that has ended are at the root, also when it is shown.
    page.get_by_label("Show ended").check()
    parent = house.start("sleep", "1000", name="leaver")
    left = house.start("sleep", "1000", name="left-alone", parent=parent["id"])
    expect(page.locator(f"#row-{left['id']}")).to_have_attribute("aria-level", "2")
    house.call("kill_session", session=parent["id"], force=True)
    expect(line(page, "leaver")).to_contain_text("ended")
    expect(page.locator(f"#row-{left['id']}")).to_have_attribute("aria-level", "1")
    house.call("kill_session", session=left["id"], force=True)


def test_sorting_is_remembered_and_the_cursor_stays_with_its_session(page: Page) -> None:
    from playwright.sync_api import expect

    page.keyboard.press("G")
    expect(current(page)).to_have_text("top")
    page.get_by_role("button", name="Session", exact=True).click()
    page.wait_for_function("() => document.querySelector('[aria-sort=ascending]')?.textContent.includes('Session')")
    assert names(page) == ["apart", "child", "grandchild", "top"]
    expect(current(page)).to_have_text("top")
    page.get_by_role("button", name="Memory").click()
    page.wait_for_function("() => document.querySelector('[aria-sort=descending]')?.textContent.includes('Memory')")
    assert names(page)[0] == "apart"
    page.goto(page.url.split("#")[0] + "#/approvals")
    page.goto(page.url.split("#")[0] + "#/sessions")
    page.wait_for_selector(".line")
    assert names(page)[0] == "apart"
    page.get_by_role("button", name="Memory").click()
    page.wait_for_function("() => document.querySelector('[aria-sort=ascending]')?.textContent.includes('Memory')")
    assert names(page)[-1] == "apart"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_seriously_wrong_for_anybody(
    house: Engine, world: dict[str, Any], page_of: PageOf, scheme: str
) -> None:
    page = page_of(house, color_scheme=scheme).page
    page.wait_for_selector(".line")
    assert axe(page) == []
    page.keyboard.press("t")
    page.keyboard.press("x")
    page.wait_for_selector(".marked-bar")
    assert axe(page) == []
    page.keyboard.press("n")
    page.wait_for_selector("dialog[open]")
    assert axe(page) == []


def test_on_a_phone_there_are_cards_and_nothing_to_scroll_sideways(
    house: Engine, world: dict[str, Any], page_of: PageOf
) -> None:
    page = page_of(house, viewport=PHONE, has_touch=True).page
    page.wait_for_selector(".line")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    box = line(page, "grandchild").bounding_box()
    assert box is not None
    assert box["width"] < PHONE["width"]
    assert box["height"] > 90
    assert axe(page) == []
    page.get_by_role("button", name="Start a session").click()
    page.wait_for_selector("dialog[open]")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert (
        page.evaluate("(() => { const d = document.querySelector('dialog'); return d.scrollWidth - d.clientWidth; })()")
        == 0
    )


def test_only_what_is_seen_is_drawn(house: Engine, page: Page) -> None:
    from playwright.sync_api import expect

    many = [house.start("sleep", "1000", name=f"many-{n:03}")["id"] for n in range(60)]
    try:
        expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "65")
        assert page.locator(".line").count() < 50
        height = page.evaluate("document.querySelector('.lines').offsetHeight")
        assert height == 64 * 52
        page.keyboard.press("G")
        expect(current(page)).to_have_text("top")
        expect(line(page, "top")).to_be_in_viewport(ratio=0.9)
        assert line(page, "many-059").count() == 0
        # An update neither moves what is seen nor the cursor.
        before = page.evaluate("scrollY")
        house.start("sleep", "1000", name="one-more")
        expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "66")
        expect(current(page)).to_have_text("top")
        assert page.evaluate("scrollY") == before
        page.keyboard.press("g")
        expect(line(page, "one-more")).to_be_in_viewport(ratio=0.9)
        page.locator("#search").fill("many-003")
        expect(line(page, "many-003")).to_be_visible()
    finally:
        plan = house.call("cleanup_sessions", selection="many-*+one-more", force=True)
        house.call("cleanup_sessions", apply=plan["plan"])
    assert len(many) == 60


def test_what_tmux_holds_can_be_adopted(house: Engine, visit: Visit) -> None:
    from playwright.sync_api import expect

    page = visit.page
    visit.expects("409", "503")  # it has no bytes to draw, and then it is gone
    with tmux_of(house) as tmux:
        tmux.new("work", "exec sleep 300")
        held = page.get_by_role("region", name="Other tmux sessions")
        expect(held).to_contain_text("tmux:work")
        held.get_by_role("button", name="Adopt tmux:work").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("This does not affect")
        expect(dialog).to_contain_text("best effort")
        dialog.get_by_role("button", name="Adopt").click()
        page.wait_for_url(re.compile(r"#/sessions/\w+$"))
        assert house.show("work")["driver"] == "tmux"
        house.call("kill_session", session="work", force=True)
