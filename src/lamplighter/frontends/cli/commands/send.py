"""`lamp send`: type into a session."""

from __future__ import annotations

import sys

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.command import Command, Document
from lamplighter.frontends.cli.views.talk import sent


class SendCommand(Command):
    name = "send"
    words = ("text",)
    view = staticmethod(sent)
    examples = (
        "lamp send claude 'run the tests'",
        "lamp send --keys claude C-c",
        "git diff | lamp send claude -",
    )
    notes = "Several words of TEXT are joined by spaces; - reads standard input; after --, TEXT may begin with a dash."

    def complete(self, request: Document) -> Document:
        if request.get("text") != "-":
            return request
        data = sys.stdin.buffer.read() if sys.stdin is not None else b""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                Code.BAD_INPUT,
                f"standard input is not UTF-8, at byte {error.start}",
                "send text, or pass it as a file that it reads",
            ) from None
        # Enter is pressed after the text, so the newline that ends a last line would press it twice.
        return {**request, "text": text.removesuffix("\n") if request.get("enter", True) else text}
