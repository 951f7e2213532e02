"""What the daemon, the keeper and those who are attached ask of a shim. One method an operation; an old shim answers what it
does not know with UNSUPPORTED. Standard library only."""

from __future__ import annotations

import binascii
import contextlib
import os

from lamplighter.holder import identity, proc
from lamplighter.holder.pane import measure
from lamplighter.holder.repair import repair
from lamplighter.holder.segments import INPUT as NOTED_INPUT
from lamplighter.holder.segments import blocks, segments
from lamplighter.holder.wire import INPUT, JSON, Channel, WireError, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lamplighter.holder.shim import Shim
    from lamplighter.holder.subscribers import Listener

_INPUT_QUEUE = 1 << 20


class Commands:
    """`_begun`: what a lost shim, in whose place this one is, was given to type. It wrote that down before it typed, so whether
    it did is not known."""

    def __init__(self, shim: Shim) -> None:
        self.shim = shim
        self._begun: set[str] = _noted_inputs(shim.spec["folder"]) if shim.tree.adopted else set()

    # -- of the daemon and the keeper

    def obey(self, channel: Channel, kind: int, payload: bytes) -> None:
        if kind != JSON:
            return
        request = parse_json(payload)
        operation = str(request.get("op", request.get("event")))
        handler: Callable[[Channel, dict[str, Any]], dict[str, Any] | None] | None = getattr(
            self, f"_do_{operation}", None
        )
        if channel.restricted and operation != "keeper":
            self._refuse(channel, request, "FORBIDDEN", "only the daemon may ask a holder")
        elif handler is None:
            self._refuse(channel, request, "UNSUPPORTED", f"this shim does not know {operation}")
        else:
            try:
                answer = handler(channel, request)
            except (KeyError, ValueError, TypeError, OSError) as error:
                self._refuse(channel, request, "BAD_INPUT", f"{operation}: {error!r}")
                return
            if answer is not None and "n" in request:
                self.shim.send(channel, {"n": request["n"], "ok": answer})

    def _refuse(self, channel: Channel, request: dict[str, Any], code: str, message: str) -> None:
        if "n" in request:
            self.shim.send(channel, {"n": request["n"], "error": {"code": code, "message": message}})

    def _do_input(self, channel: Channel, request: dict[str, Any]) -> dict[str, Any] | None:
        """Typed once, however often it is asked for with the same id. Answered when the session has taken all of it; `unsure`
        when a shim that was lost has begun with it."""
        data, identifier = binascii.a2b_base64(request["data"]), str(request["id"])
        shim = self.shim
        if identifier and (identifier in shim.inputs or identifier in self._begun):
            return {"cursor": shim.log.offset, "repeated": True, "unsure": identifier not in shim.inputs}
        if shim.streams.input is None:
            self._refuse(channel, request, "ENDED", "the session does not read input any more")
            return None
        if shim.streams.queued + len(data) > _INPUT_QUEUE:
            self._refuse(channel, request, "BUSY", f"{shim.streams.queued} bytes still wait to be read by it")
            return None
        if request.get("answer"):  # of its terminal to what it asked: no sign that anybody is there
            shim.streams.write(data, self._teller(channel, request))
        else:
            shim.take_input(data, str(request["by"]), identifier, self._teller(channel, request))
        return None

    def _do_typing(self, _: Channel, request: dict[str, Any]) -> dict[str, Any]:
        """Something is about to be typed through tmux, which cannot be asked later whether it was: so it is noted first, and
        that it was comes after it."""
        shim, identifier = self.shim, str(request["id"])
        cursor = shim.log.offset
        if identifier and (identifier in shim.inputs or identifier in self._begun):
            return {"cursor": cursor, "repeated": True, "typed": identifier in shim.typed}
        shim.note_input(int(request["size"]), str(request["by"]), identifier)
        return {"cursor": cursor}

    def _do_typed(self, _: Channel, request: dict[str, Any]) -> dict[str, Any]:
        self.shim.typed.append(str(request["id"]))
        return {}

    def _do_measure(self, _: Channel, __: dict[str, Any]) -> dict[str, Any]:
        """Look at the size of the pane: somebody is about to draw its screen."""
        measure(self.shim)
        return {"rows": self.shim.meter.rows, "cols": self.shim.meter.cols}

    def _do_eof(self, channel: Channel, request: dict[str, Any]) -> dict[str, Any] | None:
        self.shim.end_input(self._teller(channel, request))
        return None

    def _teller(self, channel: Channel, request: dict[str, Any]) -> Callable[[bool], None]:
        """Answers a request for input, once it is known what came of it."""
        cursor = self.shim.log.offset

        def tell(taken: bool) -> None:
            if channel.fileno() < 0:
                return  # whoever asked is gone
            if taken:
                self.shim.send(channel, {"n": request.get("n"), "ok": {"cursor": cursor}})
            else:
                self._refuse(channel, request, "ENDED", "the session does not read any more")

        return tell

    def _do_arm(self, channel: Channel, request: dict[str, Any]) -> None:
        """Say once when there is output past this cursor: whoever asks reads the log, and asks again."""
        self.shim.armed[channel] = int(request["cursor"])
        self.shim.notify()

    def _do_attach(self, channel: Channel, request: dict[str, Any]) -> None:
        where, descriptor = self.shim.attach(request)
        channel.send_json({"n": request["n"], "ok": where}, [descriptor])

    def _do_resize(self, _: Channel, request: dict[str, Any]) -> dict[str, Any]:
        self.shim.resize(int(request["rows"]), int(request["cols"]))
        return {}

    def _do_signal(self, _: Channel, request: dict[str, Any]) -> dict[str, Any]:
        self.shim.pass_signal(str(request["signal"]))
        return {}

    def _do_stop(self, _: Channel, request: dict[str, Any]) -> dict[str, Any]:
        self.shim.dying.stop(float(request["grace"]), float(request.get("hangup", 0.0)))
        return {"phase": self.shim.dying.phase}

    def _do_copy(self, channel: Channel, request: dict[str, Any]) -> None:
        """Duplicates of the terminal or the pipes, for a keeper that holds none yet."""
        names = list(self.shim.streams.open)
        copies = [os.dup(self.shim.streams.open[name]) for name in names]
        channel.send_json({"n": request["n"], "ok": {"names": names}}, copies)

    def _do_repair(self, _: Channel, __: dict[str, Any]) -> dict[str, Any]:
        """Its folder, files or socket were taken away: what was made again."""
        return {"remade": repair(self.shim)}

    def _do_recorded(self, _: Channel, __: dict[str, Any]) -> dict[str, Any]:
        """The daemon has its end from its word, as no file could be written."""
        self.shim.recorded = True
        self.shim.dying.next_look = 0.0
        return {}

    def _do_keeper(self, _: Channel, __: dict[str, Any]) -> dict[str, Any]:
        """Start a keeper for somebody inside the session: it becomes this shim's child, but no part of the session."""
        pid = identity.spawn_keeper(self.shim.spec["run"], self.shim.spec["state"])
        if pid is not None:
            self.shim.tree.infrastructure.add(pid)
        return {"pid": pid}

    def _do_reaped(self, _: Channel, message: dict[str, Any]) -> None:
        """From the keeper, for a shim that is not its session's ancestor."""
        self.shim.tree.reaped(message["pid"], message["status"])
        if message["pid"] == self.shim.main[0]:
            self.shim.take_exit(dict(proc.exit_of(message["status"])))

    def _do_strays(self, _: Channel, message: dict[str, Any]) -> None:
        self.shim.tree.roots |= {(pid, start) for pid, start in message["roots"]}

    # -- of those who are attached

    def hear(self, listener: Listener, kind: int, payload: bytes) -> bool:
        """False when it leaves."""
        shim = self.shim
        if kind == INPUT and not listener.read_only and shim.streams.input is not None:
            if listener.size != (0, 0):
                shim.resize(*listener.size)
            shim.take_input(payload, "attached", "", _nobody)
        if kind != JSON:
            return True
        request = parse_json(payload)
        operation = request.get("op")
        if operation == "detach":
            listener.bound = False
            return False
        if not listener.read_only:
            if operation == "resize":
                shim.resize_for(listener, int(request["rows"]), int(request["cols"]))
            elif operation == "signal":
                shim.pass_signal(str(request["signal"]))
            elif operation == "eof":
                shim.end_input(_nobody)
        return True


def _nobody(taken: bool) -> None:
    """Whoever types at a terminal waits for no answer."""
    del taken


def _noted_inputs(folder: str) -> set[str]:
    """The ids of what was to be typed, as far back as somebody may still ask for it again. A log that cannot be read must not
    keep a session from being held: then none is known."""
    found: set[str] = set()
    with contextlib.suppress(OSError, WireError):
        for segment in segments(folder)[-2:]:
            for block, entries, _ in blocks(folder, segment):
                notes = (block[begin:end] for kind, _, _, _, begin, end in entries if kind == NOTED_INPUT)
                found.update(str(parse_json(note).get("id")) for note in notes)
    return found
