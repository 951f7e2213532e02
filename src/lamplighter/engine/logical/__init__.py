"""Sessions without a process: logical ones, and those of external agents."""
