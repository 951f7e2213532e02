"""Who gets in at the page: whoever the operator's shell gave a link, once; nobody else, and nothing before that."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from contextlib import closing, suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.connection import Connection

from lamplighter.errors import Code, LampError
from lamplighter.frontends.web.assets import assets
from lamplighter.frontends.web.http_status import STATUS
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine
from tests.support.processes import wait_until
from tests.support.web import Page, page, web

CALL = "/api/call/list_sessions"
KNOCK = """
import json, sys, urllib.request, urllib.error
asked = {"/": None, "/api/call/list_sessions": b"{}", "/api/live?sessions=": None, "/api/login": b'{"link": "x"}'}
for path, body in asked.items():
    try:
        answer = urllib.request.urlopen(urllib.request.Request(sys.argv[1] + path, body))
        print(path, answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        print(path, error.code)
"""


def test_a_link_is_good_once(served: Engine) -> None:
    url = served.call("open_page")["url"]
    first, second = Page(served), Page(served)
    reply = first.log_in(url)
    assert reply.status == 200
    assert re.fullmatch(
        rf"lamplighter-{first.port}=[\w-]{{43}}; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800",
        reply.headers["set-cookie"],
    )
    assert first.do("list_sessions") == {"sessions": [], "left_out": 0, "by_hand": [], "notice": ""}
    again = second.log_in(url)
    assert (again.status, again.error["code"]) == (403, "FORBIDDEN")
    assert "lamp open" in again.error["hint"]
    assert second.cookie is None
    for wrong in ("", "x", "\0", "é" * 50, "x" * 1000):
        assert second.log_in(f"#login={wrong}").status == 403
    assert second.log_in(f"#login={'x' * 100_000}").status == 413


def test_links_and_logins_grow_old(served_by_the_clock: tuple[Engine, Clockwork]) -> None:
    lit, clock = served_by_the_clock
    url, late = lit.call("open_page")["url"], Page(lit)
    early = page(lit)
    clock.advance(601)
    assert late.log_in(url).status == 403
    assert early.ask("POST", CALL, "{}").status == 200
    clock.advance(7 * 86400)
    assert early.ask("POST", CALL, "{}").status == 401


def test_neither_secret_is_of_use_without_the_other(served: Engine) -> None:
    """A cookie goes to whatever listens on another port of this address; the proof is kept by the page."""
    one, other = page(served), page(served)
    good = (one.cookie, one.proof)
    for cookie, proof in ((one.cookie, None), (None, one.proof), (one.cookie, other.proof), (other.cookie, one.proof)):
        one.cookie, one.proof = cookie, proof
        assert one.ask("POST", CALL, "{}").status == 401
        assert one.ask("GET", "/api/live?sessions=").status == 401
        with pytest.raises(InvalidStatus) as refused, one.terminal("any"):
            pass
        assert refused.value.response.status_code == 401
    one.cookie, one.proof = good
    assert one.ask("POST", CALL, "{}").status == 200


@pytest.mark.parametrize("other", ['seen={"a": [1, 2]}', "a b=1", "theme"])
def test_a_login_holds_beside_cookies_of_other_programs(served: Engine, other: str) -> None:
    """They are sent to every port of this address, and not every program keeps to the rules for what is in one."""
    mine = page(served)
    mine.cookie = f"{other}; {mine.cookie}; {other}"
    assert mine.ask("POST", CALL, "{}").status == 200


def test_another_site_gets_nowhere(served: Engine) -> None:
    mine = page(served)
    session = served.start("cat")["id"]
    for path in ("/", "/js/app.js", "/api/login", CALL, "/api/live", f"/api/terminal/{session}"):
        assert mine.ask("GET", path, origin="http://evil.example").status == 403
        assert mine.ask("POST", path, "{}", origin="null").status == 403
        assert mine.ask("GET", path, host="evil.example").status == 403
    for origin in (
        "http://evil.example",
        "null",
        f"http://127.0.0.1:{mine.port + 1}",
        f"https://127.0.0.1:{mine.port}",
    ):
        with pytest.raises(InvalidStatus) as refused, mine.terminal(session, origin=origin):
            pass
        assert refused.value.response.status_code == 403
    with mine.terminal(session) as terminal:
        assert json.loads(terminal.recv(10))["type"] == "screen"


def test_an_agent_that_fetches_the_page_gets_nothing(served: Engine) -> None:
    """It has the files, which say nothing, and no way to a link."""
    secret = served.start("sleep", "300", name="the-lamp-behind-the-mill")
    address = served.call("open_page")["address"].rstrip("/")
    knocks = served.start(sys.executable, "-c", KNOCK, address, headless=True)["id"]
    served.call("wait_session", session=knocks, until="ended", timeout="120s")
    said = served.output(knocks)
    assert "/ 200" in said
    assert "/api/call/list_sessions 401" in said
    assert "/api/live?sessions= 401" in said
    assert "/api/login 403" in said
    assert "mill" not in said
    assert secret["id"] not in said
    within = served.start(
        "sh", "-c", f"{sys.executable} -m lamplighter.frontends.cli.entry open; echo $?", headless=True
    )
    served.call("wait_session", session=within["id"], until="ended", timeout="120s")
    told = served.output(within["id"])
    assert "FORBIDDEN" in told
    assert "#login" not in told


def test_a_token_does_not_open_the_page(served: Engine) -> None:
    """But it calls operations, as far as its scopes go."""
    client = web(served, "read")
    assert json.loads(client.ask("POST", CALL, "{}").body)["result"]["sessions"] == []
    assert client.ask("POST", "/api/call/open_page", "{}").status == 403
    assert client.ask("POST", "/api/call/start_session", '{"args": {"command": ["true"]}, "key": "k"}').status == 403


def test_every_browser_is_logged_out_at_once(served: Engine) -> None:
    session = served.start("cat")["id"]
    one, other = page(served), page(served)
    unused = served.call("open_page")["url"]
    with one.live(sessions="") as events, other.terminal(session) as terminal:
        assert next(events)[0] == "state"
        assert json.loads(terminal.recv(10))["type"] == "screen"
        assert served.call("close_page") == {"logins": 2}
        assert {event for event, _ in events} <= {"state", "sessions", "sums", "changes"}  # and it ends
        assert wait_until(lambda: _closed(terminal) == 4401)
    assert one.ask("POST", CALL, "{}").status == 401
    assert Page(served).log_in(unused).status == 403
    assert [event["detail"] for event in served.events() if event["action"] == "page logout"] == [{"logins": 2}]


def _closed(terminal: Connection) -> int | None:
    with suppress(TimeoutError, ConnectionClosed):
        while True:
            terminal.recv(0.1)
    return terminal.close_code


def test_a_login_outlives_the_daemon_and_a_link_does_not(served: Engine) -> None:
    mine, unused = page(served), served.call("open_page")["url"]
    port = mine.port
    served.call("stop_daemon")
    served.environment["LAMPLIGHTER_HTTP_PORT"] = str(port)
    assert wait_until(lambda: served.call("get_status")["http"] is not None)
    mine.port = int(served.call("get_status")["http"].rpartition(":")[2])
    cookie = mine.cookie
    assert cookie is not None
    mine.cookie = f"lamplighter-{mine.port}={cookie.partition('=')[2]}"
    assert mine.do("list_sessions")["sessions"] == []
    stranger = Page(served)
    assert stranger.log_in(unused).status == 403


def test_no_secret_is_stored(served: Engine) -> None:
    url = served.call("open_page", environment={"API_KEY": "the-key-of-the-oil-store"})["url"]
    mine = Page(served)
    mine.log_in(url)
    assert mine.cookie is not None
    assert mine.proof is not None
    served.call("stop_daemon")
    data = b"".join(
        file.read_bytes() for file in served.folder.rglob("*") if file.is_file() and "log" not in file.suffix
    )
    for secret in (url.partition("=")[2], mine.cookie.partition("=")[2], mine.proof, "the-key-of-the-oil-store"):
        assert secret.encode() not in data
    with closing(sqlite3.connect(next(served.folder.rglob("*.db")))) as db, db:
        assert db.execute("SELECT count(*) FROM logins").fetchone() == (1,)


def test_what_is_started_there_has_the_shells_environment(served: Engine) -> None:
    mine = Page(served)
    mine.log_in(served.call("open_page", environment={"LANTERN": "green", "PATH": "/usr/bin:/bin"}, cwd="/usr")["url"])
    started = mine.do("start_session", command=["sh", "-c", "echo $LANTERN"], cwd="/usr", headless=True)
    served.call("wait_session", session=started["id"], until="ended", timeout="120s")
    assert served.output(started["id"]) == "green\n"
    assert served.show(started["id"])["owner"] == "operator"
    with mine.live() as events:
        _, state = next(events)
    assert (state["cwd"], state["shell"]) == ("/usr", True)


def test_without_a_door_there_is_no_page(lit: Engine) -> None:
    with pytest.raises(LampError) as refused:
        lit.call("open_page")
    assert refused.value.code is Code.UNSUPPORTED
    assert "http_port" in refused.value.hint


def test_every_file_is_sent_safely(served: Engine) -> None:
    anybody = Page(served)
    for path in assets():
        reply = anybody.ask("GET", path, accept_encoding="gzip")
        assert reply.status == 200
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert anybody.ask("GET", path, if_none_match=reply.headers["etag"]).status == 304
        assert anybody.ask("HEAD", path).body == b""
    assert re.search(r'src="/v/[0-9a-f]{16}/js/app.js"', anybody.ask("GET", "/").body.decode())
    for path in (
        "/js/app.js",
        "/js/../index.html",
        "/js/%2e%2e/index.html",
        "/index.html",
        "/static/",
        "/js",
        "//",
        "/js/none.js",
    ):
        assert anybody.ask("GET", path).status == 404
    index = anybody.ask("GET", "/").body.decode()
    assert not re.search(r"<script(?![^>]*\ssrc=)", index)
    assert " on" not in re.sub(r">[^<]*<", "><", index)


def test_every_code_has_a_status() -> None:
    assert set(STATUS) == set(Code)
