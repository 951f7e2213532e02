"""A session's card: what its row in the store says, in its own folder, so that a lost store does not take the living with it.

Written while the session is born and when what it says changes: which processes it has then, its birth file says. Knows files;
what becomes of a card is `store_rebuild`'s.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace
from typing import Any

from lamplighter.domain.facts import Facts
from lamplighter.domain.limits import Limits
from lamplighter.domain.session import Driver, Kind, Process, Session
from lamplighter.domain.states import Running, Starting
from lamplighter.holder import proc
from lamplighter.holder.files import read_json, write_file

CARD = "session.json"
_FIELDS = (
    "id", "name", "owner", "cwd", "created_at", "boot", "agent", "parent", "project", "project_id", "predecessor", "protected",
    "keep_children", "bound", "key", "started_at",
)  # fmt: skip


def keep_card(folder: str, session: Session) -> None:
    """When there is room: a card that is missing costs some words, not the session."""
    if session.lease is None:  # else it has no folder, and no process that could be found again
        write_file(f"{folder}/{CARD}", json.dumps(_document(session)).encode())


def keep_changed_card(folder: str, before: Session, now: Session) -> None:
    if now.alive and (before.protected, before.facts) != (now.protected, now.facts):
        keep_card(folder, now)


def has_card(folder: str) -> bool:
    return os.path.exists(f"{folder}/{CARD}")


def read_card(folder: str) -> Session | None:
    """The session as it was, running once it was born; None when there is no card that can be read."""
    document = read_json(f"{folder}/{CARD}")
    if document is None:
        return None
    try:
        found = _session(document)
        return _born(found, read_json(f"{folder}/birth.json") or {}) if found.main is None else found
    except (KeyError, TypeError, ValueError):
        return None


def forget_words(sessions: str, texts: list[str]) -> None:
    """Cards in which one of these stands go: for what is forgotten for good."""
    spelt = [json.dumps(text)[1:-1].encode() for text in texts]
    with contextlib.suppress(OSError):
        for name in os.listdir(sessions):
            path = f"{sessions}/{name}/{CARD}"
            with contextlib.suppress(OSError):
                with open(path, "rb") as file:
                    found = file.read()
                if any(text in found for text in spelt):
                    os.unlink(path)


def _document(session: Session) -> dict[str, Any]:
    return {
        **{name: getattr(session, name) for name in _FIELDS},
        "facts": session.facts.document(),
        "kind": session.kind.value,
        "driver": session.driver.value,
        "command": list(session.command),
        "limits": session.limits.document(),
        "main": vars(session.main) if session.main else None,
        "shim": vars(session.shim) if session.shim else None,
    }


def _born(session: Session, birth: dict[str, Any]) -> Session:
    """With the processes that it has by its birth file, unless that is not written yet. A shim that took over is none that it is
    known by: when that one greets, the loss of the first is written down."""
    if not birth:
        return session
    shim, main = Process(*((0, 0) if birth.get("lost") else birth["shim"])), Process(*birth["main"])
    began = max(session.created_at, proc.start_moment(main.start))
    return replace(session, state=Running(), started_at=began, shim=shim, main=main)


def _session(document: dict[str, Any]) -> Session:
    main, shim = document["main"], document["shim"]
    return Session(
        **{name: document[name] for name in _FIELDS},
        facts=Facts.from_document(document["facts"]),
        kind=Kind(document["kind"]),
        driver=Driver(document["driver"]),
        command=tuple(document["command"]),
        limits=Limits.from_document(document["limits"]),
        main=Process(**main) if main else None,
        shim=Process(**shim) if shim else None,
        state=Running() if main else Starting(),
    )
