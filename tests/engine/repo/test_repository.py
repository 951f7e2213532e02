"""What git knows of a folder: read from real repositories, hostile ones too, and never later than the deadline."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from lamplighter.engine.repo.repository import DEADLINE, MOST_COMMITS, MOST_FILES, Changes, Findings, Head, head, look
from tests.support.processes import wait_until
from tests.support.repository import ENVIRONMENT, Repository, git_that_hangs

_PATIENT = 30.0  # a loaded machine is not what is tested


def changes(
    folder: str, since: str | None, scratch: str, deadline: float = DEADLINE, started_at: float | None = None
) -> Changes | None:
    findings = Findings()
    look(findings, folder, since, scratch, time.monotonic() + deadline)
    return findings.told(started_at)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "shop")


@pytest.fixture
def scratch(tmp_path: Path) -> str:
    return str(tmp_path / "scratch")


@pytest.fixture
def no_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A git that says that it was run."""
    told = tmp_path / "run"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f'#!/bin/sh\necho "$@" >> {told}\n')
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return told


# -- where it is at


def test_the_head_is_read_from_files_alone(repository: Repository, tmp_path: Path, no_git: Path) -> None:
    shutil.rmtree(tmp_path / "bin")  # the setting up needs the real one
    folder = str(repository.folder)
    assert head(folder) == Head("main", "")
    first = repository.commit("one")
    (repository.folder / "deep" / "er").mkdir(parents=True)
    assert head(folder + "/deep/er") == Head("main", first)
    repository.git("checkout", "-q", "-b", "feature/a-b")
    second = repository.commit("two")
    assert head(folder) == Head("feature/a-b", second)
    repository.git("pack-refs", "--all")
    assert not (repository.folder / ".git/refs/heads/feature/a-b").exists()
    assert head(folder) == Head("feature/a-b", second)
    repository.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"), first)
    assert head(str(tmp_path / "tree")) == Head("other", first)
    repository.git("checkout", "-q", "--detach")
    assert head(folder) == Head(None, second)


def test_a_submodule_is_a_repository_of_its_own(repository: Repository, tmp_path: Path, scratch: str) -> None:
    inner = Repository(tmp_path / "inner")
    sha = inner.commit("inside", a="1")
    start = repository.commit("one")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "sub")
    assert head(str(repository.folder / "sub")) == Head("main", sha)
    (repository.folder / "sub" / "a").write_text("2")
    found = changes(str(repository.folder / "sub"), sha, scratch, _PATIENT)
    assert found is not None
    assert found.files == ("a",)
    outer = changes(str(repository.folder), start, scratch, _PATIENT)
    assert outer is not None
    assert not outer.cut
    assert outer.files == (".gitmodules",)


def test_where_there_is_no_repository_nothing_is_run(tmp_path: Path, scratch: str, no_git: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_text("gitdir: nowhere")
    (tmp_path / "odd" / ".git").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / ".git")
    for folder in ("plain", "broken", "odd", "pipe", "missing"):
        assert head(str(tmp_path / folder)) is None
        assert changes(str(tmp_path / folder), "", scratch, _PATIENT) is None
        assert changes(str(tmp_path / folder), "0" * 40, scratch, _PATIENT) is None
    assert not no_git.exists()


@pytest.mark.parametrize(
    "text",
    ["", "garbage", "ref: refs/../../../../etc/passwd", "ref: ", "\0\xff", "ref: refs/heads/\x1b[2J", "x" * 100_000],
)
def test_a_head_that_says_nothing_is_no_error(repository: Repository, scratch: str, text: str) -> None:
    (repository.folder / ".git" / "HEAD").write_text(text, encoding="latin-1")
    found = head(str(repository.folder))
    assert found is None or (found.sha == "" and "\x1b" not in (found.branch or ""))
    changes(str(repository.folder), None, scratch, _PATIENT)


def test_references_that_name_each_other_come_to_an_end(repository: Repository) -> None:
    repository.commit("one")
    (repository.folder / ".git/refs/heads/main").write_text("ref: refs/heads/main\n")
    assert head(str(repository.folder)) is None
    os.remove(repository.folder / ".git/refs/heads/main")
    os.mkfifo(repository.folder / ".git/refs/heads/main")
    assert head(str(repository.folder)) == Head("main", "")


# -- what has changed


def test_commits_lines_and_files_since_the_start(repository: Repository, scratch: str) -> None:
    start = repository.commit("start", kept="a\nb\n", gone="x\n", changed="1\n2\n3\n")
    second = repository.commit("Second: ünïcode\n\nbody", kept="a\nb\nc\n")
    third = repository.commit("third", binary="\0\1\2")
    (repository.folder / "gone").unlink()
    repository.write("changed", "1\n3\n")
    repository.write("new folder/new one", "hello\n")
    repository.write(".gitignore", "ignored\n")
    repository.write("ignored", "not seen")
    repository.write(".git/info/exclude", "excluded\n")
    repository.write("excluded", "not seen")
    found = changes(str(repository.folder), start, scratch, _PATIENT)
    assert found is not None
    assert not found.cut
    assert (found.branch, found.head, found.since) == ("main", third, start)
    assert found.commits == ((third, "third"), (second, "Second: ünïcode"))
    assert found.commit_count == 2
    assert sorted(found.files) == [".gitignore", "binary", "changed", "gone", "kept", "new folder/new one"]
    assert found.file_count == 6
    assert (found.insertions, found.deletions) == (1, 2)
    assert (
        repository.git("status", "--porcelain", "gone") == "D gone"
    )  # stripped: in the work tree, and not staged by us


def test_a_repository_without_commits_at_the_start(repository: Repository, scratch: str) -> None:
    repository.write("first", "1\n2\n")
    found = changes(str(repository.folder), "", scratch, _PATIENT)
    assert found is not None
    assert (found.files, found.commit_count, found.head, found.cut) == (("first",), 0, "", False)
    repository.commit("one")
    found = changes(str(repository.folder), "", scratch, _PATIENT)
    assert found is not None
    assert (found.files, found.commit_count, found.insertions, found.cut) == (("first",), 1, 2, False)


def test_a_start_that_is_not_known_or_gone(repository: Repository, scratch: str) -> None:
    repository.commit("one", a="1\n")
    repository.write("a", "2\n")
    for since in (None, "garbage", "--output=/tmp/x"):
        found = changes(str(repository.folder), since, scratch, _PATIENT)
        assert found is not None
        assert (found.files, found.commits, found.cut) == (("a",), (), False)
    gone = changes(str(repository.folder), "0" * 40, scratch, _PATIENT)
    assert gone is not None
    assert gone.cut
    assert gone.branch == "main"


def test_much_is_counted_and_little_is_kept(repository: Repository, scratch: str) -> None:
    start = repository.commit("start")
    stream = [
        f"commit refs/heads/main\ncommitter a <a@b> {1700000000 + n} +0000\ndata 3\nc{n % 100:02}\nfrom {start}\n\n"
        if n == 0
        else f"commit refs/heads/main\ncommitter a <a@b> {1700000000 + n} +0000\ndata 3\nc{n % 100:02}\n\n"
        for n in range(500)
    ]
    subprocess.run(
        ["git", "fast-import", "--quiet"],
        input="".join(stream).encode(),
        cwd=repository.folder,
        env=ENVIRONMENT,
        check=True,
    )
    for number in range(120):
        repository.write(f"file{number:03}", "")
    found = changes(str(repository.folder), start, scratch, _PATIENT)
    assert found is not None
    assert (len(found.commits), found.commit_count) == (MOST_COMMITS, 500)
    assert (len(found.files), found.file_count) == (MOST_FILES, 120)


def test_what_was_there_before_the_start_is_not_the_sessions(repository: Repository, scratch: str) -> None:
    sha = repository.commit("start", dirty="1\n", calm="1\n")
    repository.write("dirty", "1\n2\n")
    repository.write("old", "")
    started_at = max(os.stat(repository.folder / name).st_ctime for name in ("dirty", "old")) + 1.0
    found = changes(str(repository.folder), sha, scratch, _PATIENT, started_at=started_at)
    assert found is not None
    assert (found.files, found.insertions) == ((), 0)
    before = changes(str(repository.folder), sha, scratch, _PATIENT, started_at=started_at - 1.0)
    assert before is not None
    assert (sorted(before.files), before.insertions) == (["dirty", "old"], 1)


def test_names_that_are_no_text(repository: Repository, scratch: str) -> None:
    start = repository.commit("start")
    for name in (b"\xff\xfe", b"new\nline", b"esc\x1b[2J", b"-option", b"tab\tbed", "ünï".encode()):
        with open(os.path.join(os.fsencode(repository.folder), name), "wb"):
            pass
    repository.git("add", "--", "tab\tbed", "-option")
    found = changes(str(repository.folder), start, scratch, _PATIENT)
    assert found is not None
    assert found.file_count == 6
    assert {"-option", "ünï", "tab\N{REPLACEMENT CHARACTER}bed"} <= set(found.files)
    assert all(name.isprintable() for name in found.files)


def test_a_shallow_clone_and_another_work_tree(repository: Repository, tmp_path: Path, scratch: str) -> None:
    repository.commit("one", a="1\n")
    repository.commit("two", a="2\n")
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.folder}", str(tmp_path / "shallow"))
    shallow = Repository(tmp_path / "shallow")
    found = changes(str(shallow.folder), "", scratch, _PATIENT)
    assert found is not None
    assert (found.commit_count, found.cut) == (1, False)
    start = repository.git("rev-parse", "HEAD")
    repository.git("worktree", "add", "-q", str(tmp_path / "tree"))
    tree = Repository(tmp_path / "tree")
    tree.commit("three", b="1\n")
    found = changes(str(tree.folder), start, scratch, _PATIENT)
    assert found is not None
    assert (found.branch, found.files, found.commit_count, found.cut) == ("tree", ("b",), 1, False)
    here = changes(str(repository.folder), start, scratch, _PATIENT)
    assert here is not None
    assert (here.files, here.commit_count) == ((), 0)


def test_long_hashes(tmp_path: Path, scratch: str) -> None:
    repository = Repository(tmp_path / "long", "--object-format=sha256")
    start = repository.commit("one", a="1\n")
    assert head(str(repository.folder)) == Head("main", start)
    last = repository.commit("two", a="1\n2\n")
    for since, insertions in ((start, 1), ("", 2)):
        found = changes(str(repository.folder), since, scratch, _PATIENT)
        assert found is not None
        assert (found.head, found.insertions, found.files, found.cut) == (last, insertions, ("a",), False)


# -- hostile ones


def test_nothing_that_a_repository_names_is_run(repository: Repository, tmp_path: Path, scratch: str) -> None:
    start = repository.commit("start", a="1\n", b="1\n")
    evil = tmp_path / "evil"
    evil.write_text(f'#!/bin/sh\necho "$0 $@" >> {tmp_path / "ran"}\nexec cat\n')
    evil.chmod(0o755)
    inner = Repository(tmp_path / "inner")
    inner.commit("inside", a="1")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "sub")
    repository.git("-C", "sub", "config", "core.fsmonitor", str(evil))
    repository.write("sub/a", "2")
    for name in ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command",
                 "diff.external", "core.fsmonitor", "core.pager", "pager.log", "pager.diff", "gpg.program", "core.sshCommand",
                 "core.editor", "core.askPass", "credential.helper", "core.gitProxy", "alias.log", "alias.diff"):  # fmt: skip
        repository.git("config", name, f"!{evil}" if name.startswith("alias") else str(evil))
    repository.git("config", "log.showSignature", "true")
    repository.git("config", "filter.evil.required", "true")
    repository.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        shutil.copy(evil, tmp_path / "hooks" / hook)
    repository.write(".gitattributes", "* filter=evil diff=evil\n")
    repository.write(".git/info/attributes", "* filter=evil diff=evil\n")
    repository.write("a", "1\n2\n")
    repository.write("b", "3\n")
    os.utime(repository.folder / "b", (1, 1))
    found = changes(str(repository.folder), start, scratch, _PATIENT)
    head(str(repository.folder))
    assert found is not None
    assert not found.cut
    assert {"a", "b", ".gitattributes"} <= set(found.files)
    assert (found.insertions, found.deletions) == (5, 1)  # three of .gitmodules, which is staged
    assert not (tmp_path / "ran").exists()
    subprocess.run(["git", "status"], cwd=repository.folder, env=ENVIRONMENT, capture_output=True, timeout=200)
    assert (tmp_path / "ran").exists(), "the trap is real"


def test_a_lock_and_an_index_are_left_alone(repository: Repository, scratch: str) -> None:
    start = repository.commit("start", a="1\n")
    os.utime(repository.folder / "a", (1, 1))
    before = (repository.folder / ".git/index").read_bytes()
    (repository.folder / ".git/index.lock").write_text("")
    found = changes(str(repository.folder), start, scratch, _PATIENT)
    assert found is not None
    assert (found.files, found.cut) == ((), False)
    assert (repository.folder / ".git/index").read_bytes() == before


def test_a_pipe_where_a_file_should_be_costs_the_deadline_at_most(repository: Repository, scratch: str) -> None:
    start = repository.commit("start", a="1\n")
    last = repository.commit("last", a="2\n")
    os.mkfifo(repository.folder / ".gitignore")
    os.mkfifo(repository.folder / "config-more")
    with open(repository.folder / ".git/config", "a") as file:
        file.write(f"[include]\n\tpath = {repository.folder}/config-more\n")
    began = time.monotonic()
    found = changes(str(repository.folder), start, scratch, deadline=3.0)
    assert time.monotonic() - began < 120
    assert found is not None
    assert found.cut
    assert found.commits == ((last, "last"),)
    assert "a" in found.files


def test_git_is_killed_with_its_children_at_the_deadline(
    repository: Repository, tmp_path: Path, scratch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = repository.commit("start")
    repository.commit("last")
    pids = git_that_hangs(tmp_path / "bin", monkeypatch)
    found = changes(str(repository.folder), start, scratch, deadline=3.0)
    assert found is not None
    assert found.cut
    assert found.branch == "main"
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) >= 2
    assert wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in started))


def test_without_git_the_branch_is_known(repository: Repository, scratch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sha = repository.commit("start")
    monkeypatch.setenv("PATH", "/nonexistent")
    found = changes(str(repository.folder), sha, scratch, _PATIENT)
    assert found is not None
    assert (found.branch, found.head, found.cut) == ("main", sha, True)
