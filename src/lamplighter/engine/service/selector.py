"""Which sessions a selection means now: its words looked up, its verdicts reached only for those that can still match.

Knows the registry and the store; what a term means is `domain.selection`'s.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from lamplighter.domain.name import host_name
from lamplighter.domain.permission import Caller
from lamplighter.domain.selection import Selection, SelectionSubject, suggestion
from lamplighter.domain.session import Session
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.observe.assessor import Assessment, Assessor
from lamplighter.errors import Code, MissingError
from lamplighter.store import sessions

_MOST_ENDED = 100_000


class Selector:
    def __init__(self, registry: SessionRegistry, assessor: Assessor) -> None:
        self.registry = registry
        self.assessor = assessor
        self.host = host_name(os.uname().nodename)

    async def choose(
        self,
        selection: Selection,
        caller: Caller,
        *,
        ended: bool = False,
        fresh: float | None = None,
        known_as: Mapping[str, str] | None = None,
    ) -> list[Assessment]:
        """All that match, oldest first. Ended ones where they are asked for, or named by a word.

        From a look not older than `fresh` seconds; without that from one made now, to act on. `known_as`: what the caller
        calls some of them, by id; words and patterns mean that as well.
        """
        known = dict(known_as or {})
        by_alias = {value: identifier for identifier, value in known.items()}
        found = {live.session.id: live.session for live in self.registry.live_sessions.values()}
        if ended or selection.wants_ended:
            for session in await self.registry.store.read(lambda db: sessions.newest_ended(db, _MOST_ENDED)):
                found.setdefault(session.id, session)
        named: dict[str, str] = {}
        bare = {term.value for term in selection.terms if term.key == "word"}
        for word in selection.words:
            session = await self.named(by_alias.get(word, word))
            named[word] = session.id
            if word in bare:
                found.setdefault(session.id, session)
        possible = [
            one
            for one in found.values()
            if selection.matches(SelectionSubject(one, known_as=known.get(one.id), host=self.host), caller, named)
        ]
        possible.sort(key=lambda session: session.id)
        assessor = self.assessor
        judged = await (assessor.decide(possible) if fresh is None else assessor.assess(possible, fresh))
        return [one for one in judged if selection.matches(self._seen(one, known.get(one.session.id)), caller, named)]

    async def named(self, word: str) -> Session:
        """The one session that a word names; else NOT_FOUND with what was probably meant."""
        try:
            return await self.registry.find(word)
        except MissingError as error:
            if error.code is not Code.NOT_FOUND:
                raise
            raise MissingError(
                Code.NOT_FOUND,
                f"there is no session {word[:60]!a}, and it is no word of a selection",
                suggestion(word, list(self.registry.names)),
            ) from None

    def _seen(self, found: Assessment, known_as: str | None) -> SelectionSubject:
        return SelectionSubject(found.session, found.verdict, found.active, found.attached, known_as, self.host)
