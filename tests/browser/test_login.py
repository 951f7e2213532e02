"""Who gets in: the browser that opens the link first, and nobody with half of what a login is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.browser import Visit, Visits, axe
from tests.support.engine import Engine, engine
from tests.support.web import port_of

pytestmark = pytest.mark.browser

CALL = """([name, headers]) => fetch(`/api/call/${name}`, {
    method: "POST", headers: { "content-type": "application/json", ...headers }, body: '{"args": {}, "key": "asked-here"}',
}).then((answer) => answer.status)"""
START = '{"args": {"command": ["sleep", "300"], "name": "forged"}, "key": "forged"}'
# A page on another port of the same address is of the same site: its requests carry the cookie.
FOREIGN = """
const here = document.querySelector("p"), door = "127.0.0.1:%d", body = JSON.stringify(%s);
const post = (path, more) => fetch(`http://${door}${path}`, { method: "POST", body, credentials: "include", ...more })
    .then((answer) => answer.type + answer.status, () => "refused");
const socket = (path, ...words) => new Promise((done) => {
    const made = new WebSocket(`ws://${door}${path}`, ...words);
    made.onopen = () => done("open");
    made.onerror = () => done("refused");
});
const told = [
    await post("/api/call/start_session", { headers: { "content-type": "application/json" } }),
    await post("/api/call/start_session", { mode: "no-cors" }),
    await socket("/api/terminal/any"),
    await socket("/api/terminal/any", ["lamplighter", "lamplighter.proof.guessed"]),
];
here.textContent = told.join(" ");
here.id = "told";
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Engine]:
    """One for all: each test logs in by itself, and none needs what another left."""
    with engine(LAMPLIGHTER_HTTP_PORT="0") as made:
        yield made


@pytest.fixture
def inside(served: Engine, page_of: Callable[..., Visit]) -> Visit:
    return page_of(served)


def test_the_link_logs_in_and_leaves_no_secret_behind(served: Engine, browser: Visits) -> None:
    url = served.call("open_page")["url"]
    visit = browser.visit(url)
    visit.page.locator(".host.live").wait_for(state="attached")
    secret = url.rpartition("login=")[2]
    assert secret not in visit.page.url
    assert secret not in visit.page.content()
    (cookie,) = visit.page.context.cookies()
    assert (cookie.get("httpOnly"), cookie.get("sameSite"), cookie.get("path")) == (True, "Strict", "/")
    assert visit.page.evaluate("document.cookie") == ""
    visit.page.reload()
    visit.page.locator(".host.live").wait_for(state="attached")


@pytest.mark.parametrize("link", ["used", "wrong", "none"])
def test_without_a_good_link_the_page_says_how_to_get_one(served: Engine, browser: Visits, link: str) -> None:
    found = served.call("open_page")
    url = {"used": found["url"], "wrong": f"{found['address']}#login=guessed", "none": found["address"]}[link]
    if link == "used":
        browser.log_in_with(url)
    late = browser.visit()
    late.expects("the server responded with a status of 40")
    late.page.goto(url)
    late.page.get_by_text("lamp open").first.wait_for()
    assert late.page.context.cookies() == []
    assert not axe(late.page)


def test_each_half_of_a_login_is_worth_nothing(inside: Visit, served: Engine, browser: Visits) -> None:
    page = inside.page
    inside.expects("401", "HTTP Authentication failed")
    proof = page.evaluate("localStorage.getItem('lamplighter.proof')")
    asked = [page.evaluate(CALL, ["list_sessions", {"x-lamplighter-proof": said}]) for said in (proof, "", "guessed")]
    assert asked == [200, 401, 401]
    page.context.clear_cookies()
    assert page.evaluate(CALL, ["list_sessions", {"x-lamplighter-proof": proof}]) == 401


def test_a_page_of_another_port_can_do_nothing(served: Engine, inside: Visit, serve: Callable[..., str]) -> None:
    page = inside.page.context.new_page()  # beside ours, with the same cookies
    page.goto(serve("<p></p>", FOREIGN % (port_of(served), START), ours=False))
    page.locator("#told").wait_for()
    asked, unseen, *sockets = page.inner_text("#told").split()
    assert (asked, sockets) == ("refused", ["refused", "refused"])
    assert unseen in ("opaque0", "refused")  # such an answer is never shown; that nothing was done, the sessions say
    assert served.call("list_sessions")["sessions"] == []
    reasons = [event["detail"].get("reason") for event in served.events() if event["action"] == "refused"]
    assert "origin" in reasons


def test_the_page_is_shown_in_no_frame(served: Engine, browser: Visits, serve: Callable[..., str]) -> None:
    visit = browser.visit()
    visit.expects("frame")
    address = served.call("open_page")["address"]
    visit.page.goto(serve(f'<iframe title="ours" src="{address}"></iframe>', ours=False))
    visit.until(lambda: any("frame" in one for one in visit.complaints))
    assert not visit.page.frames[1].query_selector("#app")


def test_closing_the_page_logs_every_browser_out(served: Engine, inside: Visit) -> None:
    inside.expects("401", "HTTP Authentication failed")
    assert served.call("close_page")["logins"] >= 1
    inside.page.get_by_text("lamp open").first.wait_for()
