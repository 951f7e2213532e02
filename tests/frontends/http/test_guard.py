"""Everything that must not get in, and what it leaves: an answer that teaches, and an event without a secret in it."""

from __future__ import annotations

import itertools
import json
import socket
from typing import Any

import pytest

from lamplighter.frontends.mcp.toolsets import TOOLSETS
from tests.support.clockwork import Clockwork
from tests.support.engine import Engine
from tests.support.mcp_client import LEGACY, MODERN
from tests.support.processes import wait_until
from tests.support.web import Reply, Web, port_of, web

ROUTES = ("/", "/mcp", "/mcp/openclaw", "/anything", "/.well-known/oauth-protected-resource")


def refusals(lit: Engine) -> list[dict[str, Any]]:
    return [event for event in lit.events() if event["action"] == "refused"]


def refused(lit: Engine, reply: Reply, status: int, reason: str) -> None:
    assert reply.status == status, reply
    assert reply.error["hint"]
    found = refusals(lit)
    assert any(event["detail"]["reason"] == reason for event in found), found


def test_a_foreign_host_or_origin_gets_nowhere_on_any_route(served: Engine) -> None:
    client = web(served)
    port = client.port
    hosts = (
        f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1.evil.example:{port}", f"127.1:{port}",
        f"localhost:{port}.evil.example", f"user@127.0.0.1:{port}", f"0.0.0.0:{port}", f"localhost:{port}x", "",
        f"127.0.0.1:{port},evil",
    )  # fmt: skip
    for route, host in itertools.product(ROUTES, hosts):
        assert client.ask("GET", route, host=host).status == 403
    refused(served, client.ask("POST", "/mcp", "{}", host="evil"), 403, "host")
    origins = (
        "http://evil.example", "null", f"http://evil.example:{port}", f"https://127.0.0.1:{port}", "http://localhost", "",
        f"http://localhost:{port}.evil.example", f"http://127.0.0.1:{port + 1}", f"http://localhost:{port}/",
    )  # fmt: skip
    for route, origin in itertools.product(ROUTES, origins):
        assert client.ask("GET", route, origin=origin).status == 403
    refused(served, client.ask("POST", "/mcp", "{}", origin="http://evil.example"), 403, "origin")


def test_our_own_names_get_in(served: Engine) -> None:
    client = web(served)
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert client.ask("GET", "/nothing", host=f"{host}:{client.port}").status == 404
    for host in ("127.0.0.1", "localhost"):
        origin = f"http://{host}:{client.port}"
        reply = client.ask("GET", "/nothing", origin=origin)
        assert reply.status == 404
        assert not [name for name in reply.headers if name.startswith("access-control")]
    client.session = None
    assert client.initialize().status == 200


def test_without_a_token_with_a_wrong_one_and_with_a_strange_one(served: Engine) -> None:
    client = web(served)
    secret = client.secret
    for given in (None, "", "Bearer", "Bearer ", f"Basic {secret}", f"Token {secret}", str(secret)):
        reply = client.ask("POST", "/mcp", "{}", authorization=given)
        refused(served, reply, 401, "no token")
        assert "Bearer" in reply.headers["www-authenticate"]
    for given in (
        f"Bearer {secret}x",
        f"Bearer {str(secret)[:-1]}",
        "Bearer lamp_",
        f"Bearer {secret} {secret}",
        "Bearer \xe9",
    ):
        refused(served, client.ask("POST", "/mcp", "{}", authorization=given), 401, "wrong token")
    for path in ("/mcp", "/mcp/", "/mcp/nothing", "/mcpx", f"/mcp?token={secret}", f"/mcp?access_token={secret}"):
        assert client.ask("GET", path, authorization=None).status == 401
    assert str(secret) not in json.dumps(served.events())
    assert str(secret) not in (served.folder / "daemon.log").read_text()


def test_events_of_refusals_are_counted_not_repeated(served: Engine) -> None:
    client = Web(port_of(served))
    for _ in range(20):
        assert client.ask("GET", "/mcp").status == 401
        assert client.ask("GET", "/mcp", host="evil").status == 403
    assert sorted(event["detail"]["reason"] for event in refusals(served)) == ["host", "no token"]
    served.call("stop_daemon")
    told = {event["detail"]["reason"]: event["detail"]["times"] for event in refusals(served)}
    assert told == {"host": 19, "no token": 19}  # what was held back is told when the door closes


def test_an_expired_token(served_by_the_clock: tuple[Engine, Clockwork]) -> None:
    lit, clock = served_by_the_clock
    secret = lit.call("create_token", name="short", scope="read", expires="1h")["secret"]
    client = Web(port_of(lit), secret)
    assert client.initialize().status == 200
    with client.open("GET", "/mcp") as stream:
        assert stream.status == 200
        clock.jump(3601)
        assert b"data" not in stream.read()  # it ends: what is open with it is cut
    reply = client.post("tools/list", {})
    refused(lit, reply, 401, "expired token")
    assert "lamp token create" in reply.error["hint"]
    assert refusals(lit)[-1]["by"] == "token:short"


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_a_token_revoked_while_it_is_used(served: Engine, protocol: str) -> None:
    client = web(served, protocol=protocol)
    other = web(served, name="other", protocol=protocol)
    for one in (client, other):
        if protocol == LEGACY:
            one.initialize()
        assert one.post("tools/list", {}).status == 200
    if protocol == LEGACY:
        with client.open("GET", "/mcp") as stream, other.open("GET", "/mcp") as kept:
            assert served.cli("token", "revoke", "test").returncode == 0
            assert stream.read() == b""
            assert kept.fp is not None  # nobody else's is
    else:
        served.cli("token", "revoke", "test")
    refused(served, client.post("tools/list", {}), 401, "revoked token")
    assert other.post("tools/list", {}).status == 200
    # Under the same name, a new token: what the old one began is not its own.
    again = web(served, protocol=protocol)
    again.session = client.session
    assert again.post("tools/list", {}).status == (404 if protocol == LEGACY else 200)


def test_a_session_belongs_to_the_token_that_began_it(served: Engine) -> None:
    mine, thief = web(served), web(served, name="thief")
    mine.initialize()
    thief.session = mine.session
    for method, body in (("POST", mine.line("tools/list", {})), ("GET", None), ("DELETE", None)):
        assert thief.ask(method, "/mcp", body).status == 404
    assert mine.post("tools/list", {}).status == 200
    mine.secret = None
    assert mine.post("tools/list", {}).status == 401


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
def test_too_narrow_a_scope(served: Engine, protocol: str) -> None:
    client = web(served, scope="start", protocol=protocol)
    if protocol == LEGACY:
        client.initialize()
    assert client.post("tools/list", {}).status == 200
    result = client.call("list_sessions")
    assert result["isError"]
    error = result["structuredContent"]["error"]
    assert error["code"] == "FORBIDDEN"
    assert "lacks the scope read" in error["message"]
    assert refusals(served)[-1]["by"] == "token:test"
    subscribe = ("resources/subscribe", {"uri": "session://x"})
    listen = ("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["session://x"]}})
    for method, params in (("resources/list", {}), subscribe if protocol == LEGACY else listen):
        said = client.post(method, params)
        assert b"FORBIDDEN: token:test may not read" in said.body, said
    assert "Traceback" not in (served.folder / "daemon.log").read_text()


@pytest.mark.skipif("tmux" not in TOOLSETS, reason="without that slice")
def test_a_start_that_may_not_be_looked_at_is_refused_before_it(served: Engine) -> None:
    client = web(served, scope="start", protocol=MODERN)
    made = {"name": "new_session", "arguments": {"name": "unseen"}}
    said = client.post("tools/call", made, path="/mcp/tmux")
    assert b"lacks the scope read" in said.body
    assert served.call("list_sessions")["sessions"] == []


PATHS = [
    "/mcp/../mcp",
    "/mcp/",
    "/mcp//",
    "//mcp",
    "/%6dcp",
    "/mcp%2f",
    "/mcp/%2e%2e/mcp",
    "/MCP",
    "/mcp/core/",
    "/mcp\\",
    "/mcp/x",
]


def test_tricks_with_paths_lead_nowhere(served: Engine) -> None:
    client = web(served)
    for path, method in itertools.product(PATHS, ("GET", "POST", "DELETE", "OPTIONS", "PUT", "TRACE")):
        assert client.ask(method, path, "{}" if method == "POST" else None).status == 404


def test_too_much_and_too_deep(served: Engine) -> None:
    client = web(served)
    client.initialize()
    assert client.ask("POST", "/mcp", b"x" * 50_000_000).status == 413
    assert client.ask("POST", "/mcp", b"x" * 50_000_000, authorization=None).status == 401
    status, head = _declared(client, 10**12)
    assert (status, b"connection: close" in head) == (413, True)
    assert any(event["detail"]["reason"] == "too long" for event in refusals(served))
    for protocol in (LEGACY, MODERN):
        one = Web(client.port, client.secret, protocol)
        if protocol == LEGACY:
            one.initialize()
        for deep in ("[" * 200_000, '{"a":' * 200_000, "[" * 200_000 + "]" * 200_000):
            params = f'{{"name":"list_sessions","arguments":{{"a":{deep}}}}}'
            nested = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
            for body in (deep, nested):
                assert one.ask("POST", "/mcp", body, mcp_method="tools/call", mcp_name="list_sessions").status == 400
        assert one.post("tools/list", {}).status == 200


def _head(client: Web, *more: str) -> bytes:
    lines = [
        "POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{client.port}", f"Authorization: Bearer {client.secret}",
        "Content-Type: application/json", "Accept: application/json, text/event-stream", *more,
    ]  # fmt: skip
    return "\r\n".join([*lines, "", ""]).encode()


def _declared(client: Web, size: int) -> tuple[int, bytes]:
    """Answered at what it says of itself; its body is never waited for."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=200) as sock:
        sock.sendall(_head(client, f"Content-Length: {size}"))
        head = sock.recv(4096)
    return int(head.split()[1]), head


def test_a_body_that_does_not_tell_its_length_is_measured(served: Engine) -> None:
    client = web(served)
    chunk = b"%x\r\n%s\r\n" % (1 << 20, b"x" * (1 << 20))
    with socket.create_connection(("127.0.0.1", client.port), timeout=200) as sock:
        sock.sendall(_head(client, "Transfer-Encoding: chunked"))
        with pytest.raises(OSError, match=r"reset|pipe"):  # it hangs up, in the middle of what is sent
            sock.sendall(chunk * 200)
    assert wait_until(lambda: [event["detail"]["reason"] for event in refusals(served)] == ["too long"])


def test_requests_that_parsers_disagree_about(served: Engine) -> None:
    client = web(served)
    smuggled = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n\r\n".encode()
    both = client.raw(_head(client, "Content-Length: 6", "Transfer-Encoding: chunked") + b"0\r\n\r\n" + smuggled)
    assert both.startswith(b"HTTP/1.1 400")
    assert both.count(b"HTTP/1.1") == 1  # nothing that follows is looked at
    for wrong in (
        _head(client, "Content-Length: 5", "Content-Length: 6") + b"{}    ",
        _head(client, "Content-Length: +5"),
        _head(client, "Transfer-Encoding: xchunked"),
        _head(client, "Transfer-Encoding: chunked, identity"),
        _head(client, "X: a\nHost: evil"),
        _head(client, f"Host: 127.0.0.1:{client.port}"),
        _head(client, "Content-Length : 5"),
        b"GET /mcp\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ):
        said = client.raw(wrong)
        assert said.split()[1] in (b"400", b"403", b"501"), said
        assert said.count(b"HTTP/1.1") == 1
    absolute = client.raw(
        _head(client, "Content-Length: 0", "Connection: close").replace(b"/mcp", b"http://evil.example/mcp", 1)
    )
    assert absolute.startswith(b"HTTP/1.1 404")
    endless = client.raw(b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: " + b"y" * (1 << 18) + b"\r\n\r\n")
    assert not endless or endless.startswith(b"HTTP/1.1 400")
    old = client.raw(b"GET /mcp HTTP/1.0\r\n\r\n")
    assert old.startswith(b"HTTP/1.1 403")
    twice = client.raw(
        _head(client, "Content-Length: 0", f"Authorization: Bearer {client.secret}", "Connection: close")
    )
    assert twice.startswith(b"HTTP/1.1 401")
    assert client.initialize().status == 200


def test_mcp_is_no_websocket(served: Engine) -> None:
    client = web(served)
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec_websocket_version": "13"}
    upgrade["sec_websocket_key"] = "x3JJHMbDL1EzLkh9GBhXDw=="
    assert client.ask("GET", "/mcp", **upgrade).status == 403  # no page of ours: it does not say where it comes from
    assert client.ask("GET", "/mcp", origin=f"http://127.0.0.1:{client.port}", **upgrade).status == 404
