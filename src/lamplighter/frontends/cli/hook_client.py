"""`lamp hook AGENT EVENT`: what agents run at each of their events. Passes on what is on standard input, prints the answer.

An agent waits for it each time, so it costs little more than starting Python: nothing is imported that the answer does not need,
not even json. And whatever goes wrong, it says nothing and its status is 0: without a daemon, or with one that hangs, the agent
goes on as if there were no hook. Knows no agent: the daemon reads what was said, and words the answer.
"""

from __future__ import annotations

import _socket  # what socket wraps, which takes half as long to import as Python takes to start
import os
import select
import sys
import time

from lamplighter.domain.call_key import new_key

TYPE_CHECKING = False  # typing takes longer to import than all of this
if TYPE_CHECKING:
    from types import FrameType


SECONDS = {"start": 4.0, "stop": 1.0, "compact": 3.0, "end": 1.0}
"""The events, and how long an agent is kept waiting at most. At a start a daemon may have to be started first."""
_LONGEST = 1 << 20
_MOST = 64 << 20
_CHUNK = 1 << 18
_LONG_WORD = 20_000


def main(words: list[str]) -> int:
    """Always 0. Standard error stays empty too: some agents show it to their user, some to their model."""
    if len(words) == 2 and words[1] in SECONDS:
        try:
            _tell(words[0], words[1], time.monotonic() + SECONDS[words[1]])
        except BaseException:  # also Ctrl-C, which is meant for the agent
            return 0
    return 0


def _tell(agent: str, event: str, until: float) -> None:
    said = _read(until - SECONDS[event] / 2)
    connection = _connect(event, until)
    if connection is None:
        return
    operation = "agent_turn" if event == "stop" else "agent_event"
    told = "" if event == "stop" else f'"event":"{event}",'
    # Hexadecimal needs no escaping, whatever was said; and the agent's name is one that the shell has given us.
    named = "".join(letter for letter in agent if letter.isalnum() or letter in "-_")
    arguments = f'{{{told}"agent":"{named}","said":"{said}"}}'
    request = f'{{"id":1,"op":"{operation}","key":"{new_key()}","args":{arguments}}}\n'
    connection.sendall(request.encode())
    answer = b""
    while b"\n" not in answer:
        connection.settimeout(max(0.001, until - time.monotonic()))
        if not (data := connection.recv(_CHUNK)):
            return
        answer += data
    if b'"output":""' not in answer and b'"output":' in answer:
        _print(answer)


def _read(until: float) -> str:
    """Standard input to its end, or as much as came in time."""
    parts: list[bytes] = []
    size = 0
    while size < _MOST and (left := until - time.monotonic()) > 0 and select.select([0], [], [], left)[0]:
        data = os.read(0, _CHUNK)
        if not data:
            break
        parts.append(data)
        size += len(data)
    said = b"".join(parts) if size < _MOST else b""
    return (_shortened(said) if len(said) > _LONGEST else said).hex()


def _shortened(said: bytes) -> bytes:
    """What is short in it: that says all that is asked, and a daemon with other work should not read megabytes."""
    import json

    document = json.loads(said)
    kept = {
        name: value[:_LONG_WORD] if isinstance(value, str) else value
        for name, value in document.items()
        if isinstance(value, (str, int, float))
    }
    short = json.dumps(kept).encode()
    return short if len(short) <= _LONGEST else b"{}"


def _connect(event: str, until: float) -> _socket.socket | None:
    run, state = folders()
    if _is_replaced(run):
        found = _met(run, state, until)
        return found or (_started(run, state, until) if event == "start" else None)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(max(0.001, until - time.monotonic()))
    try:
        connection.connect(f"{run}/daemon.sock")
        return connection
    except OSError:
        connection.close()
    if os.path.exists(f"{state}/daemon.json"):  # it may live, and its socket have been taken away
        found = _met(run, state, until)
        if found is not None:
            return found
    if event != "start":
        return None  # nobody is there to hear it, and nobody would want to have been started for it
    return _started(run, state, until)


def _met(run: str, state: str, until: float) -> _socket.socket | None:
    """The daemon, found in another way than by its socket alone, or one that takes its place."""
    import signal

    from lamplighter.holder.boot import try_connect

    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, until - time.monotonic()))
    found = try_connect(run, state)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if found is not None:
        found.settimeout(max(0.001, until - time.monotonic()))
        try:
            os.utime(f"{run}/daemon.pid")  # it was looked at, and is of this release or of none that is ours to judge
        except OSError:
            return found
    return found


def _is_replaced(run: str) -> bool:
    """Whether our files may be newer than the daemon, and its successor is to be waited for: see `holder.release`."""
    try:
        return os.stat(sys.modules["lamplighter"].__file__ or "").st_ctime > os.stat(f"{run}/daemon.pid").st_mtime
    except OSError:
        return False


def _started(run: str, state: str, until: float) -> _socket.socket:
    """A daemon that is started now, if it is there in time; if not, it is there for the next."""
    import signal

    from lamplighter.holder.boot import connect_daemon
    from lamplighter.home import find_home

    find_home().make()
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, until - time.monotonic()))
    connection = connect_daemon(run, state)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return connection


def _give_up(_number: int, _frame: FrameType | None) -> None:
    os._exit(0)


def folders() -> tuple[str, str]:
    """`run` and `state` as home.find_home has them, which takes longer to import than all of this; a test compares."""
    environment = os.environ
    if chosen := environment.get("LAMPLIGHTER_HOME"):
        root = os.path.abspath(os.path.expanduser(chosen))
        return f"{root}/run", root
    user = environment.get("HOME") or os.path.expanduser("~")
    state = f"{environment.get('XDG_STATE_HOME') or f'{user}/.local/state'}/lamplighter"
    runtime = environment.get("XDG_RUNTIME_DIR")
    return f"{runtime}/lamplighter" if runtime and os.path.isdir(runtime) else f"{state}/run", state


def _print(answer: bytes) -> None:
    import json

    output = json.loads(answer)["result"]["output"].encode("utf-8", "replace")
    while output:
        output = output[os.write(1, output) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
