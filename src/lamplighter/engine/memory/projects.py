"""Which project is meant: the repository that a folder is in, a folder in none, or a name that somebody gave.

A repository is known by the git folder that all of its work trees share, so that they are one project and two repositories of
the same name are two. Read from its files, with no process started. Knows nothing of what is kept about projects.
"""

from __future__ import annotations

import os
import sqlite3
from typing import NamedTuple

from lamplighter.domain.name import check_name
from lamplighter.domain.permission import Caller
from lamplighter.domain.session import Session
from lamplighter.domain.text.search_text import storable
from lamplighter.engine.core.registry import SessionRegistry
from lamplighter.engine.repo import repository
from lamplighter.errors import Code, Hint, InputError, MissingError, Option, Use
from lamplighter.store import handoffs

_SHOWN = 5


class Project(NamedTuple):
    """`id` is the identity; `name` what people call it, and None for a folder that is in no repository."""

    id: str
    name: str | None

    @property
    def label(self) -> str:
        """What it is called where it must be called something."""
        return self.name or os.path.basename(self.id) or self.id

    def see(self, db: sqlite3.Connection, at: float) -> None:
        """Known from now on by this name. In the caller's transaction."""
        handoffs.see_project(db, self.id, self.label, at)


def identity_of(cwd: str) -> Project:
    """The project of a folder: the repository around it, else the folder itself."""
    folder = os.path.realpath(cwd)
    top = _marked(folder)
    if top is None:
        return Project(storable(folder), None)
    place = repository.find(top)
    if place is None or place.top != top:  # a work tree whose repository is gone, or something else of that name
        return Project(storable(top), storable(os.path.basename(top)))
    common = os.path.realpath(place.common)
    return Project(storable(common), storable(_name(common)))


def top_of(cwd: str) -> str:
    """The folder of the project that this one is in: the work tree around it, else the folder itself."""
    folder = os.path.realpath(cwd)
    return _marked(folder) or folder


def _marked(folder: str) -> str | None:
    """The nearest folder from here upward that has a `.git` of some kind."""
    while folder != os.path.dirname(folder):
        if os.path.lexists(f"{folder}/.git"):
            return folder
        folder = os.path.dirname(folder)
    return None


def _name(common: str) -> str:
    """That of the folder around .git, also for its work trees elsewhere; shop for shop.git."""
    last = os.path.basename(common)
    if last.startswith("."):
        return os.path.basename(os.path.dirname(common)) or last
    return last.removesuffix(".git")


class Projects:
    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry

    async def of_start(self, cwd: str, named: str | None) -> Project:
        """That of a session that begins here."""
        if named is None:
            return identity_of(cwd)
        if not _is_path(named):
            check_name(named)
        return await self.resolve(named, cwd, new=True)

    async def of_session(self, session: Session) -> Project:
        """Also of one from before projects were told apart."""
        return Project(session.project_id, session.project) if session.project_id else identity_of(session.cwd)

    async def of_caller(self, caller: Caller, folder: str | None) -> Project | None:
        """Where the caller is. A session that was told its project is in that one, as long as it is where it began."""
        session = await self.registry.find(caller.session) if caller.session else None
        own = await self.of_session(session) if session else None
        if folder is None:
            return own
        here = identity_of(folder)
        return own if own and session and identity_of(session.cwd).id == here.id else here

    async def resolve(self, word: str, folder: str | None, *, new: bool = False) -> Project:
        """What somebody calls it: the name of the one that the folder is in, an identity, a name when only one is called so, or a
        folder. `new`: a name that nobody has used yet is a project from now on."""
        if folder is not None and word == (here := identity_of(folder)).label:
            return Project(here.id, word)
        known = await self.registry.store.get(lambda db: handoffs.projects_named(db, word))
        exact = [(identity, name) for identity, name in known if identity == word]
        if len(exact or known) == 1:
            return Project(*(exact or known)[0])
        if known:
            shown = ", ".join(identity for identity, _ in known[:_SHOWN])
            raise MissingError(
                Code.AMBIGUOUS, f"more than one project is called {word[:60]!a}: {shown}", "give one of these instead"
            )
        if found := _folder(word, folder):
            return identity_of(found)
        if _is_path(word):
            raise InputError(
                Code.NO_SUCH_FOLDER,
                f"there is no folder {word[:200]!a}, and no project of this identity",
                Hint("name a folder that is there, or a project that ", Use("records"), " shows"),
            )
        if not new:
            raise MissingError(
                Code.NOT_FOUND,
                f"no project is called {word[:60]!a}",
                Hint("name a folder of it, or leave ", Option("project"), " out for that of this folder"),
            )
        name = check_name(word)
        return Project(name, name)


def _is_path(word: str) -> bool:
    return word.startswith(("/", "./", "../", "~/")) or word in (".", "..", "~")


def _folder(word: str, folder: str | None) -> str | None:
    """The folder that is meant, if it is one."""
    if "/" not in word and not _is_path(word):
        return None
    path = os.path.expanduser(word)
    if not os.path.isabs(path):
        if folder is None:
            return None
        path = os.path.join(folder, path)
    try:
        return path if os.path.isdir(path) else None
    except ValueError:  # a NUL in it
        return None
