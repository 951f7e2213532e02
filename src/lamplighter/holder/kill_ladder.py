"""The ladder by which a session's tree goes down, step by step, without ever blocking the shim's loop for long.

    running → (asked to stop) stopping → killing → ended
    running → (command exits, others left) killing, or leftovers when they are to be kept → ended
    stopping begins with HUP alone when that was asked for, and goes on with TERM
    killing → survivors, when something does not die of KILL; tried again and again → ended

Standard library only.
"""

from __future__ import annotations

import os
import time

from lamplighter.holder.tree import Tree

_STALL_SECONDS = 5.0
_RETRY_SECONDS = 5.0
_LOOK_SECONDS = 0.2


class KillLadder:
    def __init__(self, tree: Tree, *, adopted: bool, keep_children: bool) -> None:
        self.tree = tree
        self.adopted = adopted
        self.keep_children = keep_children
        self.phase = "running"
        self.childless = False
        self.next_look: float | None = None
        self.why: str | None = None
        self.ladder: list[str] = []
        self.written = False
        self._pause = 0.02
        self._kill_at = 0.0
        self._term_at: float | None = None
        self._stalled_at = 0.0
        self._empty_looks = 0

    def stop(self, grace: float, hangup: float = 0.0) -> None:
        """TERM now and KILL after the grace; asked again, the shorter grace counts. With `hangup`, HUP now and TERM after that
        many seconds: what a terminal's programs hear when it goes away, and may be written to leave by."""
        now = time.monotonic()
        if self.phase in ("running", "leftovers"):
            self.tree.begin()
            if hangup > 0:
                self.tree.hang_up()
                self.ladder.append("HUP")
                self.phase = "stopping"
                self._term_at, self._kill_at = now + hangup, now + hangup + grace
                self._look_later(now)
            elif grace > 0:
                self._terminate()
                self.phase = "stopping"
                self._kill_at = now + grace
                self._look_later(now)
            else:
                self._kill(now)
        elif self.phase == "stopping":
            self._kill_at = min(self._kill_at, now + grace)
            self._look_later(now)
        elif self.phase == "survivors":
            self.next_look = now

    def proceed(self, exited: bool) -> None:
        """Go on from where it is. Called after every event; cheap while nothing is to be done."""
        now = time.monotonic()
        if self.phase == "running" and not exited:
            return
        if self.phase == "ended":
            return
        due = self.next_look is not None and now >= self.next_look
        if self.phase == "running" and self._empty_looks and not due:
            return
        if self.phase == "running" and not self._gone(due=True):
            if self._empty_looks:
                pass  # nobody at one look: the next, just after it, decides
            elif self.keep_children:
                self.phase = "leftovers"
                self.next_look = now + _RETRY_SECONDS if self.adopted else None
            else:
                self.tree.begin()
                self._kill(now)
            return
        if self._gone(due=due or self.phase == "running"):
            self.phase = "ended"
            self.next_look = None
        elif self._empty_looks:
            pass  # nobody at one look: the next, just after it, decides
        elif due and self.phase == "stopping" and now < self._kill_at:
            if self._term_at is not None and now >= self._term_at:
                self._terminate()
            self._look_later(now)
        elif due and self.phase in ("stopping", "killing", "survivors"):
            self._kill(now)
        elif due and self.phase == "leftovers":
            self.next_look = now + _RETRY_SECONDS

    def _look_later(self, now: float) -> None:
        """At the end of the grace; a shim that nobody tells when the last one has gone looks for itself in between."""
        due = self._kill_at if self._term_at is None else min(self._term_at, self._kill_at)
        self.next_look = min(due, now + _LOOK_SECONDS) if self.adopted else due

    def _terminate(self) -> None:
        self._term_at = None
        self.tree.terminate()
        self.ladder.append("TERM")

    def try_later(self) -> None:
        """The end could not be written down: once more in a while."""
        self.next_look = time.monotonic() + 1.0

    def _kill(self, now: float) -> None:
        if self.phase not in ("killing", "survivors"):
            self.phase = "killing"
            self.ladder.append("KILL")
        elif self.phase == "killing" and now >= self._stalled_at:
            self.phase = "survivors"
        self.tree.kill()
        now = time.monotonic()
        # From the first KILL on: on a busy machine freezing takes long, and nobody has survived a signal that was not sent yet.
        self._stalled_at = self._stalled_at or now + _STALL_SECONDS
        self._pause = min(self._pause * 2, 0.5)
        self.next_look = now + (_RETRY_SECONDS if self.phase == "survivors" else self._pause)

    def _gone(self, *, due: bool) -> bool:
        """The kernel's word where this shim is the ancestor; else two looks that find nobody."""
        if self.adopted:
            return due and self._nobody_found()
        if self.childless:
            return self.tree.cgroup is None or self.tree.cgroup.is_empty()
        # A keeper that this shim had to start is a child that stays, and so is what is spared: then a look has to do.
        only_apart = bool(self.tree.apart) and not self.tree.members()
        return only_apart and not _has_other_child(self.tree.apart)

    def _nobody_found(self) -> bool:
        if self.tree.members():
            self._empty_looks = 0
            return False
        self._empty_looks += 1
        if self._empty_looks < 2:
            self.next_look = time.monotonic() + 0.02
            return False
        return True


def _has_other_child(apart: set[int]) -> bool:
    """Whether a child besides these waits to be reaped."""
    try:
        waiting = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return waiting is not None and waiting.si_pid not in apart
