"""Queries about logins at the page. What is kept of their secrets is a hash."""

from __future__ import annotations

import sqlite3

from lamplighter.domain.login import Login


def insert(db: sqlite3.Connection, login: Login) -> None:
    values = (login.id, login.cookie, login.proof, login.made_at, login.expires_at)
    db.execute("INSERT INTO logins (id, cookie, proof, made_at, expires_at) VALUES (?, ?, ?, ?, ?)", values)


def everything(db: sqlite3.Connection) -> list[Login]:
    return [Login(**dict(row)) for row in db.execute("SELECT * FROM logins ORDER BY made_at, id").fetchall()]


def delete_all(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM logins")


def forget_before(db: sqlite3.Connection, at: float) -> None:
    """Those that had expired by then."""
    db.execute("DELETE FROM logins WHERE expires_at < ?", (at,))
