"""One call of an operation: who asks, with which key, and how what comes back in parts is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from lamplighter.domain.approval import Wish
from lamplighter.domain.permission import Caller
from lamplighter.domain.plan import Plan, Sighting
from lamplighter.domain.session import Session
from lamplighter.errors import ForbiddenError
from lamplighter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lamplighter.app import App


@dataclass
class Call:
    """`repeated`: the key was claimed before, and what came of that is not known to the store.

    `approval` is the id of what the operator granted for just this call. With `implicit_approval` the call needs none: one that
    is granted for it is looked up, for front ends whose inputs have no place for an id. `wish`: it has used one now.
    """

    app: App
    caller: Caller
    key: str
    emit: Callable[[BaseModel], Awaitable[None]]
    gone: asyncio.Event
    repeated: bool = False
    operation: str = ""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    approvable: bool = False
    approval: str | None = None
    implicit_approval: bool = False
    wish: Wish | None = None
    descriptors: list[int] = field(default_factory=list[int])
    acts: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def wish_for(
        self, session: Session, refusal: ForbiddenError, *, reads: bool = False, of_ended: bool = False
    ) -> Wish:
        """This call, which is refused so, as the operator can be asked about it."""
        return Wish(
            caller=self.caller,
            operation=self.operation,
            session=session.id,
            alive=session.alive,
            arguments=self.arguments,
            key=self.key,
            why=refusal.message,
            reads=reads,
            of_ended=of_ended,
            approval=self.approval,
            implicit=self.implicit_approval,
        )

    def wish_for_plan(self, plan: Plan, refusal: ForbiddenError) -> Wish:
        """This call, which would apply this plan: its rows are among what the operator reads, and the word is for just those."""
        rows = [
            {"id": row.session, "name": row.found.name, "verdict": str(row.found.verdict)}
            for row in plan.rows
            if isinstance(row.found, Sighting)
        ]
        return Wish(
            caller=self.caller,
            operation=self.operation,
            session=plan.id,
            alive=True,
            arguments={**self.arguments, "selection": plan.orders.selection, "force": plan.orders.force, "rows": rows},
            key=self.key,
            why=refusal.message,
            approval=self.approval,
            implicit=self.implicit_approval,
        )

    def afterwards(self, act: Callable[[], None]) -> None:
        """Done once the answer is sent, or cannot be."""
        self.acts.append(act)

    def pass_descriptor(self, descriptor: int) -> None:
        """The front end sends it along with the result, and closes it here."""
        self.descriptors.append(descriptor)
