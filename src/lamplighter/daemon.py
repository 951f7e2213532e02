"""The daemon's process: started by the keeper with its folders and a descriptor to say "ready" on."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys

from lamplighter.app import App
from lamplighter.errors import LampError
from lamplighter.frontends.door import Door
from lamplighter.frontends.http.door import HttpDoor
from lamplighter.frontends.mcp.servers import Servers
from lamplighter.home import Home, find_home
from lamplighter.settings import load_settings

log = logging.getLogger(__name__)


def main() -> None:
    run, state, notice = sys.argv[1:4]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    os.chdir("/")
    os.umask(0o077)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    home = Home(state=state, run=run, config=find_home().config)
    try:
        asyncio.run(serve(App(load_settings(home=home)), int(notice)))
    except LampError as error:
        sys.exit(f"{error.code}: {error.message}; {error.hint}")  # the keeper passes this last line on to whoever waits


async def serve(app: App, notice: int) -> None:
    """Until told to go; whatever is under way in a session goes on without us."""
    going = app.host.going
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, going.set)
    servers = Servers(app)
    door, http = Door(app, servers), HttpDoor(app, servers)
    try:
        await app.open()
        await door.open()
        await http.open()
        serving = [asyncio.ensure_future(each.serve()) for each in (door, http)]
        if _say_ready(notice):
            await going.wait()
        for each in serving:
            each.cancel()
    finally:
        await asyncio.sleep(0)
        await http.close()
        await door.close()
        await app.close()


def _say_ready(notice: int) -> bool:
    """Whether a keeper hears it. One that was killed meanwhile has a successor, which starts another daemon and knows only that
    one: we go."""
    try:
        os.write(notice, b"ready\n")
    except BrokenPipeError:
        log.info("the keeper that started this daemon is gone, and so this daemon goes")
        return False
    finally:
        os.close(notice)
    return True


if __name__ == "__main__":
    main()
