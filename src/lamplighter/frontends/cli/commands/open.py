"""`lamp open`: the page in a browser, logged in. Knows how a browser is started; knows nothing of what it shows."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
from typing import Any

from lamplighter.errors import Code, InputError
from lamplighter.frontends.cli.caller_context import own_environment, own_folder
from lamplighter.frontends.cli.command import Command, client_option
from lamplighter.frontends.cli.daemon_client import DaemonClient, new_key
from lamplighter.frontends.cli.display.output import CommandOutput
from lamplighter.frontends.cli.parser.arguments import Arguments
from lamplighter.frontends.cli.views.access import closed, opened
from lamplighter.holder.files import write_file
from lamplighter.home import Home, find_home

_LEADING = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={}"><title>Lamplighter</title>'
)
_OPENERS = ("xdg-open", "wslview", "gio", "sensible-browser")


class OpenCommand(Command):
    name = "open"
    client_options = (
        client_option("print", "--print", "print the link and start no browser"),
        client_option("log_out", "--log-out", "log out every browser at once; opens nothing"),
    )
    examples = (
        "lamp open",
        "lamp open --print",
        "lamp open --log-out",
    )
    notes = (
        "Without a display, as over ssh, it prints the link. To open the link on another machine, first run there: "
        "ssh -L 5267:127.0.0.1:5267 HOST"
    )

    def run(self, arguments: Arguments, output: CommandOutput) -> int:
        home = find_home()
        if arguments.options.get("log_out"):
            if arguments.options.get("print"):
                raise InputError(
                    Code.BAD_INPUT, "--log-out opens nothing, so there is nothing to print", "leave one out"
                )
            output.show(DaemonClient(home).call("close_page", {}, new_key()), closed)
            return 0
        found = link(DaemonClient(home))
        started = not arguments.options.get("print") and _start_browser(home, found["url"])
        output.show({**found, "opened": started}, opened)
        return 0


def link(client: DaemonClient) -> dict[str, Any]:
    folder = own_folder() or os.path.expanduser("~")
    return client.call("open_page", {"environment": own_environment(), "cwd": folder})


def _start_browser(home: Home, url: str) -> bool:
    """Whether one was started. Every user of the machine can read its arguments, so it is given a file that leads there."""
    program = _browser()
    if program is None:
        return False
    path = f"{home.run}/open.html"
    write_file(path, _LEADING.format(html.escape(url)).encode())
    command = [program, "open", path] if os.path.basename(program) == "gio" else [program, path]
    quiet = subprocess.DEVNULL
    try:
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    except OSError:
        return False
    return True


def _browser() -> str | None:
    """None where there is no screen to show one on."""
    chosen = os.environ.get("BROWSER", "").split(os.pathsep)[0]
    if chosen and shutil.which(chosen):
        return shutil.which(chosen)
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("WSL_DISTRO_NAME")):
        return None
    return next((found for name in _OPENERS if (found := shutil.which(name))), None)
