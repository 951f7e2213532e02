"""Cleaning up in a browser: the plan and its apply, what is left alone, and what agents that are gone left behind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import PHONE, Visit, axe
from tests.support.clockwork import FOLDER, Clockwork
from tests.support.engine import Engine, engine
from tests.support.leaving import claude_entry, conversation, playing, sleeper
from tests.support.ports import free_port
from tests.support.processes import none_left, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser
PageOf = Callable[..., Visit]
TRICK = "<img/src=x/onerror=window.tricked=1>"


@pytest.fixture
def calm() -> Iterator[Engine]:
    """Takes a session for idle soon; its clock can be moved; its page is where it was after a restart."""
    fast = {"LAMPLIGHTER_QUIET": "0.2s", "LAMPLIGHTER_STALL": "0.2s", "PYTHONPATH": FOLDER}
    with engine(LAMPLIGHTER_HTTP_PORT=str(free_port()), **fast) as made:
        yield made


def leftovers(made: Engine, name: str, mark: str = "", **arguments: Any) -> str:
    command = ("sh", "-c", f"sh -c 'sleep 300; : {mark}' & exit 0")
    session = made.start(*command, name=name, headless=True, keep_children=True, **arguments)["id"]
    assert wait_until(lambda: made.show(session)["verdict"] == "leftovers"), made.show(session)
    return session


def at(visit: Visit, where: str) -> Page:
    from playwright.sync_api import expect

    expect.set_options(timeout=120_000)
    visit.page.evaluate(f"location.hash = '#/{where}'")
    return visit.page


def see(locator: Locator) -> Any:
    from playwright.sync_api import expect

    return expect(locator)


def row(page: Page, session: str) -> Locator:
    return page.locator(f'.plan tr[data-id="{session}"]')


def confirm(page: Page, what: str) -> None:
    page.get_by_role("button", name=f"End {what}…").click()
    page.get_by_role("dialog").get_by_role("button", name=f"End {what}", exact=True).click()


def no_scroll(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_plan_is_looked_through_and_applied_row_by_row(calm: Engine, mark: str, page_of: PageOf) -> None:
    one, two = leftovers(calm, "one", mark), leftovers(calm, TRICK, mark)
    leftovers(calm, "kept", protect=True)
    visit = page_of(calm)
    page = at(visit, "cleanup")
    see(row(page, one)).to_contain_text("its command has exited, its children have not")
    see(page.get_by_role("heading", level=2)).to_have_text(re.compile(r"^Frees .+: \d+ processes of 2 sessions$"))
    page.get_by_text("1 session that matches, not in the plan").click()
    see(page.locator(".leftout li")).to_contain_text("it is protected")

    page.get_by_role("checkbox", name=f"End {TRICK}").uncheck()
    see(page.get_by_role("heading", level=2)).to_have_text(re.compile(r"^Frees .+ of 1 session$"))
    assert axe(page) == []
    assert calm.show(one)["state"] == "running", "nothing ends by a plan"
    page.get_by_role("button", name="End 1 session…").click()
    dialog = page.get_by_role("dialog")
    see(dialog).to_contain_text("Unsaved work is lost")
    dialog.get_by_label("Reason").fill("seen on the page")
    dialog.get_by_role("button", name="End 1 session").click()

    see(page.get_by_role("heading", level=2)).to_have_text(re.compile(r"^Ended 1 session: .+ freed$"))
    see(row(page, one)).to_contain_text("ended")
    see(row(page, two)).to_contain_text("skipped left out by the operator")
    page.get_by_role("button", name="Certificate of one").click()
    see(page.get_by_role("dialog")).to_contain_text(
        calm.guarantee or calm.show(one)["ending"]["certificate"]["guarantee"]
    )
    see(page.get_by_role("dialog")).to_contain_text("seen on the page")
    page.keyboard.press("Escape")
    assert axe(page) == []
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    assert no_scroll(page)
    assert page.evaluate("window.tricked") is None
    assert (calm.show(one)["state"], calm.show(two)["state"]) == ("ended", "running")


def test_an_expired_plan_is_said_and_planned_again(calm: Engine, page_of: PageOf) -> None:
    one, two = leftovers(calm, "one"), leftovers(calm, "two")
    visit = page_of(calm)
    visit.expects("Failed to load resource")  # a refusal is one, for the console
    page = at(visit, "cleanup")
    row(page, two).get_by_role("checkbox").uncheck()
    Clockwork(calm.folder).advance(601)
    confirm(page, "1 session")
    see(page.get_by_role("alert")).to_contain_text("has expired")
    see(page.get_by_role("button", name="End 1 session…")).to_be_disabled()
    page.get_by_role("alert").get_by_role("button", name="Plan again").click()
    see(page.get_by_role("alert")).to_have_count(0)
    see(row(page, two).get_by_role("checkbox")).not_to_be_checked()
    confirm(page, "1 session")
    see(row(page, one)).to_contain_text("ended")
    assert calm.show(two)["state"] == "running"


def test_an_active_session_needs_two_ticks(calm: Engine, page_of: PageOf) -> None:
    busy = calm.start("sh", "-c", "while :; do :; done", name="busy", headless=True)["id"]
    assert wait_until(lambda: calm.show(busy)["verdict"] == "working")
    page = at(page_of(calm), f"cleanup?selection={busy}")
    see(page.locator(".leftout li")).to_contain_text("it is active")
    see(page.get_by_label("Filter", exact=True)).to_have_value(busy)
    page.get_by_role("checkbox", name="Include active sessions").check()
    see(page.get_by_text("whatever they are doing")).to_be_visible()
    see(row(page, busy)).to_be_visible()
    page.get_by_role("button", name="End 1 session…").click()
    end = page.get_by_role("dialog").get_by_role("button", name="End 1 session")
    see(end).to_be_disabled()
    page.get_by_role("dialog").get_by_label("Reason").press("Enter")
    assert calm.show(busy)["state"] == "running"
    page.get_by_role("dialog").get_by_role("checkbox").check()
    end.click()
    see(row(page, busy)).to_contain_text("ended")


def test_a_choice_that_changed_blocks_the_old_plan(calm: Engine, page_of: PageOf) -> None:
    one = leftovers(calm, "one")
    visit = page_of(calm)
    visit.expects("Failed to load resource")
    page = at(visit, "cleanup")
    see(row(page, one)).to_be_visible()
    page.get_by_label("Quiet for at least").fill("8h")
    see(page.get_by_role("button", name="End 1 session…")).to_be_disabled()
    page.keyboard.press("Enter")
    see(page.get_by_text("Nothing to clean up")).to_be_visible()
    see(page.locator(".leftout li")).to_contain_text("quiet for")
    assert "older_than=8h" in page.url
    page.get_by_role("button", name="Filter").click()
    page.get_by_label("Filter", exact=True).fill("orphand")
    page.keyboard.press("Enter")
    see(page.get_by_role("alert")).to_contain_text("did you mean orphaned?")
    page.get_by_role("button", name="Left over").click()
    see(row(page, one)).to_be_visible()
    page.locator("h1").click()
    page.keyboard.press("j")
    see(row(page, one).get_by_role("checkbox")).to_be_focused()
    page.keyboard.press("Space")
    see(page.get_by_role("heading", level=2)).to_have_text("Nothing selected")


def test_an_apply_goes_on_through_the_death_of_the_daemon(calm: Engine, mark: str, page_of: PageOf) -> None:
    deaf = f"trap '' TERM HUP; echo up; while :; do :; done; : {mark}"
    sessions = [calm.start("sh", "-c", deaf, name=f"deaf-{number}", headless=True)["id"] for number in range(2)]
    for session in sessions:
        calm.call("wait_session", session=session, until="text=up", timeout="120s")
        assert wait_until(lambda session=session: calm.show(session)["verdict"] == "working")
    visit = page_of(calm)
    visit.expects("ERR_", "Failed to load resource")
    page = at(visit, "cleanup?selection=deaf-*")
    page.get_by_role("checkbox", name="Include active sessions").check()
    page.get_by_role("button", name="End 2 sessions…").click()
    page.get_by_role("dialog").get_by_role("checkbox").check()
    page.get_by_role("dialog").get_by_role("button", name="End 2 sessions").click()
    visit.until(lambda: all(calm.show(session)["state"] == "ending" for session in sessions))
    see(page.get_by_text("ending…")).to_have_count(2)
    calm.kill(calm.daemon())
    see(page.get_by_role("heading", level=2)).to_have_text(re.compile("^Ended 2 sessions"))
    see(page.locator(".plan tr.ended")).to_have_count(2)
    assert none_left(mark)


def test_leaks_are_shown_with_why_and_only_what_is_ticked_is_ended(
    calm: Engine, mark: str, tmp_path: Path, page_of: PageOf
) -> None:
    marks = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": conversation()}
    things = [
        sleeper("mcp-server", mark, input="pipe", alone=False, marks=marks),
        sleeper("kept", mark, output=str(tmp_path / "log"), marks={**marks, "CLAUDE_PID": "{pid}"}),
    ]
    with playing("claude", tmp_path, things) as player:
        assert player.start is not None
        claude_entry(tmp_path, marks["CLAUDE_CODE_SESSION_ID"], player.pid, player.start)
        player.kill()
        server, kept = player.pids
        leaks = [
            leak
            for leak in calm.call("scan_host")["leaks"]
            if {each["pid"] for each in leak["processes"]} & {server, kept}
        ]
        certain, likely = (next(leak for leak in leaks if leak["certainty"] == word) for word in ("certain", "likely"))
        page = at(page_of(calm), "cleanup/leaks")
        mine, other = (page.locator(f'.leak[data-id="{leak["id"]}"]') for leak in (certain, likely))
        see(mine.get_by_role("checkbox")).to_be_checked()
        see(other.get_by_role("checkbox")).not_to_be_checked()
        see(mine).to_contain_text("nobody holds the other end of its input")
        see(mine).to_contain_text(f"{server}")
        see(page.locator(".panel header").first).to_contain_text(
            re.compile(r"dead sessions? holds? .*looked at .* processes in .* s")
        )
        assert axe(page) == []
        # Others may have left things on this machine, and they are none of this test's business.
        for box in page.locator(".leak input").all():
            box.uncheck()
        mine.get_by_role("checkbox").check()
        page.get_by_role("button", name="Plan to end 1 leak").click()
        see(page.locator(".plan tbody tr")).to_have_count(1)
        see(row(page, certain["id"])).to_contain_text("certain")
        confirm(page, "1 leak")
        see(row(page, certain["id"])).to_contain_text("ended")
        page.get_by_role("button", name="Scan again").click()
        see(other).to_be_visible()
        see(mine).to_have_count(0)
        page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        assert no_scroll(page)


def test_an_agent_that_nobody_manages_is_adopted(calm: Engine, mark: str, tmp_path: Path, page_of: PageOf) -> None:
    with playing("claude", tmp_path, [sleeper("tool", mark)]) as player:
        page = at(page_of(calm), "cleanup/leaks")
        page.get_by_role("button", name=f"Adopt claude {player.pid}").click()
        dialog = page.get_by_role("dialog")
        see(dialog).to_contain_text("This does not affect")
        dialog.get_by_label("Name").fill("taken")
        with page.expect_request("**/adopt_session") as sent:
            dialog.get_by_role("button", name="Adopt").click()
        asked = sent.value.post_data_json["args"]
        assert (asked["target"], asked["start"]) == (str(player.pid), player.start)
        page.wait_for_url(re.compile("#/sessions/"))
        found = calm.show("taken")
        assert (found["state"], found["driver"]) == ("running", "registered")
        calm.call("kill_session", session="taken", force=True, grace="0s")
