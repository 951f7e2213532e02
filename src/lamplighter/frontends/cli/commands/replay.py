"""`lamp replay`: play a session's recording in this terminal."""

from __future__ import annotations

from collections.abc import Mapping

from lamplighter.frontends.cli.command import Command, Document, Field, client_option
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments


class ReplayCommand(Command):
    name = "replay"
    operation = "read_output"
    group = "sessions"
    ended_too = True
    summary = "Play a session's recording in this terminal."
    details = (
        "Every session is recorded. You can play it while it runs, and later as long as its log is kept. Space "
        "pauses and continues; left and right jump 5 seconds, up and down a minute; 0 to 9 jump to that tenth, g to "
        "the start and G to the end; + and - double and halve the speed; . shows only the next output; q quits. "
        "Queries and clipboard writes in a recording do not reach your terminal. To save it for another player: read "
        "--cast."
    )
    client_options = (
        client_option(
            "speed", "--speed", "playback speed: 2 is twice as fast, 0.5 half as fast", type="string", default="1"
        ),
        client_option("from", "--from", "start this far into the recording: 90s, 10m", type="string", default=None),
        client_option("max_pause", "--max-pause", "shorten longer pauses to this: 2s", type="string", default=None),
        client_option("paused", "--paused", "start paused"),
    )
    examples = (
        "lamp replay nightly",
        "lamp replay claude --speed 4 --max-pause 2s --from 10m",
    )
    notes = "replay ends with the recording. The times that it shows count pauses as --max-pause shortens them."

    def make_fields(self, operations: Mapping[str, Document]) -> list[Field]:
        return [field for field in super().make_fields(operations) if field["name"] in ("session", "approval")]

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        from lamplighter.frontends.cli.terminal.player import replay

        return replay(self.operation, arguments, output)
