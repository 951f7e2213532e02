"""The page when things go wrong: no room, what cannot be killed, a daemon that is lost, more than can be played.

In a real browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from lamplighter.testing.browser import Visit
from lamplighter.testing.engine import Engine, engine

pytestmark = pytest.mark.browser
Visiting = Callable[..., Visit]

# Draws a title, then more than the page plays, all of it below the title.
LONG = r"""
printf '\033[?1049h\033[2J\033[2;20r\033[1;1Hthe title\033[2;1H'
i=0; while [ $i -lt 15 ]; do i=$((i+1)); printf "part $i "; head -c 1000000 /dev/zero | tr '\0' x; printf '\r\n'; done
printf 'the last word'
"""


def at(visit: Visit, session: str, tab: str = "") -> Page:
    page = visit.page
    page.evaluate("where => { location.hash = where }", f"#/sessions/{session}{'/' + tab if tab else ''}")
    page.locator(".facts-panel").wait_for()
    return page


def rows(page: Page) -> Locator:
    return page.locator(".xterm-rows")


def test_a_long_recording_plays_its_last_part(house: Engine, page_of: Visiting) -> None:
    session = house.start("sh", "-c", LONG)["id"]
    house.call("wait_session", session=session, until="ended", timeout="60s")
    page = at(page_of(house), session)
    page.locator('.screen[data-phase="recorded"]').wait_for()
    expect(page.get_by_text("The last 12 MB of 15 MB that it printed")).to_be_visible()
    expect(rows(page)).to_contain_text("the last word")
    expect(rows(page)).to_contain_text("the title")
    page.get_by_label("Where in the recording").focus()
    page.keyboard.press("Home")
    expect(rows(page)).not_to_contain_text("the last word")
    expect(rows(page)).to_contain_text("the title")


def test_a_recording_that_is_kept_in_part_says_so(page_of: Visiting) -> None:
    limits = {"LAMPLIGHTER_LOG_LIMIT": "400000", "LAMPLIGHTER_LOG_SEGMENT": "100000"}
    with engine(LAMPLIGHTER_HTTP_PORT="0", **limits) as lit:
        session = lit.start("seq", "1", "200000")["id"]
        lit.call("wait_session", session=session, until="ended", timeout="60s")
        visit = page_of(lit)
        visit.expects("net::ERR", "Failed to load")  # it is open when the engine is closed
        page = at(visit, session)
        page.locator('.screen[data-phase="recorded"]').wait_for()
        expect(page.get_by_text(re.compile(r"The last \d\d\d kB of 1\.5 MB that it printed"))).to_be_visible()
        expect(rows(page)).to_contain_text("200000")
