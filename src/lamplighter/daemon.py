"""The daemon's process: started by the keeper with its folders and a descriptor to say "ready" on."""

from __future__ import annotations

import gc

if __name__ == "__main__":
    gc.disable()  # before the imports: none of what they make is garbage, and looking for it takes a tenth of the start

import asyncio
import logging
import os
import resource
import select
import signal
import sys

from lamplighter.agents import every_agent
from lamplighter.app import App
from lamplighter.errors import LampError
from lamplighter.frontends.http.door import HttpDoor
from lamplighter.frontends.mcp.servers import Servers
from lamplighter.frontends.unix_door import Door
from lamplighter.holder import credentials, identity, places, proc
from lamplighter.home import Home, find_home
from lamplighter.operations import find_operation
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
    home = Home(state=state, run=run, config=find_home().config).usable()
    lock = _alone(run, state, int(notice))
    if lock is None:
        log.info("the keeper that started this daemon is gone, and so this daemon goes")
        return
    try:
        app = App(load_settings(home=home), lock=lock)
        asyncio.run(serve(app, int(notice)))
    except LampError as error:
        sys.exit(f"{error.code}: {error.message}; {error.hint}")  # the keeper passes this last line on to whoever waits


def _alone(run: str, state: str, notice: int) -> int | None:
    """The lock, once no other daemon of this store is there; None when nobody waits for this one any more. Two at once come about
    when a keeper is killed while it starts one: the late one would take the socket of the one that its successor started. The
    lock goes with the process, and is where the store is: the sockets' folder can go, and come again as another."""
    heard = select.poll()
    heard.register(notice, 0)
    while True:
        lock = _take_locks(run, state)
        if lock is not None:
            other = credentials.find(run, state, "daemon")
            if other is None:
                return None if heard.poll(0) else lock
            # It has no lock that we can see: one of 0.1.0 whose folder is gone, or whose lock was taken away.
            log.warning("another daemon of this store lives: process %s; it is told to go", other[0])
            proc.send_signal(*other, signal.SIGTERM)
            os.close(lock)
        if heard.poll(_LOOK_MILLISECONDS):
            return None


def _take_locks(run: str, state: str) -> int | None:
    """The lock of this store, and for a moment the one that 0.1.0 had, beside the sockets."""
    lock = identity.take_lock(credentials.lock_path(state, "daemon"))
    if lock is None:
        return None
    if os.path.isdir(run) and identity.take_lock(f"{run}/daemon.lock") is None:
        os.close(lock)
        return None
    return lock


async def serve(app: App, notice: int) -> None:
    """Until told to go; whatever is under way in a session goes on without us."""
    going = app.host.going
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, going.set)
    loop.add_signal_handler(places.REMAKE, app.upkeep.wake)
    servers = Servers(app)
    door, http = Door(app, servers), HttpDoor(app, servers)
    app.upkeep.doors += [door.reopen, http.announce]
    try:
        await app.open()
        await door.open()
        await http.open()
        serving = [asyncio.ensure_future(each.serve()) for each in (door, http, app.upkeep)]
        if _say_ready(notice):
            serving.append(asyncio.ensure_future(asyncio.to_thread(_load_kill)))
            await going.wait()
        for each in serving:
            each.cancel()
    finally:
        await asyncio.sleep(0)
        await http.close()
        await door.close()
        await app.close()
        places.forget(app.settings.home.state, "daemon")


def _load_kill() -> None:
    """All that a kill imports, soon after the start: an import takes a descriptor, and a kill works also when none is left."""
    every_agent()  # who calls is looked for among their processes
    find_operation("kill_session")


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
