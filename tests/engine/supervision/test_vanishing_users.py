"""As an ordinary user, whom permissions bind: sockets and folders that somebody takes away, or forbids to write to."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine import Engine, leaving_nothing
from tests.support.ordinary import UID, OrdinaryEngine, find_python
from tests.support.processes import alive, wait_until


@pytest.fixture
def ordinary() -> Iterator[OrdinaryEngine]:
    if os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    python = find_python()
    if python is None:
        pytest.skip(f"uid {UID} can read no Python of this version, or not this package")
    with leaving_nothing(OrdinaryEngine(python)) as made:
        yield made


def take(made: Engine, what: str, session: str) -> None:
    if what == "run":
        shutil.rmtree(made.home.run)
    else:
        for path in (made.home.daemon_socket, made.home.keeper_socket, made.home.shim_socket(session)):
            os.unlink(path)


@pytest.mark.parametrize("what", ["run", "sockets"])
def test_nothing_that_lives_is_ended_for_want_of_a_socket(ordinary: OrdinaryEngine, what: str) -> None:
    session = ordinary.start("cat", name="work")["id"]
    shim, daemon = ordinary.shim(session), ordinary.daemon()
    take(ordinary, what, session)
    listed = json.loads(ordinary.cli("ls", "--json").stdout)["sessions"]
    assert [(one["id"], one["state"]) for one in listed] == [(session, "running")]
    assert (alive(*shim), alive(*daemon)) == (True, True)
    ordinary.call("send_input", session=session, text="here")
    ordinary.call("wait_session", session=session, until="text=here\r\nhere", timeout="60s")
    ended = ordinary.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["how"], ended["certificate"]["survivors"]) == ("ended", "killed", [])


def test_a_session_whose_folder_cannot_be_written_to_is_ended(ordinary: OrdinaryEngine) -> None:
    session = ordinary.start("cat", name="work")["id"]
    shim = ordinary.shim(session)
    Path(ordinary.home.session_folder(session)).chmod(0o500)
    ended = ordinary.call("kill_session", session=session, force=True, grace="0s")
    assert (ended["state"], ended["certificate"]["survivors"]) == ("ended", [])
    assert wait_until(lambda: not alive(*shim))


@pytest.mark.parametrize("what", ["run", "sockets"])
def test_down_without_sockets(lit: Engine, what: str) -> None:
    session = lit.start("cat", name="work")["id"]
    shim, daemon, keeper = lit.shim(session), lit.daemon(), lit.keeper()
    take(lit, what, session)
    went = lit.cli("down", "--all", "--yes", "--grace", "0s")
    assert went.returncode == 0, went.stderr
    assert wait_until(lambda: not any(alive(*each) for each in (shim, daemon, keeper)))
