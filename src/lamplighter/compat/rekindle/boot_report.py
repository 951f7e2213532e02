"""The boot report: the packet, and beside it who the session is told to be and what the last transcript said.

Knows how the parts are put together; what may be read is `boot_folders`'.
"""

from __future__ import annotations

import asyncio

from lamplighter.agents.formats.transcript import Transcript
from lamplighter.compat.rekindle.boot_folders import BootFolders, own_project
from lamplighter.domain.capture import quoted
from lamplighter.domain.memory.packet import BUDGET
from lamplighter.domain.permission import Caller
from lamplighter.domain.text.quoting import one_line, shortened
from lamplighter.domain.text.redaction import redact
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.memory.packet_builder import BuiltPacket, PacketBuilder
from lamplighter.errors import ForbiddenError, InputError, LampError, MissingError
from lamplighter.lazy_dataclass import dataclass

IDENTITY = 16_000
"""Bytes of the identity file that are shown."""
_SAID = 600
_SHOWN = 10


@dataclass(frozen=True)
class Report:
    text: str
    packed: BuiltPacket
    receipt_kept: bool


class BootReporter:
    def __init__(self, registry: SessionRegistry, packet_builder: PacketBuilder) -> None:
        self.registry = registry
        self.packet_builder = packet_builder

    async def report(
        self, caller: Caller, identity: str | None, transcripts: str | None, project: str | None, folder: str | None
    ) -> Report:
        """What of the paths cannot be read, or may not be, is a line of the report. A token is in no project of its own."""
        own = own_project(folder) if caller.scopes is None else None
        allowed = BootFolders(self.registry.settings.boot_folders, folder, own)
        parts: list[str] = []
        for title, path, read in (("Identity", identity, _identity), ("Newest transcript", transcripts, _newest)):
            if path is not None:
                try:
                    parts += await asyncio.to_thread(read, allowed, path)
                except (ForbiddenError, InputError, MissingError) as error:
                    parts += not_read(title, error)
                    if isinstance(error, ForbiddenError):
                        await self.registry.note_if_possible(None, caller, "refused", act="read outside boot_folders")
        packed, kept = await self.packet_builder.deliver(
            caller, session=None, project=project, folder=folder, budget=BUDGET, query=None
        )
        return Report("\n".join([packed.text.rstrip("\n"), *parts]) + "\n", packed, kept)


def not_read(title: str, error: LampError) -> list[str]:
    """Its section, with why there is nothing in it."""
    return ["", f"## {title}", f"Not read: {error.message}. {error.hint[:1].upper()}{error.hint[1:]}."]


def _newest(allowed: BootFolders, path: str) -> list[str]:
    newest = allowed.newest_transcript(path)
    return _transcript(*newest) if newest else ["", "## Newest transcript", "There is none in that folder."]


def _identity(allowed: BootFolders, path: str) -> list[str]:
    found = allowed.read_file(path, IDENTITY)
    lines = ["", f"## Identity, from {one_line(path)[:200]}", *quoted(redact(found.text).text)]
    if found.size > IDENTITY:
        lines.append(f"Cut: the first {IDENTITY} bytes of {found.size}.")
    return lines


def _transcript(name: str, said: Transcript) -> list[str]:
    least = "at least " if said.at_least else ""
    counts = ", ".join(f"{count} {role}" for role, count in said.messages.items())
    lines = ["", f"## Newest transcript, {one_line(name)[:200]} ({said.agent})", f"Messages: {least}{counts or 'none'}"]
    for title, text in (
        ("Last request", said.last_request),
        ("Last answer", said.last_answer),
        ("At work at", said.running),
    ):
        if text:
            lines += [f"{title}:", *quoted(shortened(redact(text).text, _SAID))]
    for title, items in (("Open to-dos", said.todos), ("Files touched", said.files)):
        if items:
            shown = [f"| - {shortened(one_line(redact(item).text), _SAID)}" for item in items[:_SHOWN]]
            more = [f"and {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
            lines += [f"{title} ({len(items)}):", *shown, *more]
    return lines
