"""An engine that is handed on from one case to the next: nothing of the one before is in it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from lamplighter.errors import LampError
from tests.support.engine import Engine
from tests.support.standing import Standing


@pytest.fixture
def fresh() -> Iterator[Standing]:
    made = Standing()
    yield made
    made.close()


def test_the_next_case_finds_nothing_of_the_one_before(fresh: Standing) -> None:
    with fresh.lend() as lit:
        lit.start("cat", name="one")
        lit.start("cat", name="kept", headless=True)
        lit.call("protect_session", session="kept")
        (lit.folder / "file").touch()
        (lit.folder / "folder").mkdir()
        lit.call("store_records", everywhere=True, records=[{"content": "remembered"}])
        lit.call("kill_session", session="one", force=True, grace="0s")
        first = lit.daemon(), lit.keeper()
    with fresh.lend() as lit:
        assert (lit.daemon(), lit.keeper()) == first
        assert lit.call("list_sessions", all=True)["sessions"] == []
        assert lit.call("list_records", all=True)["records"] == []
        assert lit.events() == []
        assert not {"file", "folder"} & {path.name for path in lit.folder.iterdir()}
        lit.start("cat", name="one")
        assert [event["action"] for event in lit.events()] == ["start", "started"]


def test_an_engine_whose_daemon_was_killed_is_not_handed_on(fresh: Standing) -> None:
    with fresh.lend() as lit:
        lit.call("get_status")
    with fresh.lend() as again:
        assert again.folder == lit.folder
        again.kill(again.daemon())
        again.call("get_status")
    with fresh.lend() as another:
        assert another.folder != lit.folder


def test_what_is_in_the_environment_of_the_tests_is_of_the_engine_too(
    fresh: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fresh.lend() as lit:
        lit.call("get_status")
    monkeypatch.setenv("LANTERN", "lit")
    with fresh.lend() as other:
        assert other.folder != lit.folder
        other.environment["LANTERN"] = "out"
    with fresh.lend() as another:
        assert another.folder not in (lit.folder, other.folder)


def test_another_environment_is_another_engine(fresh: Standing) -> None:
    with fresh.lend() as lit, fresh.lend(LAMPLIGHTER_CGROUP="off") as other:
        assert lit.folder != other.folder


def test_what_a_case_leaves_running_is_its_failure(fresh: Standing) -> None:
    left: list[subprocess.Popen[bytes]] = []
    with pytest.raises(AssertionError, match="left behind"), fresh.lend() as lit:
        left.append(leave_one(lit))
    assert left[0].wait(30) == -9
    with fresh.lend() as another:
        assert another.folder != lit.folder


def leave_one(lit: Engine) -> subprocess.Popen[bytes]:
    lit.patience = 0.2
    lit.call("get_status")
    return subprocess.Popen(["sleep", "300"], env=lit.environment)


def test_after_a_case_that_fails_the_engine_is_another(fresh: Standing) -> None:
    with pytest.raises(LampError), fresh.lend() as lit:
        lit.show("nobody")
    with fresh.lend() as another:
        assert another.folder != lit.folder
    assert not lit.folder.exists()
