"""`lamp wait`: until sessions have ended, wait for input, or say something."""

from __future__ import annotations

import time
from typing import Any

from lamplighter.domain.duration import parse_duration
from lamplighter.frontends.cli.command import Command
from lamplighter.frontends.cli.daemon_client import DaemonClient
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.exit_status import WAITED_FOR_FAILED
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.talk import waited
from lamplighter.home import find_home


class WaitCommand(Command):
    name = "wait"
    spelt = {"until": "--for"}
    examples = (
        "lamp wait nightly",
        "lamp wait build && ./deploy",
        "lamp wait claude --for waiting,idle,ended --timeout 10m",
        "lamp wait claude --for reply --timeout 10m",
        "lamp wait web --for text='listening on'",
        "lamp wait 'cron:*' --timeout 1h",
    )
    notes = (
        "Of several conditions, such as --for waiting,ended, wait names the first that comes true; text=… comes "
        "last, as it may have commas. Exit status 10: the session ended by a signal or with a status other than 0, "
        "or its turn was not finished; so lamp wait build && deploy deploys only what was built. 7: the timeout "
        "passed. 5: a session ended before the condition came true."
    )

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        """Right also when the daemon is lost on the way: the timeout does not start anew, nor does the choice."""
        request = arguments.request
        deadline, chosen = None, dict[str, Any]()
        if "timeout" in request:
            deadline = time.monotonic() + parse_duration(request["timeout"], "timeout")

        def rest(before: dict[str, Any]) -> dict[str, Any]:
            left = {} if deadline is None else {"timeout": f"{max(0.0, deadline - time.monotonic()):.3f}"}
            return {**before, **chosen, **left}

        result = DaemonClient(find_home()).call(self.operation, request, each=chosen.update, again=rest)
        output.show(result, waited)
        return WAITED_FOR_FAILED if result["failed"] else 0
