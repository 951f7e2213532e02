"""The final summary: all that is known of a session's life, as a document and as text, and nothing that is not."""

from __future__ import annotations

from dataclasses import replace

from lamplighter.agents.formats.transcript import Transcript
from lamplighter.domain.ending import Certificate, Ending, Exit, Guarantee, How
from lamplighter.domain.memory.handoff import Handoff
from lamplighter.domain.memory.record import Source
from lamplighter.domain.session import Driver, Kind, Session
from lamplighter.engine.end.final_summary import as_text, summarise
from lamplighter.engine.repo.repository import Changes, Commit

SESSION = Session(
    "s1", "one", Kind.TASK, Driver.TERMINAL, "operator", ("claude",), "/w", 100.0, "boot", started_at=100.5
)
CERTIFICATE = Certificate(Guarantee.TREE, 0.1)
EXITED = Ending(4000.5, "itself", "", How.EXITED, Exit(code=1), CERTIFICATE)
TRANSCRIPT = Transcript(
    agent="claude",
    path="/h/.claude/projects/-w/x.jsonl",
    messages={"user": 3, "assistant": 7},
    last_request="Fix the parser",
    last_answer="I changed the lexer.",
    todos=("write tests", "update docs"),
    files=("/w/src/parser.py", "/etc/other"),
    tokens={"input": 1200, "output": 30},
    running="Bash: make test",
)
CHANGES = Changes(
    branch="main",
    head="b" * 40,
    since="a" * 40,
    commits=(Commit("b" * 40, "Parser: fixed"),),
    commit_count=1,
    files=("src/parser.py", "new.py"),
    file_count=2,
    insertions=5,
    deletions=2,
)


def _handoff() -> Handoff:
    return Handoff(
        "h1",
        "s1",
        "/w",
        4000.0,
        "operator",
        Source.INFERRED,
        "d",
        stored={"note": 4},
        carried=("r1", "r2"),
        carried_count=2,
        resolved=("r3",),
    )


def test_the_summary_has_it_all() -> None:
    summary = summarise(
        SESSION,
        EXITED,
        handoff=_handoff(),
        transcript=TRANSCRIPT,
        changes=CHANGES,
        screen=["done"],
        cpu=12.34,
        memory=5_000_000,
    )
    assert summary["seconds"] == 3900.0
    assert (summary["how"], summary["by"], summary["exit"]) == ("exited", "itself", {"code": 1})
    assert summary["messages"] == {"user": 3, "assistant": 7}
    assert summary["tokens"] == {"input": 1200, "output": 30}
    assert summary["loops"] == {"carried": 2, "resolved": 1, "dropped": 0}
    assert summary["git"]["commits"] == [{"sha": "b" * 40, "subject": "Parser: fixed"}]
    assert as_text(summary) == "\n".join(
        [
            "Ran for 1h05m; exited by itself (exit status 1).",
            "Messages: 3 user, 7 assistant.",
            "Tokens: 1200 input, 30 output.",
            "Used 12.3 s of CPU and 5.0 MB of memory.",
            "Stored (inferred): 4 note.",
            "Open loops: 2 carried, 1 resolved.",
            "Git: branch main; 1 commit, 2 files, +5 -2 since the start.",
            f"  {'b' * 12} Parser: fixed",
            "Last output:",
            "  done",
        ]
    )


def test_what_is_not_known_is_not_said() -> None:
    lost = replace(EXITED, exit=None, how=How.LOST, reason="its holder was lost")
    summary = summarise(replace(SESSION, started_at=None), lost)
    assert summary["messages"] is None
    assert summary["git"] is None
    assert as_text(summary) == "Ran for 1h05m; lost: its holder was lost."


def test_what_was_not_read_to_its_beginning_says_so() -> None:
    summary = summarise(
        SESSION, EXITED, transcript=replace(TRANSCRIPT, at_least=True), changes=replace(CHANGES, cut=True)
    )
    assert "Messages: at least 3 user" in as_text(summary)
    assert "and maybe more" in as_text(summary)
