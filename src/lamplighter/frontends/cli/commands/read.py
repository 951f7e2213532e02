"""`lamp read`: a session's screen, output, transcript or recording."""

from __future__ import annotations

from typing import Any

from lamplighter.frontends.cli.command import Command, Document
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.format import clean
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.home import find_home


class ReadCommand(Command):
    name = "read"
    also = {"lines": ("-n",), "follow": ("-f",)}
    flags = {"mode": ("screen", "output", "cast", "transcript")}
    ended_too = True
    examples = (
        "lamp read claude",
        "lamp read nightly --output --follow",
        "lamp read claude --transcript -n 20",
        "lamp read claude --cast > claude.cast",
    )
    notes = (
        "The last line of standard error is the cursor. Without --screen, --cast or --transcript, --follow and "
        "--since read the output, from the start or from CURSOR. With --json and --follow, each line is one JSON "
        "document. -n is short for --lines."
    )

    def complete(self, request: Document) -> Document:
        """Without a mode, a cursor or following means the output; otherwise the daemon knows what the session has."""
        if "mode" not in request and (request.get("follow") or "since" in request):
            return {**request, "mode": "output"}
        return request

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        request = self.complete(arguments.request)
        reading = _Reading(output, DaemonClient(find_home()), self.operation)
        if request.get("mode") == "cast":
            reading.record(request)
        elif request.get("follow"):
            reading.follow(request)
        elif output.as_json:
            output.document(reading.client.call(self.operation, request))
        else:
            reading.all(request)
        return 0


_CLEAR = "\x1b[H\x1b[2J"
_BY_CURSOR = ("output", "transcript")


class _Reading:
    def __init__(self, output: CommandOutput, client: DaemonClient, operation: str) -> None:
        self.output = output
        self.client = client
        self.operation = operation
        self.cursor: int | None = None

    def all(self, request: dict[str, Any]) -> None:
        """Every page there is now. A page has a limit; a person wants the whole. The operator's word is for one."""
        page = self.client.call(self.operation, request)
        self._show(page)
        while page["more"] and page["mode"] in _BY_CURSOR and not request.get("approval"):
            request = {**request, "mode": page["mode"], "since": page["cursor"], "lines": None}
            page = self.client.call(self.operation, request)
            self._show(page)
        if page["mode"] in _BY_CURSOR:
            more = "; there is more, and the approval was for this" if page["more"] else ""
            self.output.note(f"cursor: {page['cursor']}{more}")

    def record(self, request: dict[str, Any]) -> None:
        """The whole recording, which comes in pages. After a break it comes anew, and what was written is left out."""
        pages: list[str] = []
        written = skip = 0

        def take(page: dict[str, Any]) -> None:
            nonlocal written, skip
            text = page["text"][skip:]
            skip -= len(page["text"]) - len(text)
            written += len(text)
            if self.output.as_json:
                pages.append(text)
            else:
                self.output.raw(text)

        def again(before: dict[str, Any]) -> dict[str, Any]:
            nonlocal skip
            skip = written
            return before

        result = self.client.call(self.operation, {**request, "follow": True}, each=take, again=again)
        if self.output.as_json:
            self.output.document({**result, "text": "".join(pages)})

    def follow(self, request: dict[str, Any]) -> None:
        self.client.call(self.operation, request, each=self._follow_on, again=self._go_on)
        if self.cursor is not None and request.get("mode") in _BY_CURSOR and not self.output.as_json:
            self.output.note(f"cursor: {self.cursor}")

    def _go_on(self, before: dict[str, Any]) -> dict[str, Any]:
        """From where the last page ended. A screen is whole each time."""
        if self.cursor is None or before.get("mode") == "screen":
            return before
        return {**before, "since": self.cursor, "lines": None}

    def _follow_on(self, page: dict[str, Any]) -> None:
        self.cursor = page["cursor"]
        if self.output.as_json:
            self.output.document(page, line=True)
        else:
            self._show(page, again=True)

    def _show(self, page: dict[str, Any], *, again: bool = False) -> None:
        if page["lost"]:
            self.output.note(f"lost: {page['lost']} bytes before this, by rotation or a full disk")
        if page["mode"] == "transcript":  # whatever is in a message, it is shown and not obeyed by the terminal
            self.output.raw("".join(f"{clean(line)}\n" for line in page["text"].split("\n")[:-1]))
            return
        if page["mode"] != "screen":
            self.output.raw(page["text"])
            return
        if again:
            self.output.raw(_CLEAR if self.output.terminal else "\n")
        self.output.raw("".join(f"{clean(line)}\n" for line in page["text"].splitlines()))
        if not page["exact"]:
            self.output.note("the beginning of this screen was lost to rotation: what is shown can be incomplete")
