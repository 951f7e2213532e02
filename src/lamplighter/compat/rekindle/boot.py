"""The boot report: what the next session starts from, as Markdown. On no command line: `lamp handoff` shows the packet."""

from __future__ import annotations

from pydantic import Field

from lamplighter.compat.rekindle.boot_report import BootReporter, not_read
from lamplighter.errors import ForbiddenError
from lamplighter.operations.call import Call
from lamplighter.operations.fields import Folder
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import nameable


class BootReport(Request):
    identity_path: str | None = Field(default=None, min_length=1, max_length=4096, description="a file to be shown")
    transcript_dir: str | None = Field(
        default=None, min_length=1, max_length=4096, description="a folder; its newest transcript is summed up"
    )
    project: str | None = Field(default=None, min_length=1, max_length=1000, description="by default the caller's")
    folder: Folder = None


class BootReportView(Result):
    report: str = Field(description="Markdown; what was stored stands on lines that begin with |")
    packet: str = Field(description="the packet's id; the receipt is kept under it")
    project: str | None = Field(description="its identity")
    before: str | None = Field(description="the session that came before")
    included: list[str] = Field(description="ids of the records that are in it")
    cuts: dict[str, int] = Field(description="how many were left out of each section")
    receipt_kept: bool


@operation(command=None, group="memory")
async def boot_report(call: Call, request: BootReport) -> BootReportView:
    """The packet of the project, and beside it the identity file and the newest transcript, where they are named.

    Paths are read inside the caller's own project and the folders of the setting boot_folders. One that cannot be read, or may
    not be, is a line of the report.
    """
    transcripts, unread = request.transcript_dir, list[str]()
    if transcripts is not None:
        try:
            await nameable(call, "a folder of transcripts to be read")
        except ForbiddenError as error:
            transcripts, unread = None, not_read("Newest transcript", error)
    made = await BootReporter(call.app.registry, call.app.packet_builder).report(
        call.caller, request.identity_path, transcripts, request.project, request.folder
    )
    receipt = made.packed.receipt
    return BootReportView(
        report="\n".join([made.text.rstrip("\n"), *unread]) + "\n",
        packet=receipt["packet"],
        project=receipt["project"],
        before=made.packed.before.id if made.packed.before else None,
        included=list(made.packed.first.included),
        cuts=receipt["cuts"],
        receipt_kept=made.receipt_kept,
    )
