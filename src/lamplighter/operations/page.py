"""The page: a link that logs in whoever opens it, and the end of every login, which only the operator has to do with; who may
watch a terminal on it, and who may type into one."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.engine.service.logins import LINK_SECONDS, Shell
from lamplighter.errors import Code, Hint, UnavailableError, Use
from lamplighter.operations.call import Call
from lamplighter.operations.fields import HIDDEN, Environment, SessionWord
from lamplighter.operations.operation import Nothing, Request, Result, operation
from lamplighter.operations.permission import allowed, permitted, readable
from lamplighter.operations.views.common import moment


class OpenPage(Request):
    environment: Environment = None
    cwd: str | None = Field(default=None, description="the caller's folder", json_schema_extra=HIDDEN)


class PageLink(Result):
    url: str = Field(description="logs in whoever opens it first; good once")
    expires_at: str | None = Field(description="when it is good no more")
    address: str = Field(description="the page, for a browser that is logged in")


@operation(command="open", group="machine", act=Act.PAGE)
async def open_page(call: Call, request: OpenPage) -> PageLink:
    """Open the page in a browser: live sessions with their terminals, ending, cleanup, approvals, records.

    The link logs in the browser that opens it first, for seven days. It works once, and expires after ten minutes.
    """
    await allowed(call, Act.PAGE)
    address = call.app.host.http_url
    if address is None:
        raise UnavailableError(
            Code.UNSUPPORTED,
            f"there is no page: {call.app.host.http_problem or 'http_port is off'}",
            Hint("set http_port in config.toml or LAMPLIGHTER_HTTP_PORT, then ", Use("down"), " and ", Use("up")),
        )
    secret = call.app.logins.make_link(Shell(request.environment or {}, request.cwd))
    expires = moment(call.app.clock.now() + LINK_SECONDS)
    return PageLink(url=f"{address}/#login={secret}", expires_at=expires, address=f"{address}/")


class ClosedPage(Result):
    logins: int = Field(description="how many there were")


@operation(command=None, group="machine", changes=True, act=Act.PAGE)
async def close_page(call: Call, _: Nothing) -> ClosedPage:
    """Log out every browser, at once; links that were not used are good no more."""
    await allowed(call, Act.PAGE)
    return ClosedPage(logins=await call.app.logins.close(call.caller))


# -- terminals on the page


class WatchedTerminal(Result):
    id: str
    name: str


class WatchTerminal(Request):
    session: SessionWord


@operation(command=None, group="sessions")
async def watch_terminal(call: Call, request: WatchTerminal) -> WatchedTerminal:
    """The session whose terminal the caller may watch."""
    session = await readable(call, await call.app.registry.find(request.session))
    return WatchedTerminal(id=session.id, name=session.name)


class TakeKeyboard(WatchTerminal):
    rows: int = Field(ge=1, le=1000)
    cols: int = Field(ge=1, le=1000)


@operation(command=None, group="sessions", act=Act.SEND)
async def take_keyboard(call: Call, request: TakeKeyboard) -> WatchedTerminal:
    """Be a person at a session, who types and hears nothing: what it prints comes to those who watch. Passes a descriptor."""
    session = await permitted(call, Act.SEND, request.session)
    _, descriptor = await call.app.session_io.attach(
        session, request.rows, request.cols, read_only=False, bound=False, by=call.caller, deaf=True
    )
    call.pass_descriptor(descriptor)
    return WatchedTerminal(id=session.id, name=session.name)
