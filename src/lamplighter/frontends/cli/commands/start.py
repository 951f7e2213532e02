"""`lamp start`: run a command as a session in the background."""

from __future__ import annotations

import os

from lamplighter.frontends.cli.caller_context import folder, own_environment, screen_size
from lamplighter.frontends.cli.command import Command, Document
from lamplighter.frontends.cli.views.talk import started

WORDS_AFTER = (
    "The words after -- are the command, unchanged; with --agent they are added to the agent's own arguments. "
    "Without --, everything from the first non-option word is the command."
)


class StartCommand(Command):
    name = "start"
    spelt = {"from_session": "--from"}
    also = {"max_age": ("--timeout",)}
    elsewhere = dict.fromkeys(
        ("-d", "--detach", "--background"), "start comes back at once by itself; lamp run waits for the command"
    )
    view = staticmethod(started)
    examples = (
        "lamp start --agent claude --prompt 'mend the date parser'",
        "lamp start --agent codex --headless --from last --prompt 'go on'",
        "lamp start --agent claude --resume last -- --add-dir ../shared",
        "lamp start -- claude",
        "lamp start --name nightly --kind cron --headless -- ./backup.sh --full",
        "lamp start --tmux --name work -- claude",
    )
    notes = (
        f"{WORDS_AFTER} The patrol keeps limits: it looks every ten seconds, warns, and ends the session a minute after the "
        "warning (settings patrol and warning; for memory ten seconds at most). run keeps limits to the second."
    )

    def complete(self, request: Document) -> Document:
        rows, cols = screen_size()
        return {
            **request,
            "cwd": folder(request.get("cwd")),
            "environment": own_environment(),
            "umask": _umask(),
            "rows": rows,
            "cols": cols,
        }


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
