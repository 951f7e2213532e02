"""The daemon's process: started by the keeper with its folders and a descriptor to say "ready" on."""

from __future__ import annotations

import gc

if __name__ == "__main__":
    gc.disable()  # before the imports: none of what they make is garbage, and looking for it takes a tenth of the start

import asyncio
import fcntl
import logging
import os
import resource
import select
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
_LOOK_MILLISECONDS = 20


def main() -> None:
    gc.freeze()
    gc.enable()
    run, state, notice = sys.argv[1:4]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    os.chdir("/")
    os.umask(0o077)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    home = Home(state=state, run=run, config=find_home().config)
    if not _alone(run, int(notice)):
        log.info("the keeper that started this daemon is gone, and so this daemon goes")
        return
    try:
        asyncio.run(serve(App(load_settings(home=home)), int(notice)))
    except LampError as error:
        sys.exit(f"{error.code}: {error.message}; {error.hint}")  # the keeper passes this last line on to whoever waits


def _alone(run: str, notice: int) -> bool:
    """Wait until no other daemon of this home is there; False when nobody waits for this one any more. Two at once come about
    when a keeper is killed while it starts one: the late one would take the socket of the one that its successor started. The
    lock goes with the process."""
    lock = os.open(f"{run}/daemon.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    heard = select.poll()
    heard.register(notice, 0)
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if heard.poll(_LOOK_MILLISECONDS):
                return False
        else:
            return not heard.poll(0)


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
