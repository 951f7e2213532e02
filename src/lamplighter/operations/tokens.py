"""Tokens for the HTTP door. Only the operator has anything to do with them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.domain.token import LIFETIME, Token, parse_expiry, parse_scopes
from lamplighter.operations.call import Call
from lamplighter.operations.operation import Nothing, Request, Result, operation
from lamplighter.operations.permission import allowed
from lamplighter.operations.views.common import Moment


class CreateToken(Request):
    name: str = Field(description="what to call it; events and the sessions that it starts say token:NAME")
    scope: str = Field(description="what it may do: read, start, send, end, records, with commas between")
    expires: str = Field(default=LIFETIME, description="how long it holds: 8h, 30d; none for ever")


class TokenView(Result):
    name: str
    id: str
    scopes: list[str]
    state: Literal["valid", "expired", "revoked"]
    made_at: Moment | None
    expires_at: Moment | None = Field(description="none: it does not expire")
    used_at: Moment | None = Field(description="when it was last used, to the minute")
    revoked_at: Moment | None


class NewToken(TokenView):
    secret: str | None = Field(description="shown once, now; none when the same key made it before")
    url: str | None = Field(description="where to use it; none when the HTTP door is closed")
    note: str = Field(description="what to do with it")

    def to_keep(self) -> NewToken:
        """The secret is not stored, so a repeated key has none to show."""
        told = f"it was shown when the token was made; if it is lost: lamp token revoke {self.name}, and make another"
        return self.model_copy(update={"secret": None, "note": told})


class Tokens(Result):
    tokens: list[TokenView]


class RevokeToken(Request):
    name: str = Field(description="the token")


@operation(command=None, group="machine", changes=True, act=Act.TOKEN)
async def create_token(call: Call, request: CreateToken) -> NewToken:
    """Make a token for a client that comes over HTTP. Its secret is shown once, and only its hash is stored."""
    await allowed(call, Act.TOKEN)
    scopes, seconds = parse_scopes(request.scope), parse_expiry(request.expires)
    token, secret = await call.app.tokens.create(
        request.name, scopes, seconds, call.caller, call.key, repeated=call.repeated
    )
    url = call.app.host.http_url
    note = (
        "send it with every request: Authorization: Bearer SECRET"
        if url
        else f"the HTTP door is closed: {call.app.host.http_problem or 'http_port is off'}"
    )
    return NewToken(
        **_view(token, call.app.clock.now()).model_dump(), secret=secret, url=f"{url}/mcp" if url else None, note=note
    )


@operation(command=None, group="machine", act=Act.TOKEN)
async def list_tokens(call: Call, _: Nothing) -> Tokens:
    """The tokens there are: scopes, until when, last used. Those revoked or expired are listed for thirty days more."""
    await allowed(call, Act.TOKEN)
    now = call.app.clock.now()
    return Tokens(tokens=[_view(token, now) for token in call.app.tokens.list()])


@operation(command=None, group="machine", changes=True, act=Act.TOKEN)
async def revoke_token(call: Call, request: RevokeToken) -> TokenView:
    """Take a token away: what is open with it is closed at once. Sessions that it started go on, and the operator ends them."""
    await allowed(call, Act.TOKEN)
    return _view(await call.app.tokens.revoke(request.name, call.caller, repeated=call.repeated), call.app.clock.now())


def _view(token: Token, now: float) -> TokenView:
    return TokenView.showing(token, scopes=sorted(token.scopes), state=token.state(now))
