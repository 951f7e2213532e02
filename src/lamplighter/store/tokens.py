"""Queries about tokens. What is kept of a secret is its hash."""

from __future__ import annotations

import sqlite3

from lamplighter.domain.token import Token


def insert(db: sqlite3.Connection, token: Token, key: str) -> None:
    scopes = ",".join(sorted(token.scopes))
    values = (token.id, token.name, token.digest, scopes, token.made_at, token.expires_at, key)
    db.execute(
        "INSERT INTO tokens (id, name, digest, scopes, made_at, expires_at, key) VALUES (?, ?, ?, ?, ?, ?, ?)", values
    )


def everything(db: sqlite3.Connection) -> list[Token]:
    """All that are kept, oldest first; also those that were revoked, so that they are refused by name."""
    return [_token(row) for row in db.execute("SELECT * FROM tokens ORDER BY made_at, id").fetchall()]


def of_key(db: sqlite3.Connection, key: str) -> Token | None:
    """The one that was made under this key."""
    row = db.execute("SELECT * FROM tokens WHERE key = ?", (key,)).fetchone()
    return _token(row) if row else None


def renew(db: sqlite3.Connection, token: str, digest: str) -> None:
    """Another secret in place of one that nobody was ever told."""
    db.execute("UPDATE tokens SET digest = ? WHERE id = ?", (digest, token))


def revoke(db: sqlite3.Connection, token: str, at: float) -> None:
    db.execute("UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (at, token))


def use(db: sqlite3.Connection, token: str, at: float) -> None:
    db.execute("UPDATE tokens SET used_at = ? WHERE id = ?", (at, token))


def forget_before(db: sqlite3.Connection, at: float) -> None:
    """Those that could not be used any more at that time."""
    db.execute("DELETE FROM tokens WHERE revoked_at < ? OR expires_at < ?", (at, at))


def _token(row: sqlite3.Row) -> Token:
    return Token(
        id=row["id"],
        name=row["name"],
        digest=row["digest"],
        scopes=frozenset(row["scopes"].split(",")),
        made_at=row["made_at"],
        expires_at=row["expires_at"],
        used_at=row["used_at"],
        revoked_at=row["revoked_at"],
    )
