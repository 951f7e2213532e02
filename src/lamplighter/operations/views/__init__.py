"""How operations show sessions and records: the documents that every front end gets."""
