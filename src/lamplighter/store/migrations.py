"""The schema as a numbered list. A migration that has landed is never changed; data is never lost by one.

Steps 3 and 10 make the tables of the kiro slice, and stay: without the slice nobody reads them.
"""

from __future__ import annotations

import sqlite3

MIGRATIONS: list[str] = [
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        driver TEXT NOT NULL,
        agent TEXT NOT NULL,
        owner TEXT NOT NULL,
        parent TEXT,
        project TEXT,
        command TEXT NOT NULL,
        cwd TEXT NOT NULL,
        state TEXT NOT NULL,
        boot TEXT NOT NULL,
        protected INTEGER NOT NULL,
        keep_children INTEGER NOT NULL,
        bound INTEGER NOT NULL,
        holder_lost INTEGER NOT NULL,
        key TEXT,
        created_at REAL NOT NULL,
        started_at REAL,
        ended_at REAL,
        main TEXT,
        shim TEXT,
        exit TEXT,
        intent TEXT,
        ending TEXT,
        facts TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX sessions_living_name ON sessions (name) WHERE state <> 'ended';
    CREATE INDEX sessions_state ON sessions (state, ended_at);
    CREATE INDEX sessions_key ON sessions (key) WHERE key IS NOT NULL;
    CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;
    CREATE TABLE events (
        n INTEGER PRIMARY KEY AUTOINCREMENT,
        at REAL NOT NULL,
        session TEXT,
        by TEXT NOT NULL,
        action TEXT NOT NULL,
        detail TEXT NOT NULL
    );
    CREATE INDEX events_session ON events (session, n);
    CREATE TRIGGER events_are_kept BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
    CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
    CREATE TABLE calls (
        key TEXT PRIMARY KEY,
        operation TEXT NOT NULL,
        caller TEXT NOT NULL,
        digest TEXT NOT NULL,
        state TEXT NOT NULL,
        result TEXT,
        at REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX calls_at ON calls (at);
    """,
    """
    ALTER TABLE sessions ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';
    CREATE TABLE plans (
        id TEXT PRIMARY KEY,
        caller TEXT NOT NULL,
        made_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        state TEXT NOT NULL,
        orders TEXT NOT NULL,
        applied_at REAL
    ) WITHOUT ROWID;
    CREATE INDEX plans_state ON plans (state, expires_at);
    CREATE TABLE plan_rows (
        plan TEXT NOT NULL REFERENCES plans (id),
        session TEXT NOT NULL,
        found TEXT NOT NULL,
        outcome TEXT,
        PRIMARY KEY (plan, session)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE approvals (
        id TEXT PRIMARY KEY,
        caller TEXT NOT NULL,
        rank TEXT NOT NULL,
        operation TEXT NOT NULL,
        session TEXT NOT NULL,
        digest TEXT NOT NULL,
        why TEXT NOT NULL,
        asked_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        arguments TEXT,
        state TEXT NOT NULL,
        decided_by TEXT,
        decided_at REAL,
        used_at REAL,
        key TEXT
    ) WITHOUT ROWID;
    CREATE INDEX approvals_caller ON approvals (caller, expires_at);
    CREATE INDEX approvals_expires ON approvals (expires_at);
    CREATE TABLE tokens (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        digest TEXT NOT NULL UNIQUE,
        scopes TEXT NOT NULL,
        made_at REAL NOT NULL,
        expires_at REAL,
        used_at REAL,
        revoked_at REAL,
        key TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked_at IS NULL;
    CREATE INDEX tokens_key ON tokens (key);
    CREATE TABLE aliases (
        namespace TEXT NOT NULL,
        value TEXT NOT NULL,
        session TEXT NOT NULL,
        at REAL NOT NULL,
        until REAL,
        PRIMARY KEY (namespace, value, session)
    ) WITHOUT ROWID;
    CREATE INDEX aliases_session ON aliases (session, namespace);
    CREATE INDEX sessions_name ON sessions (name);
    CREATE TABLE kiro_sessions (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        agent TEXT,
        working_directory TEXT NOT NULL,
        created_at REAL NOT NULL,
        last_active REAL NOT NULL,
        turns INTEGER NOT NULL,
        key TEXT,
        ended_at REAL,
        why TEXT
    ) WITHOUT ROWID;
    CREATE INDEX kiro_sessions_open ON kiro_sessions (owner, created_at) WHERE ended_at IS NULL;
    CREATE TABLE kiro_active (owner TEXT PRIMARY KEY, session TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE kiro_turns (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL,
        owner TEXT NOT NULL,
        kind TEXT NOT NULL,
        message TEXT NOT NULL,
        resumes INTEGER NOT NULL,
        key TEXT NOT NULL,
        created_at REAL NOT NULL,
        state TEXT NOT NULL,
        stopped TEXT,
        ended_at REAL,
        chunks TEXT NOT NULL,
        errors TEXT NOT NULL,
        failure TEXT NOT NULL,
        exit_code INTEGER
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX kiro_turns_key ON kiro_turns (key);
    CREATE INDEX kiro_turns_session ON kiro_turns (session, created_at);
    CREATE INDEX kiro_turns_undone ON kiro_turns (session) WHERE ended_at IS NULL;
    CREATE TABLE kiro_history (
        n INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL,
        turn TEXT NOT NULL,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        at REAL NOT NULL
    );
    CREATE INDEX kiro_history_session ON kiro_history (session, n);
    """,
    """
    ALTER TABLE sessions ADD COLUMN project_id TEXT;
    ALTER TABLE sessions ADD COLUMN predecessor TEXT;
    CREATE INDEX sessions_predecessor ON sessions (predecessor) WHERE predecessor IS NOT NULL;
    CREATE INDEX sessions_project ON sessions (project_id, ended_at) WHERE project_id IS NOT NULL;
    CREATE TABLE projects (id TEXT PRIMARY KEY, name TEXT NOT NULL, seen_at REAL NOT NULL) WITHOUT ROWID;
    CREATE INDEX projects_name ON projects (name);
    CREATE TABLE records (
        n INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        type TEXT NOT NULL,
        category TEXT NOT NULL,
        importance INTEGER NOT NULL,
        created_at REAL NOT NULL,
        by TEXT NOT NULL,
        source TEXT NOT NULL,
        project TEXT,
        session TEXT,
        handoff TEXT,
        state TEXT NOT NULL,
        supersedes TEXT,
        superseded_by TEXT,
        closed_at REAL,
        closed_by TEXT,
        closed_why TEXT,
        evidence TEXT NOT NULL,
        content TEXT NOT NULL -- last: a filter need not read past it
    );
    CREATE INDEX records_project ON records (project, state, type, created_at);
    CREATE INDEX records_state ON records (state, type, created_at);
    CREATE INDEX records_created ON records (created_at, id);
    CREATE INDEX records_same ON records (substr(content, 1, 40)) WHERE state = 'active';
    CREATE INDEX records_session ON records (session) WHERE session IS NOT NULL;
    CREATE INDEX records_handoff ON records (handoff) WHERE handoff IS NOT NULL;
    CREATE VIRTUAL TABLE record_texts USING fts5 (
        text, tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
    );
    CREATE TABLE summaries (n INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, text TEXT NOT NULL);
    CREATE VIRTUAL TABLE session_texts USING fts5 (
        text, tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
    );
    CREATE TABLE handoffs (
        id TEXT PRIMARY KEY,
        session TEXT,
        project TEXT,
        at REAL NOT NULL,
        source TEXT NOT NULL,
        policy TEXT,
        digest TEXT NOT NULL,
        document TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX handoffs_session ON handoffs (session, digest);
    CREATE INDEX handoffs_newest ON handoffs (session, id);
    CREATE INDEX handoffs_project ON handoffs (project, id);
    CREATE TABLE receipts (
        id TEXT PRIMARY KEY,
        at REAL NOT NULL,
        caller TEXT NOT NULL,
        session TEXT,
        predecessor TEXT,
        project TEXT,
        document TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX receipts_session ON receipts (session) WHERE session IS NOT NULL;
    """,
    """
    CREATE TABLE recoveries (
        digest TEXT PRIMARY KEY,
        session TEXT NOT NULL,
        agent TEXT NOT NULL,
        made_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        used_at REAL,
        used_by TEXT
    ) WITHOUT ROWID;
    CREATE INDEX recoveries_session ON recoveries (session);
    CREATE INDEX recoveries_expires ON recoveries (expires_at);
    """,
    """
    CREATE TABLE captures (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL,
        at REAL NOT NULL,
        by TEXT NOT NULL,
        digest TEXT NOT NULL,
        key TEXT NOT NULL,
        document TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX captures_key ON captures (key);
    CREATE UNIQUE INDEX captures_said ON captures (session, digest);
    CREATE INDEX captures_newest ON captures (session, at);
    """,
    """
    CREATE TABLE exchanges (
        session TEXT PRIMARY KEY,
        document TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE logins (
        id TEXT PRIMARY KEY,
        cookie TEXT NOT NULL,
        proof TEXT NOT NULL,
        made_at REAL NOT NULL,
        expires_at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
    # What was inferred of a session, and then said for it: one hand-off, with what was inferred as its evidence.
    """
    ALTER TABLE handoffs ADD COLUMN evidence_of TEXT;
    UPDATE handoffs SET evidence_of = (
        SELECT max(said.id) FROM handoffs AS said
        WHERE said.session = handoffs.session AND said.source <> 'inferred'
        AND (said.id > handoffs.id OR json_extract(said.document, '$.ending'))
    ) WHERE source = 'inferred';
    """,
    """
    ALTER TABLE kiro_sessions ADD COLUMN idle_seconds REAL NOT NULL DEFAULT 300.0;
    ALTER TABLE kiro_turns ADD COLUMN times TEXT NOT NULL DEFAULT '[]';
    """,
]


def migrate(db: sqlite3.Connection) -> None:
    """Bring the schema up to date, each step whole or not at all."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        db.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {number}; COMMIT;")
