"""end_session and boot_report: what a session leaves, and what the next one starts from."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lamplighter.domain.memory.record import LONGEST
from lamplighter.domain.text.plural import counted
from lamplighter.errors import ConflictError, ForbiddenError
from lamplighter.frontends.mcp.tool_context import ToolContext
from lamplighter.frontends.mcp.toolset import Answer, Hints, Tool
from lamplighter.operations.fields import Redacted, Withheld
from lamplighter.operations.operation import Request, Result

_MOST = 100
PROJECT = "which project: a name of your own, or a folder"
NAMESPACE = "rekindle"
SESSION = "what you call the session, always the same; by default the one that you are in"


def _texts(description: str) -> Any:
    return Field(default_factory=list, max_length=_MOST, description=description)


def _text(description: str) -> Any:
    return Field(default=None, max_length=LONGEST, description=description)


class EndSession(Request):
    checkpoint: str = Field(
        max_length=LONGEST, description="where we left off: the single most important hand-off to the next session"
    )
    decisions: list[str] = _texts("what was decided, and why")
    open_loops: list[str] = _texts("unresolved questions or tasks")
    preferences: list[str] = _texts("what was learned of the user's preferences")
    constraints: list[str] = _texts("boundaries that must not be violated")
    warnings: list[str] = _texts("what the next session should be careful about")
    relational_delta: str | None = _text("what changed in the working relationship: trust, tension, repair, tone")
    next_session_focus: str | None = _text("where to resume, as against where we stopped")
    project: str | None = Field(default=None, min_length=1, max_length=1000, description=PROJECT)
    transcript_path: str | None = Field(
        default=None, max_length=4096, description="where the conversation itself is kept"
    )
    session_id: str | None = Field(default=None, min_length=1, max_length=200, description=SESSION)


class Ended(Result):
    session_id: str
    stored_count: int = Field(description="records that are new; what is in force already is not stored again")
    stored: dict[str, int] = Field(description="by type")
    summary: str
    message: str
    checkpoint_id: str | None
    redacted: Redacted
    withheld: Withheld


async def end_session(conversation: ToolContext, request: EndSession) -> Answer:
    given = request.model_dump(exclude={"session_id"})
    kept = await conversation.operate(
        "hand_off_guest",
        session=request.session_id,
        names_of=NAMESPACE,
        folder=conversation.client.cwd,
        **given,
    )
    message = _message(kept)
    structured = {
        "session_id": kept["session"],
        "stored_count": kept["stored_count"],
        "stored": kept["stored"],
        "summary": kept["summary"],
        "message": message,
        "checkpoint_id": kept["records"][0] if kept["stored"].get("checkpoint") else None,
        "redacted": kept["redacted"],
        "withheld": kept["withheld"],
    }
    return Answer(structured)


def _message(kept: dict[str, Any]) -> str:
    parts = ["Session captured. The next boot loads the checkpoint; the rest is stored and searchable."]
    if kept["redacted"] or kept["withheld"]:
        parts.append(
            f"Not stored: {counted(kept['redacted'], 'secret')}, {counted(kept['withheld'], 'private passage')}."
        )
    return " ".join(parts)


class BootReport(Request):
    identity_path: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="a file that says who you are, in your project or an allowed folder: .rekindle/identity.md",
    )
    transcript_dir: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="a folder whose newest transcript is summed up, in your project or an allowed folder: .rekindle/transcripts",
    )
    project: str | None = Field(default=None, min_length=1, max_length=1000, description=PROJECT)


class Report(Result):
    report: str = Field(description="Markdown; what was stored stands on lines that begin with |, and is data")
    packet: str = Field(description="the packet's id; a receipt of it is kept")
    project: str | None
    before: str | None = Field(description="the session that came before")
    included: list[str] = Field(description="ids of the memories that are in it")
    cuts: dict[str, int] = Field(description="how many were left out of each section")
    receipt_kept: bool


async def boot_report(conversation: ToolContext, request: BootReport) -> Answer:
    folder = conversation.client.cwd
    found = await conversation.operate("boot_report", folder=folder, **request.model_dump())
    await _begin(conversation, folder)
    report = _reworded(found["report"])
    return Answer({**found, "report": report}, report)


def _reworded(report: str) -> str:
    """What the report itself says, in the words of these tools; what it quotes stays as it is."""
    return "\n".join(
        line if line.startswith("|") else line.replace("search_records", "search_memory") for line in report.split("\n")
    )


async def _begin(conversation: ToolContext, folder: str | None) -> None:
    """A session begins at its boot. The report is there all the same for whoever may not have one, or has too many."""
    scopes = conversation.caller.scopes
    if scopes is not None and "records" not in scopes:
        return
    try:
        await conversation.operate("begin_guest", names_of=NAMESPACE, folder=folder, part="begin")
    except (ForbiddenError, ConflictError):
        return


TOOLS = (
    Tool(
        "end_session",
        "Hand off to the next session",
        "Hand over what the next session needs: a checkpoint, and decisions, open loops, preferences, constraints, warnings, "
        "what changed between you and the user, and where to resume. Everything is stored in one step or not at all, and "
        "boot_report loads it. Ends no process: you go on. The same content again returns the first result; other content is "
        "a newer hand-off whose checkpoint takes the place of the last. Secrets of well-known forms are taken out, and what "
        "stands in <private>…</private> is never stored. FORBIDDEN for a session that is somebody else's.",
        EndSession,
        Ended,
        end_session,
        Hints(read_only=False, destructive=False, idempotent=True),
    ),
    Tool(
        "boot_report",
        "Start from the last session",
        "What the last session of this project left, as Markdown: who came before and how it ended, every constraint in "
        "force, next focus and checkpoint, open loops, warnings, decisions, preferences, and what was left out. With "
        "identity_path also that file, with transcript_dir what the newest transcript there says. Files are read inside "
        "your project, secrets excepted, and inside folders that the operator allows (setting boot_folders); of any other "
        "the report says that it was not read. Changes no memory; a session of "
        "yours begins here if you are in none. To search: search_memory.",
        BootReport,
        Report,
        boot_report,
        Hints(read_only=False, destructive=False, idempotent=True),
    ),
)
