"""An agent at its terminal, led out in its own way: interrupted, its input line cleared, its own command to leave, its dialogs.

Each step is chosen by what the screen says just then, so that it goes on after a crash from wherever it was. Knows screens and
keys; how long an end may take in all, and what follows when it does not leave, is the ender's.
"""

from __future__ import annotations

import asyncio
import time

from lamplighter.agents.formats.screen_patterns import ScreenPatterns
from lamplighter.domain.keys import bracketed, encode_keys
from lamplighter.domain.permission import DAEMON
from lamplighter.domain.screen_sign import ScreenReading, Sign
from lamplighter.domain.session import Session
from lamplighter.domain.states import BeingEnded, asking
from lamplighter.engine.backends import Backends
from lamplighter.engine.core.holder_client import RefusedError
from lamplighter.engine.core.registry import LiveSession, SessionRegistry
from lamplighter.engine.core.tasks import until
from lamplighter.engine.observe.screens import Screens
from lamplighter.errors import LampError

_STEPS = 8
# One that still shows something may be busy with leaving, or with ending its tool: it gets so many times what it may be asked.
_PATIENCE = 4
_LOOK_SECONDS = 0.1
# A key right behind Esc would be a key with Alt; Enter right behind a paste a part of it.
_PAUSE_SECONDS = 0.4
_ENTER = b"\r"


class AgentExit:
    def __init__(self, registry: SessionRegistry, backends: Backends, screens: Screens) -> None:
        self.registry = registry
        self.backends = backends
        self.screens = screens

    async def lead(self, live: LiveSession) -> bool:
        """Whether it was an agent to be led out: it has left, or did not go on for as long as one may be asked."""
        signs = self.screens.signs(live.session)
        if signs is None or (told := await self._told(live.session)) is None:
            return False
        if not await self.registry.note_asking(live) and not self._time_left(live):
            return True
        try:
            for _ in range(_STEPS):
                if not self._may(live):
                    return True
                said = await self._step(live, signs, told)
                if (told := await self._next(live, told, said=said)) is None:
                    return True
        except (LampError, RefusedError, TimeoutError):
            pass
        return True

    def _time_left(self, live: LiveSession) -> bool:
        """For a daemon that goes on where another has begun: the time for asking counts from the first."""
        state = live.session.state
        return isinstance(state, BeingEnded) and state.intent.ask_left(self.registry.clock.monotonic()) > 0

    def _may(self, live: LiveSession) -> bool:
        """It is there, and nobody has lost patience since."""
        return not live.ended.is_set() and live.phase == "running" and asking(live.session.state) > 0

    async def _step(self, live: LiveSession, signs: ScreenPatterns, told: ScreenReading) -> bool:
        """One step towards the door; whether it was the last, its own command to leave."""
        if told.sign is Sign.WAITING:
            await self._type(live, encode_keys(told.leaves))
        elif told.sign is Sign.WORKING:
            for key in signs.interrupt:
                await self._type(live, encode_keys(key))
                await until(live.changed, _PAUSE_SECONDS)
        elif told.typed:
            await self._type(live, encode_keys(signs.clear))
        else:
            await self._type(live, bracketed(signs.leave))
            await until(live.changed, _PAUSE_SECONDS)
            if self._may(live):
                await self._type(live, _ENTER)
            return True
        return False

    async def _next(self, live: LiveSession, before: ScreenReading, *, said: bool) -> ScreenReading | None:
        """What the screen says after a step, once that is something else, or that it works on: then the key was lost, or its tool
        takes a while. None when it has left, or nothing came of it: nothing was printed for as long as one may be asked. Once
        it was told to leave, its input line is no news: the command stands there until it is taken."""
        ask, begun = asking(live.session.state), time.monotonic()
        printed, since, told = -1, begun, before
        while self._may(live) and time.monotonic() < min(since + ask, begun + _PATIENCE * ask):
            await until(live.changed, _LOOK_SECONDS)
            if (shown := await self.screens.look(live.session)) is None:
                continue
            told = shown.told
            # Without its input line it is on its way out; Qwen Code is silent for seconds then.
            if shown.offset != printed or (said and told is None):
                printed, since = shown.offset, time.monotonic()
            if told is not None and told != before and not (said and told.sign is Sign.PROMPT):
                return told
            if not said and before.sign is Sign.WORKING and time.monotonic() > begun + ask:
                break
        works_on = not said and told is not None and told.sign is Sign.WORKING
        return told if self._may(live) and (works_on or told != before) else None

    async def _told(self, session: Session) -> ScreenReading | None:
        shown = await self.screens.look(session)
        return shown.told if shown else None

    async def _type(self, live: LiveSession, data: bytes) -> None:
        if live.line is not None:
            typing = self.backends.of(live.session).type(live.session, data, DAEMON.name, "")
            await asyncio.wait_for(typing, max(asking(live.session.state), 1.0))
