"""What is inferred of an agent that was killed at its work: from the transcript that it keeps itself, git, screen and exit."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.places import GOLDEN
from tests.support.processes import wait_until
from tests.support.repository import Repository


def _left(lit: Engine, session: str) -> tuple[dict[str, Any], list[str]]:
    """The hand-off of a session, and its records' texts."""
    with closing(sqlite3.connect(f"file:{lit.home.database}?mode=ro", uri=True)) as db, db:
        documents = [row[0] for row in db.execute("SELECT document FROM handoffs WHERE session = ?", (session,))]
        texts = [row[0] for row in db.execute("SELECT content FROM records WHERE session = ? ORDER BY id", (session,))]
    db.close()
    assert len(documents) == 1
    return json.loads(documents[0]), texts


def _agent(lit: Engine, repository: Repository) -> str:
    """A program called claude, which keeps a transcript as Claude Code does, commits something, and stays."""
    program = lit.folder / "claude"
    folder = "".join(letter if letter.isalnum() else "-" for letter in str(repository.folder))
    golden = (GOLDEN / "claude/killed/transcript.jsonl").read_text()
    (lit.folder / "golden").write_text(golden.replace("/w/shop", str(repository.folder)))
    program.write_text(
        f"""#!/bin/sh
        chats=$HOME/.claude/projects/{folder}
        mkdir -p $chats
        sed "s/2026-03-04T10:..:../$(date -u +%Y-%m-%dT%H:%M:%S)/" {lit.folder}/golden > $chats/a.jsonl
        echo changed > file
        git -c user.name=a -c user.email=a commit -qam 'By the agent'
        echo new > another
        echo 'the last line that it showed'
        exec sleep 1000
        """
    )
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("how", ["killed", "crashed"])
def test_an_agent_that_was_killed_leaves_all_that_can_be_known(lit: Engine, tmp_path: Path, how: str) -> None:
    repository = Repository(tmp_path / "shop")
    repository.commit("start", file="1\n")
    session = lit.start(_agent(lit, repository), cwd=str(repository.folder))["id"]
    assert wait_until(lambda: "the last line" in lit.output(session))
    if how == "killed":
        lit.call("kill_session", session=session, grace="0s", force=True, reason="enough")
    else:
        os.kill(lit.show(session)["pid"], signal.SIGKILL)
        assert wait_until(lambda: lit.show(session)["state"] == "ended")
    handoff, texts = _left(lit, session)
    said = "\n\n".join(texts)
    for part in ("Last request: /fix-issue 412", "Last answer: Reproduced. Now the whole suite.", "- Mend it", "Bash: make test",
                 "By the agent", "- another", "- file", "the last line that it showed",
                 "killed by operator: enough" if how == "killed" else "somebody else (killed by"):  # fmt: skip
        assert part in said, f"{part!r} is not in:\n{said}"
    assert handoff["source"] == "inferred"
    assert set(handoff["stored"]) == {"note"}
    path = f"{lit.folder}/.claude/projects/"
    assert [
        basis for basis in handoff["basis"] if basis.startswith(f"transcript {path}") and basis.endswith("(claude)")
    ]
    assert {"git", "last screen", "exit status"} <= set(handoff["basis"])


def test_what_others_left_in_the_folder_is_not_its_own(lit: Engine, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "shop")
    repository.commit("start", file="1\n")
    repository.write("before", "")
    agent = _agent(lit, repository)
    before = lit.start(agent, cwd=str(repository.folder))["id"]
    assert wait_until(lambda: "the last line" in lit.output(before))
    written = max(file.stat().st_ctime for file in repository.folder.iterdir())
    assert wait_until(lambda: time.time() > written + 0.1)  # times of files are coarser than the clock
    session = lit.start("cat", cwd=str(repository.folder))["id"]
    lit.call("kill_session", session=session, grace="0s", force=True)
    handoff, texts = _left(lit, session)
    assert handoff["basis"] == ["exit status", "git"]
    assert len(texts) == 1
    assert "before" not in texts[0]
