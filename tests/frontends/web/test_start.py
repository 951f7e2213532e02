"""Starting a session on the page: what will run is said first, errors are said where they are, and it goes to the session."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lamplighter.testing.browser import Visit
from lamplighter.testing.engine import Engine

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser
PageOf = Callable[..., Visit]


def opened(house: Engine, browser_page: Page, environment: dict[str, str] | None = None) -> Locator:
    """The dialog, on a page that was opened from a shell in /tmp."""
    browser_page.get_by_role("button", name="Start a session").click()
    return browser_page.get_by_role("dialog")


@pytest.fixture
def visit(house: Engine, browser: object) -> Visit:
    from lamplighter.testing.browser import Visits

    assert isinstance(browser, Visits)
    link = house.call("open_page", cwd="/tmp", environment={"PATH": os.environ["PATH"], "FROM": "the shell"})
    made = browser.visit(link["url"])
    made.page.wait_for_selector(".host.live")
    made.expects("400", "409")  # a browser tells on its console of every answer that is an error
    return made


def test_nothing_runs_is_said_with_what_to_do(visit: Visit) -> None:
    from playwright.sync_api import expect

    expect(visit.page.get_by_role("heading", name="Nothing runs")).to_be_visible()
    expect(visit.page.get_by_text("lamp start --agent claude")).to_be_visible()


def test_a_command_is_split_as_a_shell_does_and_started_as_it_was_shown(house: Engine, visit: Visit) -> None:
    from playwright.sync_api import expect

    page = visit.page
    dialog = opened(house, page)
    expect(dialog.get_by_label("Folder")).to_have_value("/tmp")
    expect(dialog.get_by_role("button", name="Start")).to_be_disabled()
    page.keyboard.type("""sh -c 'echo "$1 $FROM" $PWD; sleep 1000' x "a \\"b\\"" """)
    expect(dialog.locator(".will")).to_contain_text("Will run in /tmp")
    expect(dialog.locator(".will code")).to_have_text("""sh -c 'echo "$1 $FROM" $PWD; sleep 1000' x 'a "b"'""")
    dialog.get_by_label("Name").fill("spelled")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"#/sessions/\w+$"))
    expect(page.get_by_role("dialog")).to_have_count(0)
    shown = house.show("spelled")
    assert page.url.endswith(shown["id"])
    assert shown["command"] == ["sh", "-c", 'echo "$1 $FROM" $PWD; sleep 1000', "x", 'a "b"']
    visit.until(lambda: 'a "b" the shell /tmp' in house.output("spelled"))


def test_what_cannot_be_started_is_said_beside_it_and_changes_nothing(house: Engine, visit: Visit) -> None:
    from playwright.sync_api import expect

    house.start("sleep", "1000", name="taken")
    page = visit.page
    dialog = opened(house, page)
    command, told = dialog.get_by_label("Command"), dialog.get_by_role("alert")
    command.fill("no-such-program-here")
    expect(told).to_contain_text("there is no program 'no-such-program-here'")
    command.fill("echo 'open")
    expect(told).to_contain_text("is never closed")
    command.fill("ls | wc")
    expect(dialog.get_by_text("No shell runs this")).to_be_visible()
    dialog.get_by_role("button", name="Run it by a shell").click()
    expect(dialog.locator(".will code")).to_have_text("bash -c 'ls | wc'")
    command.fill("sleep 1000")
    dialog.get_by_label("Folder").fill("/no/such/folder")
    expect(told).to_contain_text("there is no folder")
    dialog.get_by_label("Folder").fill("/")
    expect(told).to_have_count(0)
    dialog.get_by_label("Name").fill("taken")
    dialog.get_by_role("button", name="Start").click()
    expect(told).to_contain_text("taken")
    expect(command).to_have_value("sleep 1000")
    names = [row["name"] for row in house.call("list_sessions")["sessions"]]
    assert names.count("taken") == 1


def test_limits_kind_and_way_are_as_chosen(house: Engine, visit: Visit) -> None:
    from playwright.sync_api import expect

    page = visit.page
    dialog = opened(house, page)
    dialog.get_by_label("Command").fill("sleep 1000")
    dialog.get_by_label("Name").fill("limited")
    dialog.get_by_role("button", name="Headless").click()
    dialog.get_by_text("Limits, kind, and what it goes on from").click()
    dialog.get_by_label("Older than").fill("later")
    expect(dialog.get_by_role("alert")).to_contain_text("later")
    dialog.get_by_label("Older than").fill("2h")
    dialog.get_by_label("Kind").select_option("cron")
    dialog.get_by_label("Protect it").check()
    dialog.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"#/sessions/\w+$"))
    shown = house.show("limited")
    assert (shown["kind"], shown["driver"], shown["protected"]) == ("cron", "headless", True)
    assert shown["limits"]["age"] == 7200


def test_an_agent_is_started_in_its_own_way(house: Engine, visit: Visit, tmp_path: Path) -> None:
    """What will run is the daemon's word: the agent's own options with the prompt, as `lamp start --agent` gives them."""
    from playwright.sync_api import expect

    page = visit.page
    dialog = opened(house, page)
    dialog.get_by_role("group", name="What").get_by_role("button", name="Agent").click()
    choice = dialog.get_by_label("Agent", exact=False).and_(dialog.locator("select"))
    expect(choice.locator("option", has_text="claude")).to_have_count(1)
    choice.select_option("gemini")
    dialog.get_by_label("Prompt").fill("say hello")
    expect(dialog.locator(".will")).to_contain_text(re.compile("Will run|gemini is not installed here"))
