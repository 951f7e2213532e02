"""Git repositories of a test's own, untouched by the user's configuration."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


class Repository:
    """One in a folder; made when it is not there."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", *options)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, subject: str, **files: str) -> str:
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")


def git_that_hangs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git in the path that starts a child, tells both pids in the file returned, prints something and stays."""
    pids = folder / "pids"
    _put_git(folder, monkeypatch, f"sleep 1000 &\necho $$ $! >> {pids}\nprintf '1\\t1\\tsaid\\0'\nwait\n")
    return pids


def counting_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real one, but it writes down in the file returned when each `diff` begins and ends."""
    real, told = shutil.which("git"), folder / "told"
    is_diff = 'case " $* " in *" diff "*)'
    script = (
        f'{is_diff} echo + >> {told};; esac\n{real} "$@"\nstatus=$?\n{is_diff} echo - >> {told};; esac\nexit $status\n'
    )
    _put_git(folder, monkeypatch, script)
    return told


def _put_git(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
