"""Taking records elsewhere and bringing them in."""

from __future__ import annotations

from pydantic import Field

from lamplighter.domain.permission import Act
from lamplighter.errors import Code, InputError
from lamplighter.operations.call import Call
from lamplighter.operations.fields import HIDDEN, Folder, Redacted, Withheld
from lamplighter.operations.operation import Request, Result, operation
from lamplighter.operations.permission import allowed


class ExportRecords(Request):
    project: str | None = Field(
        default=None, min_length=1, max_length=1000, description="only this project: its name, identity or folder"
    )
    folder: Folder = None
    after: list[str] = Field(
        default_factory=list, max_length=2, description="the cursor to go on from", json_schema_extra=HIDDEN
    )


class ExportedLines(Result):
    """Some lines, on the way."""

    lines: list[str]
    cursor: list[str]


class Exported(Result):
    lines: int = Field(description="how many there were")


@operation(command="export", group="memory")
async def export_records(call: Call, request: ExportRecords) -> Exported:
    """Write projects, hand-offs and records, in every state, as lines of JSON.

    The same store gives the same bytes. What forget --hard deleted is not in it. To read it into another store: import.
    """
    project = await call.app.projects.resolve(request.project, request.folder) if request.project else None
    if request.after and (len(request.after) != 2 or request.after[0] not in ("projects", "handoffs", "records")):
        raise InputError(Code.BAD_INPUT, "that is no cursor of an export", "leave it out to begin at the beginning")
    at, count = request.after, 0
    while (page := await call.app.transfer.page(at, project.id if project else None)) is not None:
        await call.emit(ExportedLines(lines=page.lines, cursor=page.cursor))
        at, count = page.cursor, count + len(page.lines)
    return Exported(lines=count)


class ImportRecords(Request):
    file: str = Field(max_length=4096, description="file that lamp export wrote")
    called: str | None = Field(
        default=None, max_length=4096, description="what errors call the file", json_schema_extra=HIDDEN
    )


class Imported(Result):
    projects: int = Field(description="new ones")
    handoffs: int
    records: int
    known: int = Field(description="lines of which everything was here already")
    redacted: Redacted
    withheld: Withheld


@operation(command="import", group="memory", positional=("file",), changes=True, act=Act.IMPORT)
async def import_records(call: Call, request: ImportRecords) -> Imported:
    """Import what export wrote: all of it or, when a line is wrong, nothing.

    What is here already stays as it is, so importing the same file again changes nothing. An id that is here with other
    content is an error that names the line. Secrets are removed as always. Operator only.
    """
    await allowed(call, Act.IMPORT)
    if not request.file.startswith("/"):
        raise InputError(Code.BAD_INPUT, f"this is no whole path: {request.file[:200]!a}", "begin it with a slash")
    counts = await call.app.transfer.bring_in(request.file, request.called or request.file, call.caller, call.key)
    return Imported(**vars(counts))
