"""What the page loads before it is seen, and its views when they are looked at."""

from __future__ import annotations

import os
import re
import signal
from posixpath import dirname, join, normpath

import pytest

from lamplighter.frontends.web.assets import assets
from tests.support.browser import Visits
from tests.support.engine import Engine, engine
from tests.support.ports import free_port

SEEN = """(seen) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => !seen });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_the_first_view_is_named_whole_and_the_others_are_not() -> None:
    index = assets()["/"].data.decode()
    (root,) = set(re.findall(r"/v/[0-9a-f]{16}", index))
    named = [path.removeprefix(root) for path in re.findall(r'<link rel="modulepreload" href="([^"]+)">', index)]
    assert len(named) == len(set(named))
    assert {"/js/app.js", "/vendor/preact.js", "/js/views/sessions.js", "/js/views/sessions/row.js"} <= set(named)
    assert not [path for path in named if "xterm" in path or "memory" in path]
    for path in named:
        names: list[str] = re.findall(r'\bfrom "(\.[^"]+)"', assets()[root + path].data.decode())
        for name in names:
            assert normpath(join(dirname(path), name)) in named, f"{path} needs {name}"


def test_all_styles_are_one_file_and_what_is_common_comes_first() -> None:
    (path,) = [path for path in assets() if path.endswith(".css")]
    assert re.findall(r'rel="stylesheet" href="([^"]+)"', assets()["/"].data.decode()) == [path]
    style = assets()[path].data.decode()
    assert style.index(":root") < style.index(".xterm")


@pytest.mark.browser
def test_a_view_that_could_not_be_fetched_comes_when_the_daemon_is_back(browser: Visits) -> None:
    with engine(LAMPLIGHTER_HTTP_PORT=str(free_port())) as served:
        visit = browser.visit()
        page = visit.page
        visit.expects("memory.js", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET")
        page.route("**/views/memory.js", lambda route: route.abort())
        page.goto(served.call("open_page")["url"])
        page.locator(".host.live").wait_for()
        page.get_by_role("link", name="Memory").click()
        page.get_by_role("alert").get_by_text("The daemon does not respond").wait_for()
        os.kill(served.daemon()[0], signal.SIGKILL)
        page.locator(".host.lost").wait_for()
        page.unroute("**/views/memory.js")
        served.call("get_status")
        page.get_by_role("heading", name="Memory", level=1).wait_for()


@pytest.mark.browser
def test_a_view_that_could_not_be_fetched_is_tried_again(served: Engine, browser: Visits) -> None:
    visit = browser.log_in(served)
    page = visit.page
    visit.expects("memory.js")
    page.route("**/views/memory.js", lambda route: route.abort())
    page.get_by_role("link", name="Memory").click()
    page.get_by_role("alert").get_by_text("The daemon does not respond").wait_for()
    page.unroute("**/views/memory.js")
    page.get_by_role("heading", name="Memory", level=1).wait_for()


@pytest.mark.browser
def test_a_dialog_goes_with_the_view_that_it_was_opened_in(served: Engine, browser: Visits) -> None:
    page = browser.log_in(served).page
    page.get_by_role("link", name="Timeline").click()
    page.get_by_role("link", name="Sessions").click()
    page.get_by_role("button", name="Start a session").first.click()
    page.get_by_role("dialog").wait_for()
    page.go_back()
    page.get_by_role("heading", name="Timeline", level=1).wait_for()
    page.get_by_role("dialog").wait_for(state="detached")


@pytest.mark.browser
def test_times_pass_for_whoever_sees_the_page_alone(served: Engine, browser: Visits) -> None:
    (clock,) = [path for path in assets() if path.endswith("/parts/tick.js")]
    page = browser.visit().page
    page.clock.install()
    page.goto(served.call("open_page")["url"])
    page.locator(".host.live").wait_for()

    def now() -> float:
        return page.evaluate("async (path) => (await import(path)).now.value", clock)

    begun = now()
    page.clock.run_for(3000)
    assert now() >= begun + 2000
    page.evaluate(SEEN, False)
    held = now()
    page.clock.run_for(5000)
    assert now() == held
    page.evaluate(SEEN, True)
    assert now() >= held + 5000
