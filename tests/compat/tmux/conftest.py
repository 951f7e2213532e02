"""An engine whose clients have a plain shell, the tmux server that those clients speak to, and clients of the toolset."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engine import Engine
from tests.support.fixtures import engine_for
from tests.support.mcp_client import McpClient, outside
from tests.support.processes import alive, inspect, wait_until
from tests.support.tmux import Tmux, tmux_of


@pytest.fixture
def lit(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine_for(request, SHELL="/bin/sh", PS1="$ ", ENV="", HISTFILE="") as made:
        yield made


@pytest.fixture
def tmux(lit: Engine) -> Iterator[Tmux]:
    """The user's server; also one that was started for a session of ours goes with the test."""
    with tmux_of(lit) as made:
        yield made
        pid = made.run("display-message", "-p", "#{pid}", check=False) or made.run("ls", "-F", "#{pid}", check=False)
        server = inspect(int(pid.split()[0])) if pid else None
        made.run("kill-server", check=False)
        assert server is None or wait_until(lambda: not alive(server.pid, server.start_ticks))


@pytest.fixture
def client(lit: Engine, tmux: Tmux) -> Iterator[McpClient]:
    """A client in no session."""
    assert tmux
    with outside(lit, tools="tmux") as (made, _):
        yield made
