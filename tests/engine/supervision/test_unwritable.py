"""A state folder that an ordinary user cannot write to: what lives is seen and ended, and the ending is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lamplighter.errors import Code, LampError
from tests.support.engine import leaving_nothing
from tests.support.ordinary import UID, OrdinaryEngine, find_python
from tests.support.processes import alive, wait_until

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")


@pytest.fixture
def ordinary() -> Iterator[OrdinaryEngine]:
    python = find_python()
    if python is None:
        pytest.skip(f"uid {UID} can read no Python of this version, or not this package")
    with leaving_nothing(OrdinaryEngine(python)) as made:
        try:
            yield made
        finally:
            made.folder.chmod(0o700)


@pytest.mark.parametrize("stopped", [True, False])
def test_what_lives_is_ended_and_that_is_kept(ordinary: OrdinaryEngine, stopped: bool) -> None:
    session = ordinary.start("sleep", "300", headless=True)["id"]
    main = ordinary.show(session)["pid"]
    if stopped:  # its log of writes goes with it, and cannot be made again
        ordinary.call("stop_daemon")
        assert wait_until(lambda: not alive(*ordinary.daemon()))
        ordinary.folder.chmod(0o500)
    else:
        ordinary.folder.chmod(0o500)
        ordinary.kill(ordinary.daemon())
    assert [row["id"] for row in ordinary.call("list_sessions")["sessions"]] == [session]
    killed = ordinary.call("kill_session", session=session, force=True, grace="0s", reason="nothing can be written")
    assert (killed["state"], killed["certificate"]["survivors"]) == ("ended", [])
    assert not os.path.exists(f"/proc/{main}")
    if stopped:
        with pytest.raises(LampError) as refused:
            ordinary.start("sleep", "300", headless=True)
        assert refused.value.code is Code.DISK_FULL
        checks = {check["name"]: check["state"] for check in ordinary.call("check_host")["checks"]}
        assert checks["store"] == "bad"
    ordinary.folder.chmod(0o700)
    ordinary.kill(ordinary.daemon())
    assert ordinary.show(session)["state"] == "ended"
    assert ordinary.show(session)["ending"]["reason"] == "nothing can be written"
    ordinary.start("true", headless=True)
