"""The page when things go wrong: no room, what cannot be killed, a daemon that is lost, late answers, more than can be played.

In a real browser.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable

import pytest
from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from tests.support.browser import Visit, at_session, terminal_rows
from tests.support.disk import fill, make_room, small_disk
from tests.support.engine import Engine, engine, leaving_nothing
from tests.support.ordinary import UID, OrdinaryEngine, find_python
from tests.support.ports import free_port
from tests.support.survivor import make_program, start_with

pytestmark = pytest.mark.browser
Visiting = Callable[..., Visit]

# Draws a title, then more than the page plays, all of it below the title.
LONG = r"""
printf '\033[?1049h\033[2J\033[2;20r\033[1;1Hthe title\033[2;1H'
i=0; while [ $i -lt 15 ]; do i=$((i+1)); printf "part $i "; head -c 1000000 /dev/zero | tr '\0' x; printf '\r\n'; done
printf 'the last word'
"""


# -- no room


def start(page: Page, command: str) -> Locator:
    page.get_by_role("button", name="Start a session").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(re.compile("^\\s*Command")).fill(command)
    dialog.get_by_role("button", name="Start").click()
    return dialog


def test_a_full_disk_is_said_and_stops_nothing(page_of: Visiting) -> None:
    with small_disk(LAMPLIGHTER_HTTP_PORT="0") as lit:
        session = lit.start("bash", "--norc", name="goes-on")["id"]
        visit = page_of(lit)
        visit.expects("503", "net::ERR", "Failed to load")
        page = at_session(visit, session)
        page.locator('.screen[data-phase="live"]').wait_for()
        page.get_by_role("button", name="Take the keyboard").click()
        page.get_by_text("You have the keyboard").wait_for()
        fill(lit)
        page.keyboard.type("echo $((6*7))\n")
        expect(terminal_rows(page)).to_contain_text("42")
        page.keyboard.press("Control+\\")
        page.evaluate("location.hash = '#/sessions'")
        dialog = start(page, "sleep 300")
        expect(dialog.get_by_role("alert")).to_contain_text(re.compile("(the store cannot|nothing can) be written"))
        expect(dialog.get_by_role("alert")).to_contain_text("make room")
        dialog.get_by_role("button", name="Cancel").click()
        page = at_session(visit, session)
        page.get_by_role("textbox", name=re.compile("Text for")).fill("echo never")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator(".composer").get_by_role("alert")).to_contain_text("make room")
        page.get_by_role("button", name=re.compile("^Protect ")).click()
        page.get_by_role("dialog").get_by_role("button", name="Protect").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("make room")
        assert [row["name"] for row in lit.call("list_sessions")["sessions"]] == ["goes-on"]
        make_room(lit)
        page.get_by_role("dialog").get_by_role("button", name="Protect").click()
        expect(page.get_by_text("Protected: only you")).to_be_visible()


def test_what_fills_the_disk_can_be_ended(page_of: Visiting) -> None:
    with small_disk(LAMPLIGHTER_HTTP_PORT="0") as lit:
        session = lit.start("bash", "--norc", name="goes")["id"]
        visit = page_of(lit)
        visit.expects("503", "net::ERR", "Failed to load")
        page = at_session(visit, session)
        page.locator('.screen[data-phase="live"]').wait_for()
        fill(lit)
        page.get_by_role("button", name=re.compile("^End ")).click()
        page.get_by_role("dialog").get_by_role("button", name="End it").click()
        expect(page.get_by_role("dialog")).to_contain_text("Nothing is left")
        make_room(lit)
        assert "never" not in lit.output(session)
        page.evaluate("location.hash = '#/sessions'")
        start(page, "sleep 300")
        page.wait_for_url(re.compile("#/sessions/.+"))
        expect(page.get_by_role("heading", name="sleep")).to_be_visible()
        visit.settle()


# -- what cannot be killed


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_a_survivor_is_named_until_it_is_gone(page_of: Visiting, mark: str) -> None:
    python = find_python()
    if python is None:
        pytest.skip(f"uid {UID} can read no Python of this version, or not this package")
    with leaving_nothing(OrdinaryEngine(python, LAMPLIGHTER_HTTP_PORT="0")) as lit:
        session, survivor = start_with(lit, make_program(lit), mark)
        visit = page_of(lit)
        visit.expects("net::ERR", "Failed to load")
        page = at_session(visit, session, "processes")
        page.get_by_role("button", name=re.compile("^End ")).click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Grace").fill("0s")
        dialog.get_by_role("button", name="End it").click()
        expect(dialog).to_contain_text("1 process is still alive.")
        row = dialog.get_by_role("row", name=re.compile(rf"^{survivor} "))
        expect(row).to_contain_text("not permitted: it belongs to another user")
        dialog.get_by_role("button", name="Done").click()
        expect(page.get_by_label("Survivors")).to_contain_text("1 process is still alive.")
        expect(page.get_by_label("Survivors")).to_contain_text(str(survivor))
        page.get_by_role("button", name=re.compile("^End ")).click()
        page.get_by_role("dialog").get_by_role("button", name="End it").click()
        expect(dialog).to_contain_text("1 process is still alive.")
        os.kill(survivor, signal.SIGKILL)
        expect(dialog).to_contain_text("Nothing is left. 2 processes ended")
        dialog.get_by_role("button", name="Done").click()
        expect(page.get_by_role("heading", name="Death certificate")).to_be_visible()
        expect(page.get_by_label("Survivors")).to_have_count(0)
        assert lit.show(session)["state"] == "ended"


# -- a daemon that is lost


def test_a_daemon_that_is_killed_does_not_stop_a_recording(page_of: Visiting) -> None:
    with engine(LAMPLIGHTER_HTTP_PORT=str(free_port())) as lit:
        session = lit.start("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo part $i; sleep 0.7; done; echo last")["id"]
        lit.call("wait_session", session=session, until="ended", timeout="120s")
        visit = page_of(lit)
        visit.expects("net::ERR", "Failed to load")
        page = at_session(visit, session)
        page.locator('.screen[data-phase="recorded"]').wait_for()
        page.get_by_role("button", name="Play").click()
        expect(terminal_rows(page)).not_to_contain_text("part 4")
        os.kill(lit.keeper()[0], signal.SIGSTOP)  # it would start another at once
        try:
            lit.kill(lit.daemon())
            expect(page.get_by_text("The daemon does not respond.")).to_be_visible()
            expect(terminal_rows(page)).to_contain_text("last")
        finally:
            os.kill(lit.keeper()[0], signal.SIGCONT)
        lit.call("get_status")
        expect(page.get_by_text("The daemon does not respond.")).to_have_count(0)
        expect(terminal_rows(page)).to_contain_text("last")
        page.get_by_role("button", name="Play").click()
        expect(terminal_rows(page)).not_to_contain_text("part 2")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        visit.settle()


# -- answers that come late


class Late:
    """The answers to an operation, held back until they are let go; what was asked is done at once."""

    def __init__(self, page: Page, operation: str) -> None:
        self.held: list[tuple[Route, APIResponse]] = []
        page.route(f"**/api/call/{operation}", self._hold)

    def _hold(self, route: Route) -> None:
        self.held.append((route, route.fetch()))

    def let_go(self) -> None:
        for route, response in self.held:
            route.fulfill(response=response)


def test_a_late_answer_to_a_start_leaves_what_came_meanwhile_alone(house: Engine, page_of: Visiting) -> None:
    other = house.start("sleep", "300", name="other")["id"]
    visit = page_of(house)
    page = visit.page
    late = Late(page, "start_session")
    start(page, "sleep 301").get_by_role("button", name="Cancel").click()
    visit.until(lambda: late.held)
    page = at_session(visit, other)
    page.keyboard.press("p")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Protect other?")
    late.let_go()
    expect(page.locator(".toast")).to_contain_text("Started")
    expect(dialog).to_contain_text("Protect other?")
    assert page.url.endswith(f"#/sessions/{other}")
    page.keyboard.press("Escape")


def test_an_end_that_is_seen_before_its_answer(house: Engine, page_of: Visiting) -> None:
    session = house.start("sleep", "300", name="early")["id"]
    visit = page_of(house)
    page = at_session(visit, session)
    late = Late(page, "end_session")
    page.get_by_role("button", name=re.compile("^End ")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="End it").click()
    visit.until(lambda: late.held)
    page.get_by_text("No output").wait_for()
    expect(dialog).to_contain_text("No process is left. Writing the certificate…")
    late.let_go()
    expect(dialog).to_contain_text("Nothing is left. 1 process ended")
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_role("button", name=re.compile("^End "))).to_have_count(0)


# -- more than can be played


def test_a_long_recording_plays_its_last_part(house: Engine, page_of: Visiting) -> None:
    session = house.start("sh", "-c", LONG)["id"]
    house.call("wait_session", session=session, until="ended", timeout="120s")
    page = at_session(page_of(house), session)
    page.locator('.screen[data-phase="recorded"]').wait_for()
    expect(page.get_by_text("Last 12 MB of 15 MB of output")).to_be_visible()
    expect(terminal_rows(page)).to_contain_text("the last word")
    expect(terminal_rows(page)).to_contain_text("the title")
    page.get_by_label("Position in the recording").focus()
    page.keyboard.press("Home")
    expect(terminal_rows(page)).not_to_contain_text("the last word")
    expect(terminal_rows(page)).to_contain_text("the title")


def test_a_recording_that_is_kept_in_part_says_so(page_of: Visiting) -> None:
    limits = {"LAMPLIGHTER_LOG_LIMIT": "400000", "LAMPLIGHTER_LOG_SEGMENT": "100000"}
    with engine(LAMPLIGHTER_HTTP_PORT="0", **limits) as lit:
        session = lit.start("seq", "1", "200000")["id"]
        lit.call("wait_session", session=session, until="ended", timeout="120s")
        visit = page_of(lit)
        visit.expects("net::ERR", "Failed to load")  # it is open when the engine is closed
        page = at_session(visit, session)
        page.locator('.screen[data-phase="recorded"]').wait_for()
        expect(page.get_by_text(re.compile(r"Last \d\d\d kB of 1\.5 MB of output"))).to_be_visible()
        expect(terminal_rows(page)).to_contain_text("200000")
