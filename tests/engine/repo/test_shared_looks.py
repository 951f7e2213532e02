"""Looks at repositories are shared, few at once, and never later than the deadline."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from lamplighter.engine.repo.shared_looks import Repositories
from tests.support.processes import wait_until
from tests.support.repository import Repository, counting_git, git_that_hangs


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "shop")


@pytest.fixture
def scratch(tmp_path: Path) -> str:
    return str(tmp_path / "scratch")


def test_fifty_at_once_share_the_answer(
    repository: Repository, tmp_path: Path, scratch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = repository.commit("start")
    last = repository.commit("last", a="1\n")
    told = counting_git(tmp_path / "bin", monkeypatch)

    async def test() -> None:
        repositories = Repositories(scratch)
        asked = [repositories.changes(str(repository.folder), start, 30.0) for _ in range(50)]
        answers = await asyncio.gather(*asked)
        assert all(answer is not None and answer.commits == ((last, "last"),) and not answer.cut for answer in answers)
        assert told.read_text().count("+") == 1

    asyncio.run(test())


def test_at_most_two_gits_at_once(
    repository: Repository, tmp_path: Path, scratch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = counting_git(tmp_path / "bin", monkeypatch)

    async def test() -> None:
        starts = [repository.commit(f"c{number}") for number in range(8)]
        repositories = Repositories(scratch)
        answers = await asyncio.gather(*(repositories.changes(str(repository.folder), sha, 30.0) for sha in starts))
        assert [answer and answer.commit_count for answer in answers] == [7, 6, 5, 4, 3, 2, 1, 0]
        now = most = 0
        for mark in told.read_text().split():
            now += 1 if mark == "+" else -1
            most = max(most, now)
        assert most <= 2

    asyncio.run(test())


def test_who_asks_later_sees_what_happened_in_between(repository: Repository, scratch: str) -> None:
    start = repository.commit("start")

    async def test() -> None:
        repositories = Repositories(scratch)
        first = asyncio.create_task(repositories.changes(str(repository.folder), start, 30.0))
        await asyncio.sleep(0)  # it is asked for, and may have begun
        last = await asyncio.to_thread(repository.commit, "last")
        second = await repositories.changes(str(repository.folder), start, 30.0)
        await first
        assert second is not None
        assert second.head == last

    asyncio.run(test())


def test_a_folder_that_hangs_keeps_nobody_waiting(
    repository: Repository, tmp_path: Path, scratch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = repository.commit("start")
    repository.commit("last")
    pids = git_that_hangs(tmp_path / "bin", monkeypatch)

    async def test() -> None:
        repositories = Repositories(scratch)
        began = time.monotonic()
        answers = await asyncio.gather(*(repositories.changes(str(repository.folder), start, 0.5) for _ in range(20)))
        assert time.monotonic() - began < 120
        assert all(answer is not None and answer.cut for answer in answers)
        other = await repositories.changes(str(tmp_path), None, 0.5)
        assert other is None
        assert wait_until(
            lambda: (
                not any(os.path.exists(f"/proc/{pid}") for pid in (pids.read_text().split() if pids.exists() else ()))
            )
        )

    asyncio.run(test())
