"""Starting a session on the page: what will run is said first, errors are said where they are, and it goes to the session."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import Visit, Visits
from tests.support.engine import Engine

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser


def opened(page: Page) -> Locator:
    page.get_by_role("button", name="Start a session").click()
    return page.get_by_role("dialog")


def labelled(dialog: Locator, title: str) -> Locator:
    """By how its label begins: what it is for comes behind."""
    return dialog.get_by_label(re.compile(f"^\\s*{title}"))


@pytest.fixture
def visit(house: Engine, browser: Visits) -> Visit:
    """The page as opened from a shell in /tmp."""
    from playwright.sync_api import expect

    expect.set_options(timeout=120_000)
    link = house.call("open_page", cwd="/tmp", environment={"PATH": os.environ["PATH"], "FROM": "the shell"})
    made = browser.visit(link["url"])
    made.page.wait_for_selector(".host.live")
    made.expects("400", "409")  # a browser tells on its console of every answer that is an error
    return made


def test_nothing_runs_is_said_with_what_to_do(visit: Visit) -> None:
    from playwright.sync_api import expect

    expect(visit.page.get_by_role("heading", name="No sessions running")).to_be_visible()
    expect(visit.page.get_by_text("lamp start --agent claude")).to_be_visible()


def test_a_command_is_split_as_a_shell_does_and_started_as_it_was_shown(house: Engine, visit: Visit) -> None:
    from playwright.sync_api import expect

    page = visit.page
    dialog = opened(page)
    expect(labelled(dialog, "Folder")).to_have_value("/tmp")
    expect(dialog.get_by_role("button", name="Start")).to_be_disabled()
    page.keyboard.type("""sh -c 'echo "$1 $FROM" $PWD; sleep 1000' x "a \\"b\\"" """)
    expect(dialog.locator(".will")).to_contain_text("Will run in /tmp")
    expect(dialog.locator(".will code")).to_have_text("""sh -c 'echo "$1 $FROM" $PWD; sleep 1000' x 'a "b"'""")
    labelled(dialog, "Name").fill("spelled")
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
    dialog = opened(page)
    command, told = labelled(dialog, "Command"), dialog.get_by_role("alert")
    command.fill("no-such-program-here")
    expect(told).to_contain_text("there is no program 'no-such-program-here'")
    command.fill("echo 'open")
    expect(told).to_contain_text("is never closed")
    command.fill("ls | wc")
    expect(dialog.get_by_text("This runs without a shell")).to_be_visible()
    dialog.get_by_role("button", name="Run it in a shell").click()
    expect(dialog.locator(".will code")).to_have_text("bash -c 'ls | wc'")
    command.fill("sleep 1000")
    labelled(dialog, "Folder").fill("/no/such/folder")
    expect(told).to_contain_text("there is no folder")
    labelled(dialog, "Folder").fill("/")
    expect(told).to_have_count(0)
    labelled(dialog, "Name").fill("taken")
    dialog.get_by_role("button", name="Start").click()
    expect(told).to_contain_text("taken")
    expect(command).to_have_value("sleep 1000")
    names = [row["name"] for row in house.call("list_sessions")["sessions"]]
    assert names.count("taken") == 1


def test_limits_kind_and_way_are_as_chosen(house: Engine, visit: Visit) -> None:
    from playwright.sync_api import expect

    page = visit.page
    dialog = opened(page)
    labelled(dialog, "Command").fill("sleep 1000")
    labelled(dialog, "Name").fill("limited")
    dialog.get_by_role("button", name="Headless").click()
    dialog.get_by_text("Limits, kind and predecessor").click()
    labelled(dialog, "Maximum age").fill("later")
    expect(dialog.get_by_role("alert")).to_contain_text("later")
    labelled(dialog, "Maximum age").fill("2h")
    labelled(dialog, "Kind").select_option("cron")
    labelled(dialog, "Protect it").check()
    dialog.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"#/sessions/\w+$"))
    shown = house.show("limited")
    assert (shown["kind"], shown["driver"], shown["protected"]) == ("cron", "headless", True)
    assert shown["limits"]["age"] == 7200


def test_an_agent_is_started_in_its_own_way(visit: Visit) -> None:
    """What will run is the daemon's word: the agent's own options with the prompt, as `lamp start --agent` gives them."""
    from playwright.sync_api import expect

    page = visit.page
    dialog = opened(page)
    dialog.get_by_role("group", name="What").get_by_role("button", name="Agent").click()
    choice = labelled(dialog, "Agent").and_(dialog.locator("select"))
    expect(choice.locator("option", has_text="claude")).to_have_count(1)
    choice.select_option("gemini")
    labelled(dialog, "Prompt").fill("say hello")
    expect(dialog.locator(".will")).to_contain_text(re.compile("Will run|gemini is not installed here"))
