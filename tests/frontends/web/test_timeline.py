"""The page's timeline: who lived when, how each ended, the sums; days, zooms, the keyboard, very many sessions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from lamplighter.domain.ending import How
from tests.support.browser import PHONE, Visit, axe
from tests.support.engine import Engine, engine
from tests.support.past import Bygone, remember

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
DAY = datetime(2026, 3, 4).astimezone()
LATER = 24 * 10


def at(hour: float) -> float:
    return DAY.timestamp() + 3600 * hour


@pytest.fixture(scope="module")
def lit() -> Iterator[Engine]:
    """One for all of them: days do not get into each other's way."""
    with engine(LAMPLIGHTER_HTTP_PORT="0") as made:
        some(made)
        yield made


def some(lit: Engine) -> None:
    remember(
        lit,
        Bygone(
            "morning", at(8), at(10), How.ASKED, "shop", cpu=5.0, memory=10**7, tokens={"input": 1500, "output": 500}
        ),
        Bygone("beside", at(9), at(11), How.KILLED, "shop"),
        Bygone("evening", at(20), at(20.5), How.EXITED, "mill"),
        Bygone("overnight", at(23), at(26), How.LOST, "mill"),
        Bygone("other", at(40), at(41), How.EXITED, "mill"),
    )


def go(visit: Visit, where: str) -> Page:
    visit.page.evaluate("where => { location.hash = where }", where)
    return visit.page


def test_a_day_of_sessions(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    page = go(page_of(lit), "#/timeline?day=2026-03-04")
    expect(page.locator(".bar")).to_have_count(4)
    lanes = page.get_by_role("group").filter(has=page.locator(".bar"))
    expect(lanes).to_have_count(2)
    sums = page.get_by_role("region", name="Sums")
    expect(sums).to_contain_text("5h 30m")  # of the one over night only what is in this day
    expect(sums).to_contain_text("2.0k")
    expect(sums).to_contain_text("killed 1")
    boxes = {
        name: page.get_by_role("link", name=f"{name},").bounding_box() for name in ("morning", "beside", "evening")
    }
    first, beside, evening = (boxes[name] for name in ("morning", "beside", "evening"))
    assert first
    assert beside
    assert evening
    assert first["y"] != beside["y"], "what overlaps is in rows"
    assert first["x"] < beside["x"] < evening["x"]
    assert abs(first["width"] - beside["width"]) < 2, "two hours are as long as two hours"

    page.get_by_role("link", name="morning,").hover()
    expect(page.locator(".tip")).to_contain_text("1.5k input, 500 output")
    page.get_by_role("button", name="Later").click()
    expect(page.locator(".bar")).to_have_count(2)
    page.keyboard.press("[")
    expect(page.locator(".bar")).to_have_count(4)
    page.get_by_role("button", name="Week").click()
    expect(page.locator(".bar")).to_have_count(5)
    page.get_by_role("button", name="6 hours").click()
    expect(page.locator(".bar")).to_have_count(2)
    page.get_by_role("link", name="morning,").click()
    expect(page).to_have_url(re.compile("#/sessions/[0-9a-z]+$"))


def test_the_keyboard_alone_does(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    page = go(page_of(lit), "#/timeline?day=2026-03-04")
    expect(page.locator(".bar[tabindex='0']")).to_have_count(1)
    page.get_by_role("button", name="Today").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="evening,")).to_be_focused()
    expect(page.locator(".tip")).to_contain_text("evening")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("link", name="overnight,")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="beside,")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.startsWith('#/sessions/')")


def test_one_that_runs_is_open_and_its_end_appears_by_itself(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    session = lit.start("sleep", "300", name="here", project="shop")["id"]
    page = go(page_of(lit), "#/timeline")
    expect(page.get_by_role("link", name="here,")).to_have_class("bar how-running")
    page.get_by_role("link", name="here,").focus()
    lit.call("kill_session", session=session, force=True, grace="0s")
    expect(page.get_by_role("link", name="here,")).to_have_class("bar how-killed")
    expect(page.get_by_role("link", name="here,")).to_be_focused()


def test_an_empty_day_leads_to_one_that_is_not(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    page = go(page_of(lit), "#/timeline?day=2026-02-01&zoom=nonsense")
    expect(page.get_by_text("No sessions in this period")).to_be_visible()
    page.get_by_role("button", name="Go to the first session").click()
    expect(page.locator(".bar")).to_have_count(4)
    go_on = go(Visit(page), "#/timeline?day=<script>")
    expect(go_on.get_by_label("Day")).to_have_value(time.strftime("%Y-%m-%d"))


def test_a_thousand_in_a_day_stay_smooth(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    crowd = [
        Bygone(f"load-{n}", at(LATER + n / 50), at(LATER + n / 50 + 3), list(How)[n % 5], "load") for n in range(1000)
    ]
    remember(lit, *crowd, Bygone("alone", at(LATER + 3), at(LATER + 4), project="mill"))
    page = go(page_of(lit), "#/timeline?day=2026-03-14")
    expect(page.locator(".bar")).to_have_count(1001)
    lane = page.get_by_role("group", name="load, 1,000 sessions")
    box = lane.bounding_box()
    assert box
    assert box["height"] < 400, "a lane with very many is compressed"
    expect(lane).to_contain_text("at once")
    page.get_by_role("button", name="Table").click()
    expect(page.get_by_role("row")).to_have_count(1002)


def test_it_is_readable_on_a_phone_and_by_a_screen_reader(lit: Engine, page_of: Callable[..., Visit]) -> None:
    from playwright.sync_api import expect

    visit = page_of(lit, viewport=PHONE)
    for more, there in (("", ".bar"), ("&as=table", "tbody tr"), ("&zoom=week", ".bar")):
        page = go(visit, f"#/timeline?day=2026-03-04{more}")
        expect(page.locator(there).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], more
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            expect(page.locator(f"html[data-theme={scheme}]")).to_be_visible()
            assert axe(page) == [], f"{more}, {scheme}"
