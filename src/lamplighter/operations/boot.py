"""The boot report: what the next session starts from, as Markdown. On no command line: `lamp handoff` shows the packet."""

from __future__ import annotations

from pydantic import Field

from lamplighter.operations.call import Call
from lamplighter.operations.operation import Request, Result, operation


class BootReport(Request):
    identity_path: str | None = Field(default=None, min_length=1, max_length=4096, description="a file to be shown")
    transcript_dir: str | None = Field(
        default=None, min_length=1, max_length=4096, description="a folder; its newest transcript is summed up"
    )
    project: str | None = Field(default=None, min_length=1, max_length=1000, description="by default the caller's")
    folder: str | None = Field(
        default=None, max_length=4096, description="where the caller is", json_schema_extra={"hidden": True}
    )


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

    Paths are read only inside the folders that the operator allows with the setting boot_folders.
    """
    if request.transcript_dir is not None:
        await call.app.nameable(call.caller, "a folder of transcripts to be read")
    made = await call.app.booting.report(
        call.caller, request.identity_path, request.transcript_dir, request.project, request.folder
    )
    receipt = made.packed.receipt
    return BootReportView(
        report=made.text,
        packet=receipt["packet"],
        project=receipt["project"],
        before=made.packed.before.id if made.packed.before else None,
        included=list(made.packed.first.included),
        cuts=receipt["cuts"],
        receipt_kept=made.receipt_kept,
    )
