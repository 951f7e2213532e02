"""What texts cite, and what has become of it: in real repositories, hostile ones too."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given as any_of
from hypothesis import strategies as st

from lamplighter.domain.memory.record import NO_EVIDENCE, CitedFile, RecordEvidence
from lamplighter.engine.repo import evidence as module
from lamplighter.engine.repo.evidence import MOST_FILES, cite, cite_all, stale_all
from lamplighter.engine.repo.files import LARGEST, fingerprint
from tests.support.repository import Repository, git_that_hangs


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "shop")
    for name in ("src/a.py", "src/b.py", "notes.md", "Makefile"):
        path = repository.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {name}\n")
    return repository


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stale(evidence: RecordEvidence) -> list[str]:
    return stale_all([evidence])[0]


def _paths(evidence: RecordEvidence) -> list[str]:
    return [cited.path for cited in evidence.files]


# -- what is cited


def test_files_that_are_there(shop: Repository) -> None:
    folder = shop.folder
    text = (
        "In `src/a.py:12` and (src/b.py), see ./notes.md. Not src/c.py, nor Makefile, src/ or e.g. a.b; again src/a.py!"
    )
    found = cite(str(folder), text)
    assert found.folder == str(folder)
    assert found.files == tuple(
        CitedFile(name, _digest(folder / name)) for name in ("src/a.py", "src/b.py", "notes.md")
    )
    assert cite(str(folder), f"{folder}/src/a.py").files == found.files[:1]
    assert cite(str(folder), "nothing at all") == NO_EVIDENCE
    (folder / "two words.txt").write_text("x")
    assert _paths(cite(str(folder), "see 'two words.txt'")) == ["two words.txt"]


def test_at_most_twenty_files_and_large_ones_unread(shop: Repository) -> None:
    for number in range(40):
        (shop.folder / f"f{number}.txt").write_text("x")
    text = " ".join(f"f{number}.txt" for number in range(40))
    assert len(cite(str(shop.folder), text).files) == MOST_FILES
    large = shop.folder / "large.bin"
    with large.open("wb") as file:
        file.truncate(LARGEST + 1)
    found = cite(str(shop.folder), "large.bin")
    assert found.files == (CitedFile("large.bin", f"size:{LARGEST + 1}"),)
    assert stale(found) == []
    os.truncate(large, LARGEST + 2)
    assert stale(found) == ["large.bin has changed since"]
    large.unlink()
    assert stale(found) == ["large.bin is gone"]


def test_nothing_outside_is_read(shop: Repository, tmp_path: Path) -> None:
    folder = shop.folder
    (tmp_path / "secret.txt").write_text("s")
    (folder / "out.txt").symlink_to("/etc/passwd")
    (folder / "up").symlink_to(tmp_path)
    (folder / "in.txt").symlink_to("src/a.py")
    (folder / "loop.txt").symlink_to("loop.txt")
    text = f"out.txt up/secret.txt ../secret.txt {tmp_path}/secret.txt /etc/passwd in.txt loop.txt src/../../secret.txt"
    assert cite(str(folder), text).files == (CitedFile("in.txt", _digest(folder / "src/a.py")),)


def test_only_regular_files_are_opened(shop: Repository) -> None:
    os.mkfifo(shop.folder / "pipe.txt")
    (shop.folder / "null.txt").symlink_to("/dev/null")
    (shop.folder / "folder.d").mkdir()
    assert cite(str(shop.folder), "pipe.txt null.txt folder.d src/a.py/x.txt") == NO_EVIDENCE
    assert cite("/dev", "stdin/x.y null/x.y ./null ./zero ./tty") == NO_EVIDENCE


def test_a_file_that_becomes_a_link_while_it_is_looked_at(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.path.realpath

    def swapped(path: str) -> str:
        found = real(path)
        if found.endswith("src/a.py"):
            shutil.rmtree(shop.folder / "src")
            (shop.folder / "src").symlink_to("/etc")
            return f"{shop.folder}/src/passwd"
        return found

    monkeypatch.setattr(os.path, "realpath", swapped)
    assert fingerprint(str(shop.folder), "src/a.py") is None


def test_commits_that_are_there(shop: Repository) -> None:
    first, second = shop.commit("one"), shop.commit("two")
    tree = shop.git("rev-parse", "HEAD^{tree}")
    text = (
        f"{first[:7]} then {second}, {second[:12]}; not deadbee, {tree}, 1234567, x{first[:8]} or {first[:6]}. {first}"
    )
    assert cite(str(shop.folder), text).commits == (first, second)
    assert cite(str(shop.folder / "src"), text).commits == (first, second)


def test_many_texts_cost_one_look(shop: Repository, runs: Path) -> None:
    commits = [shop.commit(f"{number}") for number in range(3)]
    runs.unlink(missing_ok=True)
    found = cite_all(str(shop.folder), [f"see {commit}, src/a.py" for commit in commits] * 10)
    assert [one.commits for one in found[:3]] == [(commit,) for commit in commits]
    assert runs.read_text().count("rev-list") == 1
    runs.unlink()
    assert stale_all(found) == [[]] * 30
    assert runs.read_text().count("rev-list") == 1


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git that says what it is run with."""
    git, told = shutil.which("git"), tmp_path / "runs"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(f'#!/bin/sh\necho "$@" >> {told}\nexec {git} "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return told


# -- what has become of it


def test_files_that_changed_or_went(shop: Repository) -> None:
    found = cite(str(shop.folder), "src/a.py src/b.py notes.md")
    assert stale(found) == []
    (shop.folder / "src/a.py").write_text("other")
    (shop.folder / "src/b.py").unlink()
    assert stale(found) == ["src/a.py has changed since", "src/b.py is gone"]
    (shop.folder / "src/a.py").write_text("# src/a.py\n")
    assert stale(found) == ["src/b.py is gone"]
    (shop.folder / "src/a.py").unlink()
    (shop.folder / "src/a.py").symlink_to("/etc/passwd")
    assert stale(found) == ["src/a.py is gone", "src/b.py is gone"]


def test_an_amended_commit(shop: Repository) -> None:
    first, second = shop.commit("one"), shop.commit("two")
    found = cite(str(shop.folder), f"{first} and {second[:8]}")
    assert stale(found) == []
    shop.git("commit", "-q", "--amend", "--allow-empty", "-m", "three")
    assert stale(found) == [f"commit {second[:7]} is not in HEAD's history any more"]
    shop.git("reflog", "expire", "--expire=now", "--all")
    shop.git("gc", "-q", "--prune=now")
    assert stale(found) == [f"commit {second[:7]} is not in the repository any more"]


def test_a_rebase(shop: Repository) -> None:
    base = shop.commit("base")
    shop.git("checkout", "-q", "-b", "topic")
    topic = shop.commit("topic")
    shop.git("checkout", "-q", "main")
    main = shop.commit("main")
    shop.git("checkout", "-q", "topic")
    found = cite(str(shop.folder), f"{base} {topic}")
    assert stale(found) == []
    shop.git("rebase", "-q", "--keep-empty", "main")
    assert stale(found) == [f"commit {topic[:7]} is not in HEAD's history any more"]
    assert stale(cite(str(shop.folder), main)) == []


def test_a_work_tree_has_a_history_of_its_own(shop: Repository, tmp_path: Path) -> None:
    first = shop.commit("one")
    shop.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    second = shop.commit("two")
    there, here = (cite(str(folder), f"{first} {second}") for folder in (tmp_path / "tree", shop.folder))
    assert there.commits == here.commits == (first, second)
    assert stale_all([there, here]) == [[f"commit {second[:7]} is not in HEAD's history any more"], []]
    shutil.rmtree(tmp_path / "tree")
    assert stale_all([there, here]) == [[f"the folder {tmp_path / 'tree'} is gone"], []]


def test_a_folder_that_is_gone_and_one_that_is_no_repository(shop: Repository, tmp_path: Path) -> None:
    first = shop.commit("one")
    found = cite(str(shop.folder), f"src/a.py {first}")
    shutil.rmtree(shop.folder / ".git")
    assert stale(found) == [f"commit {first[:7]} is gone, and its repository"]
    assert cite(str(shop.folder), f"src/a.py {first}").commits == ()
    shutil.rmtree(shop.folder)
    assert stale(found) == [f"the folder {shop.folder} is gone"]
    assert cite(str(shop.folder), f"src/a.py {first}") == NO_EVIDENCE
    assert stale(NO_EVIDENCE) == []
    assert stale(RecordEvidence(None, (CitedFile("x", None),))) == []


def test_before_the_first_commit(shop: Repository) -> None:
    assert cite(str(shop.folder), "deadbeef src/a.py").commits == ()
    found = RecordEvidence(str(shop.folder), (), ("deadbeef" * 5,))
    assert stale(found) == ["commit deadbee is not in the repository any more"]


def test_without_git_nothing_is_claimed_of_commits(
    shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shop.commit("one")
    found = cite(str(shop.folder), f"src/a.py {first}")
    shop.git("commit", "-q", "--amend", "--allow-empty", "-m", "three")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert stale(found) == []
    assert cite(str(shop.folder), f"src/a.py {first}") == RecordEvidence(found.folder, found.files, ())


def test_a_git_that_hangs(shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = shop.commit("one")
    found = cite(str(shop.folder), f"src/a.py {first}")
    (shop.folder / "src/a.py").unlink()
    git_that_hangs(tmp_path / "hanging", monkeypatch)
    monkeypatch.setattr(module, "DEADLINE", 0.3)
    started = time.monotonic()
    assert stale(found) == ["src/a.py is gone"]
    assert time.monotonic() - started < 120


def test_nothing_of_the_repository_is_run(shop: Repository, tmp_path: Path) -> None:
    """Also not for a commit that is missing, which a partial clone would fetch."""
    first = shop.commit("one")
    told = tmp_path / "told"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {told}\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand", "gpg.program"):
        shop.git("config", name, str(program))
    shop.git("config", "alias.rev-list", f"!{program}")
    shop.git("config", "remote.origin.url", f"ext::{program}")
    shop.git("config", "protocol.ext.allow", "always")
    shop.git("config", "extensions.partialClone", "origin")
    shop.git("config", "core.repositoryFormatVersion", "1")
    found = cite(str(shop.folder), f"src/a.py {first}")
    found = replace(found, commits=(*found.commits, "deadbeef" * 5))
    assert stale(found) == ["commit deadbee is not in the repository any more"]
    assert not told.exists()
    # The trap works: git as it is springs it.
    subprocess.run(["git", "-C", str(shop.folder), "cat-file", "-e", "deadbeef" * 5], check=False, capture_output=True)
    assert told.exists()


@any_of(st.text(), st.text("ab./-`' \n\0", max_size=60))
def test_any_text_can_be_cited_from(one: str, other: str) -> None:
    assert cite("/nonexistent", one) == NO_EVIDENCE
    for found in cite_all("/etc", [one, other]):
        assert all(not cited.path.startswith(("/", "..")) for cited in found.files)


def test_long_texts_are_quick(shop: Repository) -> None:
    shop.commit("one")
    started = time.process_time()
    for piece in ("a/", "./", "a.b ", "deadbeef ", "'a b", "../", "a" * 9 + "."):
        cite(str(shop.folder), piece * (20_000 // len(piece)))
    assert time.process_time() - started < 2
