"""Carrying out a call: its key claimed before it acts, its result kept, so that a retry returns what happened.

Knows operations and keys; knows nothing of sockets.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any, TypeVar

from lamplighter.domain.call_key import made_at
from lamplighter.domain.permission import Act
from lamplighter.errors import Code, ConflictError, Hint, InputError, LampError, UnavailableError, Use
from lamplighter.holder import proc
from lamplighter.lazy_dataclass import dataclass
from lamplighter.operations import find_operation, names
from lamplighter.operations.call import Call
from lamplighter.operations.permission import admitted
from lamplighter.store import calls
from lamplighter.store.calls import KeptCall

if TYPE_CHECKING:
    from lamplighter.app import App
    from lamplighter.operations.operation import Operation, Request, Result

_KEY_LENGTH = 200
_RETRY_SECONDS = 60.0
_KEPT_SECONDS = 7 * 86400.0
_NEED_NO_ROOM = frozenset({Act.END, Act.KILL, Act.HAND_OFF, Act.DOWN})
_HARMLESS_TWICE = frozenset({Act.END, Act.KILL, Act.DOWN})
_CIRCUMSTANCES = (
    "environment",
    "known_as",
    "names_of",
)  # where a question comes from, not what it asks: it may differ when repeated

R = TypeVar("R", bound="Result")


@dataclass(frozen=True)
class CallResult:
    """What came of a call: the operation's result, or what was kept of it, as JSON that an older version may have written."""

    value: Result | str

    def as_a(self, kind: type[R]) -> R:
        """The result as it is, or read from what was kept."""
        return self.value if isinstance(self.value, kind) else kind.model_validate_json(self.json())

    def json(self) -> str:
        return self.value if isinstance(self.value, str) else self.value.model_dump_json()

    def document(self) -> dict[str, Any]:
        return json.loads(self.value) if isinstance(self.value, str) else self.value.model_dump(mode="json")


class Execution:
    def __init__(self, app: App) -> None:
        self.app = app
        self._running: dict[str, asyncio.Task[CallResult]] = {}

    async def execute(self, name: str, arguments: dict[str, Any], call: Call) -> CallResult:
        """The result. What changes something goes on when whoever asked is gone."""
        operation = find_operation(name)
        if operation is None:
            raise InputError(
                Code.BAD_INPUT,
                f"there is no operation {name[:60]!a}",
                f"there are {', '.join(names())}",
            )
        await admitted(self.app, call.caller, operation.act)
        request = operation.parse(arguments)
        _describe(call, operation, request)
        if not operation.changes:
            return await self._look(operation, request, call)
        if not call.key or len(call.key) > _KEY_LENGTH:
            raise InputError(
                Code.BAD_INPUT,
                "a change needs a key of 1 to 200 characters",
                "send a random one, and the same one to retry",
            )
        running = self._running.get(call.key)
        if running is None:
            running = self.app.tasks.begin(self._once(operation, request, arguments, call), f"{name} {call.key}")
            self._running[call.key] = running
            running.add_done_callback(lambda _: self._running.pop(call.key, None))
            return await asyncio.shield(running)
        await self._claim(operation, arguments, call)  # the same question by the same caller, or KEY_REUSED
        return await asyncio.shield(running)

    async def _look(self, operation: Operation, request: Request, call: Call) -> CallResult:
        try:
            return CallResult(await operation.run(call, request))
        except LampError as error:
            await self._give_back(call, error)
            raise

    async def _once(self, operation: Operation, request: Request, arguments: dict[str, Any], call: Call) -> CallResult:
        kept = await self._claim(operation, arguments, call)
        if kept is not None and kept.result is not None:
            return CallResult(kept.result)
        # Claimed before and not done: a crash of ours lies between. Every operation goes on from its intent.
        call.repeated = kept is not None
        try:
            result = await operation.run(call, request)
        except LampError as error:
            await self.app.store.write(lambda db: calls.release(db, call.key), must=True)
            await self._give_back(call, error)
            raise
        kept_result = result.to_keep().model_dump_json()
        await self.app.store.write(lambda db: calls.finish(db, call.key, kept_result), must=True)
        return CallResult(result)

    async def _give_back(self, call: Call, error: LampError) -> None:
        """What was found out before anything was done leaves the operator's word standing."""
        if call.wish is not None and (isinstance(error, InputError) or error.code is Code.ACTIVE):
            await self.app.approvals.give_back(call.wish)

    async def _claim(self, operation: Operation, arguments: dict[str, Any], call: Call) -> KeptCall | None:
        told = {name: value for name, value in arguments.items() if name not in _CIRCUMSTANCES}
        digest = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
        wanted = KeptCall(call.key, operation.name, call.caller.name, digest, None)
        now = self.app.clock.now()

        def write(db: sqlite3.Connection) -> KeptCall | None:
            if self._is_from_before(operation, call) and calls.find(db, call.key) is None:
                raise _unknown(operation)
            return calls.claim(db, wanted, now)

        kept = await self.app.store.write(write, must=operation.act in _NEED_NO_ROOM)
        if kept is not None and (kept.operation, kept.caller, kept.digest) != (
            wanted.operation,
            wanted.caller,
            wanted.digest,
        ):
            raise ConflictError(Code.KEY_REUSED, "this key was used for another call", "use a new key for a new call")
        return kept

    def _is_from_before(self, operation: Operation, call: Call) -> bool:
        """Whether it may have been carried out before the store was lost, which would not know of it now.

        A key that says when it was made is believed; ages are compared, so that a clock that was set does not matter. One that
        does not say is taken for old for as long as clients ask again after a break, when whoever asks is older than the
        loss; to end something twice harms nobody.
        """
        epoch = self.app.custody.epoch
        if not epoch.number or epoch.boot != self.app.registry.boot:
            return False
        since = time.clock_gettime(time.CLOCK_BOOTTIME) - epoch.boottime
        made = made_at(call.key)
        if made is not None:
            return self.app.clock.now() - made > since
        start = proc.start_of(call.caller.pid) if call.caller.pid else None
        if start is None or operation.act in _HARMLESS_TWICE:
            return False
        return since < _RETRY_SECONDS and start / os.sysconf("SC_CLK_TCK") < epoch.boottime

    async def remembered(self, call: Call) -> list[str]:
        """What was chosen when this call first came, for one that a break of ours made come again; nothing when it is new."""
        key = f"{call.key}/chosen"
        kept = await self.app.store.get(lambda db: calls.find(db, key)) if call.key else None
        return json.loads(kept.result or "[]") if kept is not None and kept.caller == call.caller.name else []

    async def remember(self, call: Call, chosen: list[str]) -> None:
        """A selection means what it meant when the call came: what ends meanwhile does not match any more."""
        if not call.key:
            return
        wanted = KeptCall(f"{call.key}/chosen", call.operation, call.caller.name, "", json.dumps(chosen))
        now = self.app.clock.now()
        await self.app.store.write(lambda db: calls.keep(db, wanted, now), must=True)

    async def forget_old_keys(self) -> None:
        before = self.app.clock.now() - _KEPT_SECONDS
        await self.app.store.write(lambda db: calls.forget_before(db, before))


def _unknown(operation: Operation) -> UnavailableError:
    return UnavailableError(
        Code.OUTCOME_UNKNOWN,
        f"this {operation.name} was first asked for before the store was lost, and whether it was carried out is not known",
        Hint(
            "look what is there, and ask anew if it is still wanted: ",
            Use("ls"),
            ", ",
            Use("events"),
            ", ",
            Use("doctor"),
        ),
    )


def _describe(call: Call, operation: Operation, request: Request) -> None:
    """What the operator is asked about, should the call need that: every argument, also those left to their defaults."""
    call.operation = operation.name
    call.approvable = "approval" in operation.request.model_fields
    if call.approvable:
        call.arguments = request.to_show()
        call.approval = call.arguments["approval"]
