"""SQLite: what must not be lost. The queries are named functions on a connection, run one after another in one thread."""
