"""A session on the person's terminal: the screen as it is, then everything live, both ways, until one of them leaves.

Knows the attach channel and a raw terminal. The daemon is needed for nothing here but a fresh screen after a skip, and
for the way back when the session's holder was lost.
"""

from __future__ import annotations

import json
import select
import time
from typing import Any

from lamplighter.errors import LampError
from lamplighter.frontends.cli.caller_context import terminal_size
from lamplighter.frontends.cli.terminal.attachment import AGAIN, Attachment, AttachOutcome, SessionRoute, outcome_of
from lamplighter.frontends.cli.terminal.raw_terminal import (
    CLEAR,
    CLEAR_APART,
    ENTER_APART,
    LEAVE_APART,
    LEAVE_INLINE,
    AlternateScreen,
    Key,
    Terminal,
    has_two_screens,
)
from lamplighter.frontends.cli.terminal.signals import Signals
from lamplighter.holder.wire import JSON, OUTPUT, WireError, pack_input, unpack_output

_TYPED_AHEAD = 1 << 20
_TRIES = 10
_CALM = 0.3  # seconds between two fresh screens: one who is always behind would draw nothing else


class Viewer:
    """`inline`: the output goes on where the cursor is, as a command's own would; nothing is cleared.
    `pass_on`: signals that are the session's; the others, and the detach key, end the view."""

    def __init__(
        self,
        way: SessionRoute,
        attachment: Attachment,
        terminal: Terminal,
        signals: Signals,
        *,
        detach: Key | None,
        read_only: bool = False,
        inline: bool = False,
        pass_on: tuple[str, ...] = (),
    ) -> None:
        self.way = way
        self.channel = attachment.channel
        self.terminal = terminal
        self.signals = signals
        self.detach = detach
        self.read_only = read_only
        self.inline = inline
        self.pass_on = pass_on
        self.outcome: AttachOutcome | None = None
        self.position: int = attachment.result["offset"]
        self.stale_since: float | None = None
        self.drawn_at = 0.0
        self.vain = 0  # fresh screens asked for in a row that did not come
        self.screens = AlternateScreen(CLEAR_APART) if not inline and has_two_screens() else None
        self._begin(attachment)

    def _begin(self, attachment: Attachment) -> None:
        if self.inline:
            self.terminal.goodbye = b""
        elif self.screens is not None:
            self.terminal.goodbye = LEAVE_APART
            self.terminal.output.put(ENTER_APART)
            self._draw(attachment.screen)
        else:  # what was on the terminal scrolls away, unharmed
            self.terminal.output.put(b"\r\n" * attachment.result["rows"])
            self._draw(attachment.screen)

    def _draw(self, screen: bytes) -> None:
        """The whole screen anew."""
        self.terminal.output.put(CLEAR + screen if self.screens is None else CLEAR_APART + self.screens.anew(screen))
        self.drawn_at = time.monotonic()

    def watch(self) -> AttachOutcome:
        while self.outcome is None:
            self._refresh()
            self._turn()
        self.terminal.output.drain(2.0)
        if self.outcome.how == "detached":
            self.channel.send_json({"op": "detach"})
        self.channel.close()
        return self.outcome

    # -- one turn of the loop

    def _turn(self) -> None:
        output = self.terminal.output
        poll = select.poll()
        poll.register(self.signals, select.POLLIN)
        if self.channel.pending < _TYPED_AHEAD:
            poll.register(self.terminal.source, select.POLLIN)
        wanted = (select.POLLIN if output.has_room else 0) | (select.POLLOUT if self.channel.pending else 0)
        if wanted:
            poll.register(self.channel, wanted)
        if output.pending:
            poll.register(output.descriptor, select.POLLOUT)
        for descriptor, event in poll.poll(None if self.stale_since is None else _CALM * 1000):
            self._handle(descriptor, event)
        if output.broken:
            self._over(AttachOutcome("stopped", signal="HUP"))

    def _handle(self, descriptor: int, event: int) -> None:
        if self.outcome is not None:
            return
        if descriptor == self.signals.fileno():
            self._take_signals()
        elif descriptor == self.terminal.source:
            self._take_typed()
        elif descriptor == self.terminal.output.descriptor:
            self.terminal.output.write()
        elif descriptor == self.channel.fileno():
            if event & select.POLLOUT:
                self.channel.flush()
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                self._take_frames()

    def _over(self, outcome: AttachOutcome) -> None:
        self.outcome = self.outcome or outcome

    # -- from the person

    def _take_signals(self) -> None:
        for name in self.signals.take():
            if name == "WINCH":
                self._resize()
            elif name == "CONT":
                self.terminal.make_raw()
                self.stale_since = self.stale_since or time.monotonic()
            elif name in self.pass_on:
                self.channel.send_json({"op": "signal", "signal": name})
            else:
                self._over(AttachOutcome("stopped", signal=name))

    def _resize(self) -> None:
        size = terminal_size()
        if size and not self.read_only:
            self.channel.send_json({"op": "resize", **size})

    def _take_typed(self) -> None:
        typed = self.terminal.typed()
        if not typed:  # the terminal is gone
            self._over(AttachOutcome("stopped", signal="HUP"))
            return
        before = self.detach.cut(typed) if self.detach else None
        data = typed if before is None else before
        if data and not self.read_only:
            self.channel.send(pack_input(data))
        if before is not None:
            self._over(AttachOutcome("detached"))

    # -- from the session

    def _take_frames(self) -> None:
        try:
            frames = self.channel.read()
        except WireError:
            frames = None
        if frames is None:
            self._find_again()
            return
        for kind, payload in frames:
            if kind == OUTPUT:
                self._take_output(*unpack_output(payload))
            elif kind == JSON:
                self._take_event(json.loads(payload))

    def _take_output(self, offset: int, _: int, data: bytes) -> None:
        """Only what the screen does not show already; a hole that nobody spoke of makes it stale too."""
        if offset > self.position:
            self.stale_since = self.stale_since or time.monotonic()
        fresh = data[max(0, self.position - offset) :]
        self.position = max(self.position, offset + len(data))
        self.terminal.output.put(fresh if self.screens is None else self.screens.passed(fresh))
        if self.screens is not None and self.screens.left:
            # What the session had on its main screen is with the daemon alone. At once, if the last drawing is not too fresh.
            self.screens.left = False
            self.stale_since = self.stale_since or max(self.drawn_at, time.monotonic() - _CALM)
        if self.inline and not self.terminal.goodbye and b"\x1b" in fresh:
            self.terminal.goodbye = LEAVE_INLINE

    def _take_event(self, message: dict[str, Any]) -> None:
        event = message.get("event")
        if event == "ended":
            self._over(AttachOutcome("ended", message.get("exit"), message.get("certificate")))
        elif event == "skip":
            self.position = max(self.position, int(message.get("to", 0)))
            self.stale_since = self.stale_since or time.monotonic()

    def _refresh(self) -> None:
        """After a skip, the screen from the daemon; without a daemon, what comes next is drawn on what is there."""
        if self.stale_since is None or time.monotonic() - self.stale_since < _CALM:
            return
        self.stale_since = None
        found = self.way.redraw()
        if found is None:  # no daemon, or one that is busy: a few more times, as nothing else may ever come
            self.vain = (self.vain + 1) % _TRIES
            self.stale_since = time.monotonic() if self.vain else None
            return
        self.vain = 0
        screen, cursor = found
        self._draw(screen)
        if cursor < self.position:  # the log is behind what was shown: once more in a moment
            self.stale_since = time.monotonic()
        self.position = max(self.position, cursor)

    def _find_again(self) -> None:
        """The holder was lost. The session may go on under a new one: look for it, but let the person leave."""
        self.channel.close()
        until = time.monotonic() + AGAIN
        while self.outcome is None and time.monotonic() < until:
            try:
                found = self.way.go_again(**terminal_size())
            except LampError:
                break
            if found is not None:
                self._go_on(found)
                return
            self._look_up(0.2)
        fate = self.way.fate() if self.outcome is None else None
        self._over(outcome_of(fate) if fate else AttachOutcome("lost"))

    def _go_on(self, found: Attachment) -> None:
        self.channel = found.channel
        if found.result["offset"] > self.position:
            self._draw(found.screen)
        self.position = max(self.position, found.result["offset"])

    def _look_up(self, seconds: float) -> None:
        """Between two tries: the person may want to leave."""
        poll = select.poll()
        poll.register(self.terminal.source, select.POLLIN)
        poll.register(self.signals, select.POLLIN)
        for descriptor, _ in poll.poll(seconds * 1000):
            if descriptor == self.signals.fileno():
                names = [name for name in self.signals.take() if name not in ("WINCH", "CONT")]
                if names:
                    self._over(AttachOutcome("stopped", signal=names[0]))
            elif self._leaves():
                self._over(AttachOutcome("detached"))

    def _leaves(self) -> bool:
        typed = self.terminal.typed()
        return not typed or (self.detach is not None and self.detach.cut(typed) is not None)
